"""The progress line of a case shows only what happened."""

from __future__ import annotations

from gdpr.cases import actions, dry_run, queries, transitions
from gdpr.web import progress_line
from tests.gdpr import erasing
from tests.world import World


def _line(world: World, *, planned: bool) -> list[progress_line.ProgressStep]:
    officer = world.actor("compliance")
    case = erasing.opened(
        world, erasing.maria(world), identity_ground="", identity_reason=""
    )
    if planned:
        dry_run.make(case, by=officer)
    actions.refuse(transitions.case(officer, case.pk), "Not ours", by=officer)
    case = transitions.case(officer, case.pk)
    return progress_line.steps_of(queries.detail(officer, case))


def test_a_refused_case_shows_no_step_that_was_never_taken(world: World) -> None:
    titles = [node.title for node in _line(world, planned=False)]
    assert titles == ["Received", "Refused"]


def test_a_refused_case_keeps_the_plan_it_had(world: World) -> None:
    line = _line(world, planned=True)
    assert [node.title for node in line] == ["Received", "Planned", "Refused"]
    assert [node.mark for node in line] == ["done", "done", "back"]
