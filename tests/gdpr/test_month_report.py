"""The report of a month: counted from cases, by the calendar of the workspace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.cases import deadlines, workflow
from gdpr.models import Case, CaseEvent, CasePlan, CaseState
from gdpr.reports import month, periods
from gdpr.reports.periods import Month
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)


def day(month_number: int, number: int, hour: int = 12) -> datetime:
    return datetime(2026, month_number, number, hour, tzinfo=UTC)


def a_case(
    world: World, received: datetime, closed: datetime | None = None, **fields: Any
) -> Case:
    """Return a case with the given days, its timeline begun at its receipt."""
    case = make.opened(
        world, kind=fields.pop("kind", "erasure"), subject=fields.pop("subject", None)
    )
    state = fields.pop("state", "complete" if closed else "received")
    values: dict[str, Any] = {
        "received_at": received,
        "due_at": deadlines.due(received, ZoneInfo("UTC")),
        "closed_at": closed,
        "state": state,
        **fields,
    }
    if state == "refused":
        values.setdefault("refusal_reason", "unfounded")
    Case.objects.filter(pk=case.pk).update(**values)
    CaseEvent.objects.filter(case=case).update(at=received)
    return make.fresh(case)


def report(world: World, text: str, now: datetime = NOW) -> month.Report:
    return month.of(world.actor("compliance"), text, now=now)


# ── The calendar ─────────────────────────────────────────────────────────────
@given(st.integers(1971, 9997), st.integers(1, 12))
def test_months_follow_each_other_without_a_gap(year: int, number: int) -> None:
    choice = Month(year, number)
    assert choice.next.previous == choice
    after = choice.next.period(BERLIN)
    assert choice.period(BERLIN).end == after.start
    assert after.first - choice.period(BERLIN).last == timedelta(days=1)


@pytest.mark.parametrize(
    "text", ["2026-13", "2026-7", "2027-01", "2026-07", "1970-12", "x", "２０２６-01"]
)
def test_no_other_month_is_accepted(text: str) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        periods.month(text, NOW, BERLIN)
    assert refusal.value.problem_code == "bad_month"


@given(st.lists(st.integers(0, 400), min_size=1), st.integers(1, 100))
def test_the_nearest_rank_is_the_smallest_that_covers(
    values: list[int], percent: int
) -> None:
    rank = month.nearest_rank(values, percent)
    within = sum(value <= rank for value in values)
    below = sum(value < rank for value in values)
    assert within * 100 >= percent * len(values)
    assert below * 100 < percent * len(values)


def test_a_request_belongs_to_the_month_of_the_workspaces_calendar(
    world: World,
) -> None:
    make.settings(world, time_zone="Europe/Berlin")
    a_case(world, datetime(2026, 3, 31, 22, 30, tzinfo=UTC))
    april = report(world, "2026-04")
    assert (april.figures.total_received, april.previous.total_received) == (1, 0)


# ── The numbers ──────────────────────────────────────────────────────────────
def test_a_month_counts_what_came_and_what_was_answered(world: World) -> None:
    a_case(world, day(3, 20), day(4, 2), kind="access")
    a_case(world, day(4, 1), day(4, 4))
    a_case(world, day(4, 3), day(4, 13), state="refused", refusal_reason="Not hers")
    a_case(world, day(4, 30), day(5, 1))
    a_case(world, day(4, 9))
    figures = report(world, "2026-04").figures
    assert (figures.total_received, figures.total_answered) == (4, 3)
    assert figures.answered == {
        "access": 1, "erasure": 2, "rectification": 0, "restriction": 0,
        "portability": 0, "objection": 0,
    }  # fmt: skip
    assert (figures.complete, figures.refused, figures.in_time) == (2, 1, 3)
    assert (figures.median_days, figures.p90_days, figures.longest_days) == (10, 13, 13)
    assert figures.total_open == 2
    assert [row.ground for row in figures.refusals] == ["Not hers"]
    may = report(world, "2026-05")
    assert may.previous == figures
    assert may.figures.total_received == 0
    assert (may.figures.total_answered, may.figures.total_open) == (1, 1)


def test_an_empty_month_has_no_days(world: World) -> None:
    figures = report(world, "2025-02").figures
    assert figures.total_received == figures.total_open == 0
    assert figures.median_days is figures.p90_days is figures.longest_days is None
    assert figures.overdue == []


def test_a_month_in_course_ends_now(world: World) -> None:
    late = a_case(world, day(5, 5))
    a_case(world, day(5, 20))
    june = report(world, "")
    assert (june.in_course, str(june.month)) == (True, "2026-06")
    assert [row.case_id for row in june.figures.overdue] == [late.id]
    assert june.previous.overdue == []
    assert not report(world, "2026-05").in_course


def test_a_refusal_shows_no_registered_name(world: World) -> None:
    from tests.gdpr import kit

    person = kit.subject(world)
    ground = "Anna Kowalczyk asked twice"
    a_case(world, day(4, 1), day(4, 2), state="refused", refusal_reason=ground)
    [refusal] = report(world, "2026-04").figures.refusals
    assert person.display_name not in refusal.ground
    assert refusal.ground.endswith("asked twice")


# ── Why a case is overdue ────────────────────────────────────────────────────
STOOD = {
    "received": "identity",
    "identified": "plan",
    "planned": "approval",
    "approved": "start",
    "running": "running",
    "verifying": "running",
    "partial": "partial",
    "on_hold": "hold",
}


def noted(case: Case, state: str, at: datetime) -> None:
    CaseEvent.objects.create(
        workspace_id=case.workspace_id, case=case, kind="moved", state=state, text="x",
        at=at, by="test",
    )  # fmt: skip


@pytest.mark.parametrize(("state", "why"), STOOD.items())
def test_why_is_where_it_stood_when_the_deadline_ran_out(
    world: World, state: str, why: str
) -> None:
    case = a_case(world, day(3, 1), day(4, 20))
    noted(case, state, day(3, 30))
    noted(case, "complete", day(4, 20))
    figures = report(world, "2026-04").figures
    assert figures.why == {why: 1}
    [late] = figures.overdue
    assert (late.open, late.extended) == (False, False)
    assert (figures.in_time, figures.answered_late) == (0, 1)
    # At the end of March it was open and in time.
    assert report(world, "2026-03").figures.overdue == []


def test_a_plan_with_rows_to_decide_waited_for_decisions(world: World) -> None:
    case = a_case(world, day(3, 1))
    workflow.keep_plan(
        case,
        workflow.PlanDraft(make.HASH, {"doubts": {"undecided": 2}}, {}),
        by=world.actor("compliance"),
    )
    CasePlan.objects.filter(case=case).update(made_at=day(3, 15))
    CaseEvent.objects.filter(case=case, state=CaseState.PLANNED).update(at=day(3, 15))
    assert report(world, "2026-04").figures.why == {"decisions": 1}


def test_a_case_entered_after_its_deadline_says_so(world: World) -> None:
    case = a_case(world, day(3, 1))
    CaseEvent.objects.filter(case=case).update(at=day(4, 25))
    assert report(world, "2026-04").figures.why == {"entered_late": 1}


def test_an_extended_case_is_overdue_after_its_later_day(world: World) -> None:
    until = deadlines.due(day(3, 1), ZoneInfo("UTC"), 1)
    a_case(world, day(3, 1), extended_until=until, extension_reason="many")
    assert report(world, "2026-04").figures.overdue == []
    [late] = report(world, "2026-05").figures.overdue
    assert late.extended


def test_another_workspace_counts_nothing_of_ours(world: World) -> None:
    a_case(world, day(4, 1))
    their_words = month.of(world.actor("stranger"), "2026-04", now=NOW)
    assert their_words.figures.total_received == 0
    with pytest.raises(errors.Forbidden):
        month.of(world.actor("operator"), "2026-04", now=NOW)
