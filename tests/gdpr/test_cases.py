"""The workflow of a case: permissions, states, events and journal entries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from gdpr.cases import actions, identity, privacy_settings, queries, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase, PlanDraft
from gdpr.models import Case, CaseEvent, CaseKind, CasePlan, CaseState
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.permissions import Role
from tests.gdpr import requests as make
from tests.gdpr.requests import HASH, OTHER_HASH
from tests.world import World

pytestmark = pytest.mark.django_db

UNSETTLED = {"identity_ground": "", "identity_reason": ""}


def code(error: pytest.ExceptionInfo[errors.AppError]) -> str:
    return error.value.problem_code


def run(case: Case, by: Any, **options: Any) -> Case:
    """Execute a case's plan with the right phrase."""
    return cases.execute(case, HASH, cases.phrase(case, HASH), by=by, **options)


# ── Opening ──────────────────────────────────────────────────────────────────
def test_a_case_is_due_a_calendar_month_after_its_receipt(world: World) -> None:
    received = datetime(2026, 1, 31, 12, tzinfo=UTC)
    case = make.opened(world, received_at=received, ticket=" 4471 ")
    assert case.state == CaseState.RECEIVED
    assert case.due_at == datetime(2026, 2, 28, 23, 59, 59, 999_000, tzinfo=UTC)
    assert (case.ticket, case.opened_by_id) == ("4471", world.people["compliance"].id)
    [entry] = make.entries(world, "gdpr.case_opened")
    assert entry.payload == {
        "case_id": case.id,
        "subject_id": case.subject_ref,
        "kind": "erasure",
        "state": "received",
    }


def test_the_calendar_is_the_one_of_the_workspace(world: World) -> None:
    make.settings(world, time_zone="Europe/Berlin")
    received = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
    case = make.opened(world, received_at=received)
    assert case.due_at == datetime(2026, 3, 1, 22, 59, 59, 999_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reason": " "}, "reason_required"),
        ({"reason": "x" * 4_001}, "too_large"),
        ({"reason": "a\x00b"}, "bad_text"),
        ({"received_at": datetime(2999, 1, 1, tzinfo=UTC)}, "received_in_future"),
        ({"received_at": datetime(2020, 1, 1)}, "naive_received_at"),  # noqa: DTZ001
        ({"received_at": datetime(1, 1, 1, tzinfo=UTC)}, "received_too_early"),
        ({"kind": "rectification"}, "correction_required"),
    ],
)
def test_what_cannot_be_opened(
    world: World, fields: dict[str, Any], expected: str
) -> None:
    with pytest.raises(errors.AppError) as error:
        make.opened(world, **fields)
    assert code(error) == expected
    assert not Case.objects.exists()


def test_a_request_from_years_ago_is_taken_and_overdue(world: World) -> None:
    case = make.opened(world, received_at=datetime(1999, 12, 31, tzinfo=UTC))
    due = queries.deadline(case, privacy_settings.of(world.acme.id))
    assert (due.urgency, due.days_left < -9_000) == ("overdue", True)


def test_nobody_opens_a_case_about_a_stranger(world: World) -> None:
    stranger = make.subject(world, world.other.id)
    new = NewCase(subject_id=stranger.id, kind=CaseKind.ERASURE, reason="x")
    with pytest.raises(errors.NotFound):
        cases.open_case(new, by=world.actor("compliance"))


def test_a_merged_person_names_the_other_one(world: World) -> None:
    target, merged = make.subject(world), make.subject(world)
    merged.merged_into = target
    merged.save()
    with pytest.raises(errors.Conflict) as error:
        make.opened(world, subject=merged)
    assert error.value.fields == {"merged_into": target.id}


