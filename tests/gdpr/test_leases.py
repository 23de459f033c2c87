"""The runner's side of a case: leases, steps, closing, and erased texts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr.cases import actions, identity, leases, queries
from gdpr.cases import workflow as cases
from gdpr.models import Case, CaseEvent, CasePlan, CaseState, CaseStep
from memory.rules import errors
from tests.gdpr import requests as make
from tests.gdpr.requests import BODY, HASH, OTHER_HASH, ROWS, RUNNER
from tests.world import World

pytestmark = pytest.mark.django_db


def run(case: Case, by: Any, **options: Any) -> Case:
    """Execute a case's plan with the right phrase."""
    return cases.execute(case, HASH, cases.phrase(case, HASH), by=by, **options)


def test_of_two_runners_one_gets_the_case(world: World) -> None:
    case = make.running(world)
    assert leases.due() == []
    assert leases.claim(case.workspace_id, case.id, "worker-2") is None
    Case.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases.due() == [(case.workspace_id, case.id)]
    assert leases.claim(case.workspace_id, case.id, "worker-2") is not None
    assert leases.renew(case, RUNNER) is False
    with pytest.raises(leases.LeaseLost):
        leases.to_verifying(case, RUNNER, by=make.system_actor(world))
    with pytest.raises(leases.LeaseLost):
        leases.close(case, RUNNER, "partial", {}, by=make.system_actor(world))
    assert make.fresh(case).state == CaseState.RUNNING


def test_a_case_that_does_not_run_is_not_claimed(world: World) -> None:
    case = make.planned(make.opened(world), world.actor("compliance"))
    assert leases.claim(case.workspace_id, case.id, RUNNER) is None


def test_steps_set_their_numbers(world: World) -> None:
    case = make.running(world)
    definitions = [("journal", "Journal entries", 3), ("search", "Search", 1)]
    first, second = leases.ensure_steps(case, definitions)
    leases.begin(first)
    started = first.started_at
    leases.progress(first, 2, deleted=2)
    # The process died here; the next one repeats the step.
    first, second = leases.ensure_steps(case, definitions)
    assert (first.state, first.done, first.started_at) == ("running", 2, started)
    leases.begin(first)
    leases.progress(first, 2, deleted=2)
    leases.finish(first, deleted=2, redacted=1)
    assert (first.done, first.counts) == (3, {"deleted": 2, "redacted": 1})
    assert first.started_at == started
    leases.fail(second, "x" * 900)
    stored_text = CaseStep.objects.get(pk=second.pk)
    assert (stored_text.state, len(stored_text.fault)) == ("failed", 400)
    assert CaseStep.objects.count() == 2


def test_completion_only_through_the_search(world: World) -> None:
    case, system_actor = make.running(world), make.system_actor(world)
    with pytest.raises(errors.Conflict):
        leases.close(case, RUNNER, "complete", {}, by=system_actor)
    make.searched(case, system_actor)
    closed = leases.close(case, RUNNER, "complete", {"found": 0}, by=system_actor)
    assert (closed.state, closed.claimed_by, closed.result) == (
        "complete",
        "",
        {"found": 0},
    )
    closed_again = leases.close(
        case, "worker-9", "complete", {"found": 7}, by=system_actor
    )
    assert closed_again.result == {"found": 0}
    assert len(make.entries(world, "gdpr.case_completed")) == 1
    assert leases.due() == []


def test_a_runner_that_follows_may_say_again_that_it_searches(world: World) -> None:
    case, system_actor = make.running(world), make.system_actor(world)
    make.searched(case, system_actor)
    make.searched(case, system_actor)
    assert len(make.entries(world, "gdpr.case_verifying")) == 1


def test_steps_are_of_one_case_and_one_run(world: World) -> None:
    cases_of_two = make.running(world), make.running(world)
    definitions = [("journal", "Journal entries", 3)]
    own_steps, other = (leases.ensure_steps(case, definitions) for case in cases_of_two)
    earlier = CaseStep.objects.create(
        workspace=world.acme, case=cases_of_two[0], run=0, position=1, name="archive"
    )
    assert [leases.steps(case) for case in cases_of_two] == [own_steps, other]
    assert earlier not in own_steps


def test_a_partial_run_is_planned_again_and_run_again(world: World) -> None:
    by, system_actor = world.actor("compliance"), make.system_actor(world)
    case = make.running(world)
    make.searched(case, system_actor)
    case = leases.close(case, RUNNER, "partial", {"found": 2}, by=system_actor)
    assert (case.state, case.closed_at) == ("partial", None)
    case = make.planned(case, by, OTHER_HASH)
    case = cases.execute(case, OTHER_HASH, cases.phrase(case, OTHER_HASH), by=by)
    assert (case.state, case.run) == ("running", 2)
    assert leases.ensure_steps(case, [("journal", "Journal entries", 1)])[0].run == 2


def test_erasing_the_texts_of_a_persons_cases(world: World) -> None:
    by, system_actor = world.actor("compliance"), make.system_actor(world)
    person = make.subject(world)
    case = make.running(
        world, subject=person, reason="Maria left", requester="Maria", ticket="M-1"
    )
    other = make.opened(world, subject=person, kind="access", reason="Maria asks")
    actions.comment(other, "Maria called", by=by)
    actions.attach(other, "maria.pdf", "b" * 64, 3, by=by)
    identity.verify(other, "Maria's passport", by=by)
    make.searched(case, system_actor)
    leases.close(case, RUNNER, "complete", {}, by=system_actor)
    assert leases.erase_texts_of(world.acme.id, person.id) == 2
    assert leases.erase_texts_of(world.acme.id, person.id) == 2
    for row in Case.objects.all():
        detail = queries.case_detail_json(queries.detail(by, row))
        assert "Maria" not in str(detail).replace("Maria Keller", "")
        assert "maria" not in str(detail)
    plan = CasePlan.objects.get(case=case)
    assert plan.rows == ROWS
    assert plan.body["total"] == BODY["total"]
    assert plan.body["holders"][0]["samples"] == []
    assert cases.phrase(case, HASH) in str(
        queries.case_detail_json(queries.detail(by, case))
    )


def test_wiping_leaves_the_words_of_other_people(world: World) -> None:
    by, system_actor = world.actor("compliance"), make.system_actor(world)
    case = make.running(world, subject=make.subject(world))
    other = make.planned(make.opened(world, reason="Otto left"), by)
    actions.comment(other, "Otto called", by=by)
    make.searched(case, system_actor)
    leases.close(case, RUNNER, "complete", {}, by=system_actor)
    assert leases.erase_texts_of(world.acme.id, case.subject_ref) == 1
    assert make.fresh(other).reason == "Otto left"
    assert CaseEvent.objects.filter(case=other, text="Otto called").exists()
    assert CasePlan.objects.get(case=other).body == BODY
