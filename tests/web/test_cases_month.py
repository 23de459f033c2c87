"""Reminding of many cases and extending them: each by itself, with the reason why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.utils import timezone

from gdpr.cases import actions
from gdpr.models import Case, CaseEvent
from memory.accounts import mail
from tests.gdpr import requests as make
from tests.web.test_cases_bulk import COMPLIANCE, OWNER, act
from tests.world import World

NO_SERVER = "no mail server is set"


@pytest.fixture
def cases(world: World) -> list[Case]:
    """Return two cases of the owner's, one of the officer's, and nobody's."""
    rows = [make.opened(world) for _ in range(4)]
    by = world.actor("compliance")
    people = (OWNER, OWNER, COMPLIANCE)
    return [
        *(
            actions.assign(row, person, by=by)
            for row, person in zip(rows, people, strict=False)
        ),
        rows[3],
    ]


def notes(case: Case) -> list[str]:
    rows = CaseEvent.objects.filter(case=case, data__has_key="reminded")
    return list(rows.values_list("text", flat=True))


def test_an_assignee_gets_one_mail_and_every_case_a_note(
    world: World, cases: list[Case], settings: Any
) -> None:
    settings.MAIL_SERVER = True
    html = act(world, cases, act="remind").content.decode()
    assert "3 reminders noted" in html
    assert "It is assigned to nobody." in html
    assert 'name="undo"' not in html
    sent_mails = {tuple(message.to): message for message in outbox.outbox}
    assert set(sent_mails) == {(OWNER,), (COMPLIANCE,)}
    body = str(sent_mails[(OWNER,)].body)
    assert all(case.id in body for case in cases[:2])
    assert cases[2].id not in body
    assert "Maria" not in body + str(sent_mails[(OWNER,)].subject)
    assert notes(cases[0]) == [f"Reminder mailed to {OWNER}"]
    assert notes(cases[3]) == []
    assert len(make.entries(world, "gdpr.case_reminded")) == 3


def test_without_a_mail_server_the_note_says_so(
    world: World, cases: list[Case]
) -> None:
    html = act(world, cases[:1], act="remind").content.decode()
    assert html.count(NO_SERVER) >= 1
    assert outbox.outbox == []
    [note] = notes(cases[0])
    assert note == f"Reminder for {OWNER}; {NO_SERVER}"
    page = world.page("owner").get(f"/privacy/cases/{cases[0].id}/").content.decode()
    assert note in page


def test_a_reminder_that_did_not_go_out_is_not_noted(
    world: World,
    cases: list[Case],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> int:
        raise ConnectionRefusedError

    settings.MAIL_SERVER = True
    monkeypatch.setattr(mail, "send", refuse)
    html = act(world, cases[:2], act="remind").content.decode()
    assert html.count("The mail did not go out.") == 2
    assert notes(cases[0]) == []


def test_a_second_submit_reminds_nobody_twice(world: World, cases: list[Case]) -> None:
    picks = {"items": [f"{cases[0].id}:{cases[0].version}"], "act": "remind"}
    page = world.page("owner")
    page.post("/privacy/cases/many/", picks)
    html = page.post("/privacy/cases/many/", picks).content.decode()
    assert "The case changed since you read it." in html
    assert len(notes(cases[0])) == 1


def test_each_case_is_extended_that_may_be(world: World, cases: list[Case]) -> None:
    actions.extend(cases[1], 1, "before", by=world.actor("owner"))
    late = timezone.now() - timedelta(days=90)
    Case.objects.filter(pk=cases[2].pk).update(due_at=late)
    actions.refuse(cases[3], "no", by=world.actor("owner"))
    fields = {"act": "extend", "months": "2", "reason": "Many requests"}
    html = act(world, cases, **fields).content.decode()
    assert "1 deadline extended" in html
    assert "it can be extended once" in html
    assert "The deadline has run out" in html
    assert "The case is refused" in html
    extended = [make.fresh(case) for case in cases]
    assert extended[0].extension_reason == "Many requests"
    assert extended[1].extension_reason == "before"
    assert extended[2].extended_until is None


def test_a_refused_extension_keeps_ticks_and_words(
    world: World, cases: list[Case]
) -> None:
    answer = act(world, cases[:1], act="extend", months="2", reason=" ")
    html = answer.content.decode()
    assert answer.status_code == 422
    pick = f"{cases[0].id}:{cases[0].version}"
    [box] = [part for part in html.split("<input") if f'value="{pick}"' in part]
    assert " checked" in box.partition(">")[0]
    assert '<details class="later" open>' in html
    assert '<option value="2" selected>' in html


def test_three_months_are_too_many(world: World, cases: list[Case]) -> None:
    html = act(world, cases, act="extend", months="3", reason="why").content.decode()
    assert html.count("A deadline is extended by 1 to 2 months.") == 4


def test_an_unknown_act_is_refused(world: World, cases: list[Case]) -> None:
    assert act(world, cases, act="erase").status_code == 422


@pytest.mark.parametrize("name", ["remind", "extend"])
def test_who_may_act_on_many(world: World, cases: list[Case], name: str) -> None:
    fields = {"act": name, "months": "1", "reason": "why"}
    for user in ("viewer", "operator"):
        assert act(world, cases, user, **fields).status_code == 403
    html = act(world, cases, "stranger", **fields).content.decode()
    assert html.count("not changed") == 4
    assert OWNER not in html


@pytest.mark.parametrize(
    ("kind", "other", "words"),
    [
        ("erasure", "erasure", "has an open request of this kind already"),
        ("erasure", "access", "answer that first"),
        ("access", "erasure", ""),
    ],
)
def test_opening_a_case_tells_of_the_persons_other_requests(
    world: World, kind: str, other: str, words: str
) -> None:
    person = make.subject(world)
    before = make.opened(world, subject=person, kind=other)
    closed = make.opened(world, subject=person, kind=other)
    actions.refuse(closed, "no", by=world.actor("owner"))
    make.opened(world, kind=other)
    fields = {"kind": kind, "subject_id": person.pk, "who": person.pk, "reason": "r"}
    page = world.page("compliance").post("/privacy/cases/new/", fields, follow=True)
    text = page.content.decode()
    assert page.status_code == 200
    assert words in text
    notice = text.partition('role="note"')[2].partition("</div>")[0]
    assert (f'href="/privacy/cases/{before.pk}/"' in notice) is bool(words)
    assert closed.pk not in text