@pytest.mark.parametrize("role", ["operator", "viewer", "ada", "looker"])
def test_who_may_not(world: World, role: str) -> None:
    case = make.planned(make.opened(world), world.actor("compliance"))
    by = world.actor(role)
    acts: list[Callable[[], object]] = [
        lambda: make.opened(world, role, subject=case.subject),
        lambda: identity.verify(case, "by code", by=by),
        lambda: cases.keep_plan(case, PlanDraft(HASH, {}, {}), by=by),
        lambda: cases.approve(case, HASH, by=by),
        lambda: run(case, by),
        lambda: actions.refuse(case, "no", by=by),
        lambda: actions.extend(case, 1, "many", by=by),
        lambda: actions.assign(case, "me", by=by),
        lambda: actions.comment(case, "hm", by=by),
        lambda: actions.attach(case, "scan.pdf", "0" * 64, 1, by=by),
    ]
    for act in acts:
        with pytest.raises(errors.Forbidden):
            act()
    assert make.fresh(case).version == case.version


def test_another_workspaces_case_is_not_there(world: World) -> None:
    case = make.opened(world)
    stranger = world.actor("stranger")
    for act in (
        lambda: transitions.case(stranger, case.id),
        lambda: actions.comment(case, "hm", by=stranger),
        lambda: run(case, stranger),
    ):
        with pytest.raises(errors.NotFound):
            act()


# ── The usual order ──────────────────────────────────────────────────────────
def test_plan_and_execution_from_received_when_nothing_else_is_asked(
    world: World,
) -> None:
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    assert case.state == CaseState.PLANNED
    case = run(case, by)
    assert (case.state, case.run, case.executed_by_id) == ("running", 1, by.id)
    texts = list(CaseEvent.objects.order_by("id").values_list("text", flat=True))
    skipped = "Goes on without an identity check"
    assert texts == ["Received", skipped, "Plan 1 made", "Run 1 started"]


def test_identity_comes_first_where_the_workspace_asks(world: World) -> None:
    make.settings(world, require_identity=True)
    by, case = world.actor("compliance"), make.opened(world, **UNSETTLED)
    with pytest.raises(errors.Conflict) as error:
        make.planned(case, by)
    assert code(error) == "identity_required"
    identity.verify(case, "code sent to the address on file", by=by)
    assert make.planned(case, by).state == CaseState.PLANNED


def test_identity_that_was_asked_for_later_still_stops_the_run(world: World) -> None:
    by = world.actor("compliance")
    case = make.planned(make.opened(world, **UNSETTLED), by)
    make.settings(world, require_identity=True)
    with pytest.raises(errors.Conflict) as error:
        run(case, by)
    assert code(error) == "identity_required"
    case = identity.verify(case, "passport", by=by)
    assert (case.state, run(case, by).state) == ("planned", "running")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("erasure", "erase"),
        ("access", "export"),
        ("rectification", "rectify"),
        ("restriction", "restrict"),
    ],
)
def test_the_phrase_names_what_will_be_done_to_whom_by_which_plan(
    world: World, kind: str, word: str
) -> None:
    by = world.actor("compliance")
    correction = {"wrong": "Maria", "right": "Mary"}
    case = make.planned(make.opened(world, kind=kind, correction=correction), by)
    assert cases.phrase(case, HASH) == f"{word} {case.subject_ref} 9b1e44d0"
    for typed in ("", "yes", f"{word} {case.subject_ref}", f"{word} x 9b1e44d0"):
        with pytest.raises(errors.Invalid) as error:
            cases.execute(case, HASH, typed, by=by)
        assert code(error) == "wrong_phrase"
    assert run(case, by).state == CaseState.RUNNING


def test_an_older_plan_neither_runs_nor_is_approved(world: World) -> None:
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    case = make.planned(case, by, OTHER_HASH)
    acts: list[Callable[[], object]] = [
        lambda: run(case, by),
        lambda: cases.approve(case, HASH, by=world.actor("owner")),
    ]
    for act in acts:
        with pytest.raises(errors.Conflict) as error:
            act()
        assert code(error) == "stale_plan"
    assert [p.number for p in CasePlan.objects.order_by("number")] == [1, 2]


def test_twice_at_once_runs_once(world: World) -> None:
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    run(case, by)
    with pytest.raises(errors.Conflict) as error:
        run(case, by)
    assert code(error) == "wrong_state"
    assert error.value.fields["state"] == "running"
    assert make.fresh(case).run == 1


