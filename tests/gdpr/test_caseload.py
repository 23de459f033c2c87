"""The list of cases, its counts, privacy settings, and the digest e-mail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from gdpr.cases import actions, overview, privacy_settings, queries, reminder_email
from gdpr.cases.queries import CaseQuery
from gdpr.models import Case
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db


def code(error: pytest.ExceptionInfo[errors.AppError]) -> str:
    return error.value.problem_code


# ── The list ─────────────────────────────────────────────────────────────────
def test_the_list_is_by_urgency_and_pages_through_open_and_closed(
    world: World,
) -> None:
    by, now = world.actor("compliance"), timezone.now()
    ages = (5, 40, 20, 60)
    created = {
        age: make.opened(world, received_at=now - timedelta(days=age)) for age in ages
    }
    for age in (60, 20):
        actions.refuse(created[age], "no", by=by)
    actions.extend(make.opened(world, received_at=now), 2, "many", by=by)
    all_cases = queries.page(by, CaseQuery()).items
    late = make.fresh(created[40])
    assert all_cases[:2] == [late, created[5]]
    assert all_cases[3:] == [created[20], created[60]]
    pages, cursor = [], None
    while True:
        page = queries.page(by, CaseQuery(), limit=1, cursor=cursor)
        pages += page.items
        if (cursor := page.next_cursor) is None:
            break
    assert pages == all_cases
    assert queries.page(world.actor("stranger"), CaseQuery()).items == []


def test_filters(world: World) -> None:
    by, now = world.actor("compliance"), timezone.now()
    late = make.opened(world, received_at=now - timedelta(days=40))
    later = make.opened(world, kind="access")
    actions.assign(later, "owner@acme.example", by=by)
    closed = actions.refuse(make.opened(world), "no", by=by)

    def case_ids(**fields: str) -> set[str]:
        return {case.id for case in queries.page(by, CaseQuery(**fields)).items}

    assert case_ids(state="open") == {late.id, later.id}
    assert case_ids(state="closed") == {closed.id} == case_ids(state="refused")
    assert (
        case_ids(kind="access") == {later.id} == case_ids(assignee="owner@acme.example")
    )
    assert case_ids(due="overdue") == {late.id} == case_ids(subject_id=late.subject_ref)
    assert case_ids(due="today") == case_ids(due="soon") == set()


@pytest.mark.parametrize(
    ("day", "due"),
    [("26", "soon"), ("27", "today"), ("28", "overdue"), ("19", None)],
)
def test_the_filters_by_deadline_agree_with_the_words(
    world: World, day: str, due: str | None
) -> None:
    with time_machine.travel("2026-10-27T09:00:00Z", tick=False):
        case = make.opened(world)
    with time_machine.travel(f"2026-11-{day}T15:00:00Z", tick=False):
        by = world.actor("owner")
        hits = [
            name
            for name in ("overdue", "today", "soon")
            if queries.page(by, CaseQuery(due=name)).items
        ]
        urgency = queries.deadline(case, privacy_settings.of(world.acme.id)).urgency
    assert urgency == (due or "later")
    # What is due today is due soon as well; what is overdue is neither.
    assert hits == (
        [] if due is None else ["today", "soon"] if due == "today" else [due]
    )


def test_three_numbers(world: World) -> None:
    now = timezone.now()
    for age in (40, 28, 1):
        make.opened(world, received_at=now - timedelta(days=age))
    numbers = overview.case_counts(world.actor("compliance"))
    assert numbers == overview.CaseCounts(open=3, late=1, soon=1)
    assert overview.case_counts(world.actor("operator")) is None
    [first, *_] = overview.urgent(world.actor("owner"))
    assert first[1].urgency == "overdue"


# ── Settings ─────────────────────────────────────────────────────────────────
def test_settings_are_the_admins_and_are_witnessed(world: World) -> None:
    assert privacy_settings.of(world.acme.id).two_person is False
    with pytest.raises(errors.Forbidden):
        privacy_settings.change(
            privacy_settings.Change(two_person=True), by=world.actor("compliance")
        )
    make.settings(world, two_person=True, export_days=7)
    make.settings(world, two_person=True)
    make.settings(world, two_person=False)
    first, second = make.entries(world, "gdpr.settings_changed")
    assert first.payload["changed"] == {"two_person": True, "export_days": 7}
    assert (first.severity, second.severity) == ("notice", "warn")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"time_zone": "Mars/Olympus"}, "bad_time_zone"),
        ({"export_days": 0}, "bad_export_days"),
        ({"backup_days": 9_999}, "bad_backup_days"),
        ({"letter_days": 0}, "bad_letter_days"),
    ],
)
def test_settings_that_make_no_sense(
    world: World, fields: dict[str, Any], expected: str
) -> None:
    with pytest.raises(errors.Invalid) as error:
        make.settings(world, **fields)
    assert code(error) == expected


def test_a_new_zone_keeps_the_days_people_were_told(world: World) -> None:
    by = world.actor("compliance")
    case = make.opened(world, received_at=datetime(2026, 10, 27, 9, tzinfo=UTC))
    actions.extend(make.opened(world), 1, "many", by=by)
    make.settings(world, time_zone="Asia/Tokyo")
    case = make.fresh(case)
    assert case.due_at == datetime(2026, 11, 27, 14, 59, 59, 999_000, tzinfo=UTC)


# ── The digest ───────────────────────────────────────────────────────────────
def test_the_digest_tells_once_a_day_and_names_nobody(
    world: World, mailoutbox: list[Any], settings: Any
) -> None:
    settings.MAIL_SERVER = True
    now = timezone.now()
    late = make.opened(
        world, reason="Maria", requester="Maria", received_at=now - timedelta(days=40)
    )
    make.opened(world)
    outcome = reminder_email.send(world.acme.id)
    assert outcome.counts == {"cases": 1, "mails": 2}
    recipients = {address for mail in mailoutbox for address in mail.to}
    assert recipients == {"owner@acme.example", "compliance@acme.example"}
    for mail in mailoutbox:
        assert late.id in mail.body
        assert "overdue" in mail.body
        assert "Maria" not in mail.body + mail.subject
        assert len(mail.to) == 1
    assert reminder_email.send(world.acme.id).counts == {}
    assert len(mailoutbox) == 2
    tomorrow = now + timedelta(days=1)
    assert reminder_email.send(world.acme.id, tomorrow).counts == {
        "cases": 1,
        "mails": 2,
    }


def test_no_digest_when_nothing_presses_or_nobody_wants_it(
    world: World, mailoutbox: list[Any], settings: Any
) -> None:
    settings.MAIL_SERVER = True
    case = make.opened(world)
    assert reminder_email.send(world.acme.id).counts == {}
    Case.objects.filter(pk=case.pk).update(due_at=timezone.now())
    make.settings(world, digest=False)
    assert reminder_email.send(world.acme.id).counts == {}
    assert mailoutbox == []


def test_a_mail_that_did_not_go_out_is_tried_again(
    world: World,
    mailoutbox: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    settings.MAIL_SERVER = True
    make.opened(world, received_at=timezone.now() - timedelta(days=40))

    def broken(*_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.get_connection", broken)
        assert reminder_email.send(world.acme.id).fault
    assert reminder_email.send(world.acme.id).counts == {"cases": 1, "mails": 2}
    assert len(mailoutbox) == 2


def test_without_a_mail_server_no_digest_is_sent_and_none_is_recorded(
    world: World,
    mailoutbox: list[Any],
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = make.opened(world, received_at=timezone.now() - timedelta(days=40))
    for _ in range(2):
        outcome = reminder_email.send(world.acme.id)
        assert (outcome.counts, outcome.fault) == ({"cases": 1, "mails": 0}, "")
    assert mailoutbox == []
    entries = JournalEntry.objects.filter(entry_type="gdpr.digest_sent")
    assert not entries.exists()
    assert caplog.text.count("no mail server is set (CREWSHIP_EMAIL_URL)") == 1
    assert "acme.example" not in caplog.text
    assert late.id not in caplog.text
    settings.MAIL_SERVER = True
    assert reminder_email.send(world.acme.id).counts == {"cases": 1, "mails": 2}