# ── The second person ────────────────────────────────────────────────────────
def test_two_persons_are_two_persons(world: World) -> None:
    make.settings(world, two_person=True)
    officer, two = world.actor("compliance"), world.actor("owner")
    case = make.planned(make.opened(world), officer)
    with pytest.raises(errors.Conflict) as error:
        run(case, officer)
    assert code(error) == "approval_required"
    with pytest.raises(errors.Conflict) as error:
        cases.approve(case, HASH, by=officer)
    assert code(error) == "same_person"
    case = cases.approve(case, HASH, by=two)
    assert (case.state, case.approved_plan) == ("approved", HASH)
    with pytest.raises(errors.Conflict) as error:
        run(case, two)
    assert code(error) == "same_person"
    assert run(case, officer).state == CaseState.RUNNING


def test_where_nobody_asks_for_two_whoever_approved_may_carry_out(
    world: World,
) -> None:
    officer, two = world.actor("compliance"), world.actor("owner")
    case = make.planned(make.opened(world), officer)
    case = cases.approve(case, HASH, by=two)
    assert run(case, two).state == CaseState.RUNNING


def test_the_plan_that_counts_is_the_cases_own(world: World) -> None:
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    other = make.planned(make.planned(make.opened(world), by), by, OTHER_HASH)
    plans = [cases.latest_plan(row) for row in (case, other)]
    assert [plan and plan.plan_hash for plan in plans] == [HASH, OTHER_HASH]
    assert run(case, by).state == CaseState.RUNNING


def test_who_planned_cannot_approve_what_another_opened(world: World) -> None:
    make.settings(world, two_person=True)
    case = make.planned(make.opened(world, "compliance"), world.actor("owner"))
    for role in ("compliance", "owner"):
        with pytest.raises(errors.Conflict) as error:
            cases.approve(case, HASH, by=world.actor(role))
        assert code(error) == "same_person"


def test_a_session_and_a_key_of_one_person_are_one_person(world: World) -> None:
    make.settings(world, two_person=True)
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    page = type(by)(Role.ADMIN, by.workspace_id, by.id, "another label")
    with pytest.raises(errors.Conflict) as error:
        cases.approve(case, HASH, by=page)
    assert code(error) == "same_person"


def test_a_new_plan_drops_the_approval(world: World) -> None:
    make.settings(world, two_person=True)
    officer = world.actor("compliance")
    case = make.planned(make.opened(world), officer)
    case = cases.approve(case, HASH, by=world.actor("owner"))
    case = make.planned(case, officer, OTHER_HASH)
    assert (case.state, case.approved_by_id, case.approved_plan) == ("planned", "", "")
    typed = cases.phrase(case, OTHER_HASH)
    with pytest.raises(errors.Conflict) as error:
        cases.execute(case, OTHER_HASH, typed, by=officer)
    assert code(error) == "approval_required"


def test_break_glass_needs_a_reason_and_raises_an_alarm(world: World) -> None:
    make.settings(world, two_person=True)
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    with pytest.raises(errors.Conflict) as error:
        run(case, by, break_glass="   ")
    assert code(error) == "approval_required"
    case = run(case, by, break_glass="Maria's lawyer stands at the door")
    assert case.break_glass_reason == "Maria's lawyer stands at the door"
    [alarm] = make.entries(world, "gdpr.break_glass")
    assert alarm.severity == "error"
    assert "Maria" not in alarm.payload_text + alarm.summary
    assert CaseEvent.objects.filter(kind="alarm", text__contains="lawyer").exists()


def test_break_glass_where_it_is_not_allowed(world: World) -> None:
    make.settings(world, two_person=True, allow_break_glass=False)
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    with pytest.raises(errors.Conflict) as error:
        run(case, by, break_glass="now")
    assert code(error) == "break_glass_not_allowed"
    assert not make.entries(world, "gdpr.break_glass")


def test_no_alarm_when_there_was_no_glass(world: World) -> None:
    by = world.actor("compliance")
    case = run(make.planned(make.opened(world), by), by, break_glass="just in case")
    assert case.break_glass_reason == ""
    assert not make.entries(world, "gdpr.break_glass")


# ── Actions ──────────────────────────────────────────────────────────────────
def test_a_deadline_is_extended_once_with_a_reason_before_it_passes(
    world: World,
) -> None:
    by = world.actor("compliance")
    received = timezone.now() - timedelta(days=3)
    case = make.opened(world, received_at=received)
    for months, reason, expected in (
        (0, "many requests", "bad_months"),
        (3, "many requests", "bad_months"),
        (2, " ", "reason_required"),
    ):
        with pytest.raises(errors.Invalid) as error:
            actions.extend(case, months, reason, by=by)
        assert code(error) == expected
    case = actions.extend(case, 2, "many requests", by=by)
    assert case.extended_until is not None
    assert case.extended_until > case.due_at
    with pytest.raises(errors.Conflict) as late:
        actions.extend(case, 1, "again", by=by)
    assert code(late) == "already_extended"


def test_a_deadline_that_ran_out_is_not_extended(world: World) -> None:
    case = make.opened(world, received_at=timezone.now() - timedelta(days=40))
    with pytest.raises(errors.Conflict) as error:
        actions.extend(case, 1, "too late", by=world.actor("compliance"))
    assert code(error) == "deadline_passed"


def test_on_the_last_day_it_still_goes(world: World) -> None:
    with time_machine.travel("2026-03-31T12:00:00Z", tick=False):
        case = make.opened(world)
    with time_machine.travel("2026-04-30T23:59:00Z", tick=False):
        due = queries.deadline(case, privacy_settings.of(world.acme.id))
        assert (due.words, due.urgency) == ("due today", "today")
        actions.extend(case, 1, "many", by=world.actor("compliance"))
        case = make.fresh(case)
        due = queries.deadline(case, privacy_settings.of(world.acme.id))
    assert due.words == "31 days left"


def test_a_refusal_says_why_and_ends_it(world: World) -> None:
    by, case = world.actor("compliance"), make.opened(world)
    with pytest.raises(errors.Invalid):
        actions.refuse(case, "", by=by)
    case = actions.refuse(case, "We could not verify who you are.", by=by)
    assert (case.state, case.closed_by) == ("refused", by.label)
    for act in (
        lambda: actions.comment(case, "but", by=by),
        lambda: make.planned(case, by),
        lambda: actions.extend(case, 1, "more", by=by),
        lambda: actions.assign(case, "me", by=by),
    ):
        with pytest.raises(errors.Conflict) as error:
            act()
        assert code(error) == "wrong_state"


def test_a_running_case_is_not_refused(world: World) -> None:
    case = make.running(world)
    with pytest.raises(errors.Conflict):
        actions.refuse(case, "changed our mind", by=world.actor("compliance"))


def test_comments_and_documents_are_in_the_timeline_and_not_in_the_journal(
    world: World,
) -> None:
    by, case = world.actor("compliance"), make.opened(world, **UNSETTLED)
    actions.comment(case, "Maria called twice", by=by)
    actions.attach(case, "maria-letter.pdf", "a" * 64, 900, by=by)
    with pytest.raises(errors.Invalid) as error:
        actions.attach(case, "x", "A" * 64, 1, by=by)
    assert code(error) == "bad_sha256"
    actions.assign(case, "owner@acme.example", by=by)
    detail = queries.case_detail_json(queries.detail(by, make.fresh(case)))
    assert [event["kind"] for event in detail["events"]] == [
        "fact", "attachment", "note", "moved",
    ]  # fmt: skip
    assert detail["events"][1]["data"] == {"sha256": "a" * 64, "bytes": 900}
    rows = JournalEntry.objects.filter(entry_type__startswith="gdpr.")
    assert rows.count() == 4
    assert not any("aria" in row.payload_text + row.summary for row in rows)
