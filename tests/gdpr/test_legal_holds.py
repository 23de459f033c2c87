"""Legal holds: what they keep, which cases they stop, and what a release resumes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr.cases import leases, legal_holds
from gdpr.cases import workflow as cases
from gdpr.cases.legal_holds import NewHold
from gdpr.models import CaseEvent, CaseState, CaseStep, Hold, Subject
from gdpr.pagination import PageQuery
from memory import records
from memory.journal import compaction, verify
from memory.models import JournalEntry, Record
from memory.records import Criteria
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from tests import factories
from tests.gdpr import kit
from tests.gdpr import requests as make
from tests.gdpr.requests import HASH, RUNNER
from tests.world import World

pytestmark = pytest.mark.django_db
PLACES = frozenset({"journal", "archive"})


def soon() -> datetime:
    """Return a day to review a hold on."""
    return timezone.now() + timedelta(days=30)


def placed(world: World, person: Subject, **fields: Any) -> Hold:
    """Place a hold as the compliance officer."""
    new = NewHold(**{"reason": "Tax audit", "review_at": soon(), **fields})
    return legal_holds.place(person, new, by=world.actor("compliance"), places=PLACES)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reason": " "}, "reason_required"),
        ({"scope": "attic"}, "bad_scope"),
        ({"review_at": datetime(2020, 1, 1)}, "naive_review_at"),  # noqa: DTZ001
        ({"review_at": timezone.now() - timedelta(1)}, "review_in_past"),
    ],
)
def test_what_is_no_hold(world: World, fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(errors.Invalid) as error:
        placed(world, make.subject(world), **fields)
    assert error.value.problem_code == expected


def test_who_may_place_and_release(world: World) -> None:
    person = make.subject(world)
    new = NewHold(reason="x", review_at=soon())
    for role in ("operator", "viewer", "ada", "looker"):
        with pytest.raises(errors.Forbidden):
            legal_holds.place(person, new, by=world.actor(role), places=PLACES)
    with pytest.raises(errors.NotFound):
        legal_holds.place(person, new, by=world.actor("stranger"), places=PLACES)
    row = placed(world, person)
    with pytest.raises(errors.Forbidden):
        legal_holds.release(row, "over", by=world.actor("operator"))
    with pytest.raises(errors.NotFound):
        legal_holds.release(row, "over", by=world.actor("stranger"))
    with pytest.raises(errors.NotFound):
        legal_holds.hold(world.actor("stranger"), row.pk)


def test_a_hold_covers_everything_or_one_place(world: World) -> None:
    person, other = make.subject(world), make.subject(world)
    assert legal_holds.in_force(world.acme.id, person.id) is None
    hold = placed(world, person, scope="journal")
    assert legal_holds.in_force(world.acme.id, person.id, "journal") == hold
    assert legal_holds.in_force(world.acme.id, person.id, "archive") is None
    assert legal_holds.in_force(world.acme.id, person.id) == hold
    full_hold = placed(world, person)
    assert legal_holds.in_force(world.acme.id, person.id, "archive") == full_hold
    assert legal_holds.in_force(world.acme.id, other.id, "journal") is None
    assert legal_holds.in_force(world.other.id, person.id, "journal") is None
    legal_holds.release(full_hold, "audit over", by=world.actor("owner"))
    assert legal_holds.in_force(world.acme.id, person.id, "archive") is None
    by = world.actor("compliance")
    assert legal_holds.list_holds(by, subject_id=person.id, state="standing") == [hold]
    assert [h.pk for h in legal_holds.list_holds(by, state="released")] == [
        full_hold.pk
    ]


def test_a_hold_stops_the_cases_of_its_person_alone(world: World) -> None:
    person, other = make.subject(world), make.subject(world)
    before, free = make.opened(world, subject=person), make.opened(world, subject=other)
    placed(world, person)
    after, later = make.opened(world, subject=person), make.opened(world, subject=other)
    states = [make.fresh(case).state for case in (before, after)]
    assert states == [CaseState.ON_HOLD, CaseState.ON_HOLD]
    rest = [make.fresh(case).state for case in (free, later)]
    assert rest == [CaseState.RECEIVED, CaseState.RECEIVED]


def test_nobody_reads_the_holds_of_another_workspace(world: World) -> None:
    row = placed(world, make.subject(world))
    stranger, ada = world.actor("stranger"), world.actor("ada")
    assert legal_holds.list_holds(stranger) == []
    assert list(legal_holds.page(stranger, PageQuery()).items) == []
    assert legal_holds.counts(stranger) == (0, 0)
    assert legal_holds.counts(world.actor("compliance")) == (1, 0)
    reads: tuple[Callable[[], object], ...] = (
        lambda: legal_holds.hold(ada, row.pk),
        lambda: legal_holds.list_holds(ada),
        lambda: legal_holds.page(ada, PageQuery()),
        lambda: legal_holds.counts(ada),
    )
    for read in reads:
        with pytest.raises(errors.Forbidden):
            read()


def test_the_journal_knows_of_holds_by_id_alone(world: World) -> None:
    row = placed(world, make.subject(world), reason="Maria sues us")
    legal_holds.release(row, "Maria settled", by=world.actor("compliance"))
    entries = [*make.entries(world, "gdpr.hold_placed"),
            *make.entries(world, "gdpr.hold_released")]  # fmt: skip
    assert [entry.payload["hold_id"] for entry in entries] == [row.pk, row.pk]
    assert not any("Maria" in entry.payload_text + entry.summary for entry in entries)


def test_released_is_released(world: World) -> None:
    row = placed(world, make.subject(world))
    by = world.actor("compliance")
    with pytest.raises(errors.Invalid):
        legal_holds.release(row, "", by=by)
    legal_holds.release(row, "over", by=by)
    with pytest.raises(errors.Conflict) as error:
        legal_holds.release(row, "again", by=by)
    assert error.value.problem_code == "hold_released"


# ── What it does to cases ────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["erasure", "rectification"])
def test_a_hold_stops_open_cases_and_its_release_brings_them_back(
    world: World, kind: str
) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.planned(
        make.opened(world, subject=person, kind=kind, correction={"wrong": "a"}), by
    )
    row = placed(world, person)
    case = make.fresh(case)
    assert (case.state, case.held_from) == ("on_hold", "planned")
    with pytest.raises(errors.Conflict):
        cases.execute(case, HASH, cases.phrase(case, HASH), by=by)
    legal_holds.release(row, "over", by=by)
    case = make.fresh(case)
    assert (case.state, case.held_from) == ("planned", "")
    assert cases.execute(case, HASH, cases.phrase(case, HASH), by=by).run == 1


@pytest.mark.parametrize("kind", ["access", "restriction"])
def test_a_hold_keeps_nobody_from_their_own_data(world: World, kind: str) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.planned(make.opened(world, subject=person, kind=kind), by)
    placed(world, person)
    case = make.fresh(case)
    assert case.state == CaseState.PLANNED
    started = cases.execute(case, HASH, cases.phrase(case, HASH), by=by)
    assert started.state == CaseState.RUNNING


def test_a_hold_on_one_place_stops_no_case_before_it_runs(world: World) -> None:
    person = make.subject(world)
    case = make.opened(world, subject=person)
    placed(world, person, scope="journal")
    assert make.fresh(case).state == CaseState.RECEIVED
    assert make.opened(world, subject=person).state == CaseState.RECEIVED


def test_a_case_of_a_held_person_is_opened_on_hold(world: World) -> None:
    person = make.subject(world)
    row = placed(world, person)
    case = make.opened(world, subject=person)
    assert (case.state, case.held_from) == ("on_hold", "received")
    legal_holds.release(row, "over", by=world.actor("compliance"))
    assert make.fresh(case).state == CaseState.RECEIVED


def test_the_last_of_two_holds_frees_the_case(world: World) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.opened(world, subject=person)
    first, second = placed(world, person), placed(world, person, reason="Lawsuit")
    legal_holds.release(first, "over", by=by)
    assert make.fresh(case).state == CaseState.ON_HOLD
    legal_holds.release(second, "over", by=by)
    assert make.fresh(case).state == CaseState.RECEIVED


def test_a_hold_that_came_between_plan_and_execution_is_seen(world: World) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.planned(make.opened(world, subject=person), by)
    # As if the hold had been placed without its effect on cases.
    Hold.objects.create(
        workspace=world.acme, subject=person, reason="x", owner="x",
        review_at=soon(), placed_by="x",
    )  # fmt: skip
    with pytest.raises(errors.Conflict) as error:
        cases.execute(case, HASH, cases.phrase(case, HASH), by=by)
    assert error.value.problem_code == "on_hold"


# ── What it does to a run ────────────────────────────────────────────────────
def test_a_run_is_stopped_by_its_runner_and_goes_on_where_it_was(world: World) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.running(world, subject=person)
    definitions = [("journal", "Journal entries", 3), ("archive", "Archive", 1)]
    done_step, waiting_step = leases.ensure_steps(case, definitions)
    leases.finish(done_step)
    row = placed(world, person)
    assert make.fresh(case).state == CaseState.RUNNING
    leases.defer_step(waiting_step, row)
    leases.defer_step(waiting_step, row)
    case = leases.defer(case, RUNNER, by=make.system_actor(world))
    assert (case.state, case.held_from, case.claimed_by) == ("on_hold", "running", "")
    assert leases.due() == []
    assert CaseEvent.objects.filter(data__hold_id=row.pk).count() == 1
    legal_holds.release(row, "over", by=by)
    assert leases.due() == [(world.acme.id, case.id)]
    states = CaseStep.objects.order_by("position").values_list("state", flat=True)
    assert list(states) == ["done", "waiting"]
    assert make.fresh(case).run == 1


def test_only_what_is_free_again_waits_for_its_turn(world: World) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    case = make.running(world, subject=person)
    definitions = [("journal", "Journal entries", 3), ("archive", "Archive", 1)]
    first, second = leases.ensure_steps(case, definitions)
    hold = placed(world, person, scope="journal")
    two = placed(world, person, scope="archive")
    other = placed(world, person, scope="archive", reason="Lawsuit")
    leases.defer_step(first, hold)
    leases.defer_step(second, two)
    leases.defer(case, RUNNER, by=make.system_actor(world))
    legal_holds.release(two, "over", by=by)
    # Another hold on the same place still keeps it.
    assert make.fresh(case).state == CaseState.ON_HOLD
    legal_holds.release(other, "over", by=by)
    states = CaseStep.objects.order_by("position").values_list("state", flat=True)
    assert list(states) == ["deferred", "waiting"]
    assert make.fresh(case).state == CaseState.RUNNING


def test_a_release_frees_the_steps_of_its_case_and_run_alone(world: World) -> None:
    by = world.actor("compliance")
    rows, steps = [], []
    for person in (make.subject(world), make.subject(world)):
        case = make.running(world, subject=person)
        [step] = leases.ensure_steps(case, [("journal", "Journal entries", 3)])
        earlier = CaseStep.objects.create(
            workspace=world.acme, case=case, run=0, position=1, name="journal",
            title="Journal entries", state="deferred",
        )  # fmt: skip
        rows.append(placed(world, person, scope="journal"))
        leases.defer_step(step, rows[-1])
        leases.defer(case, RUNNER, by=make.system_actor(world))
        steps += [step, earlier]
    legal_holds.release(rows[0], "over", by=by)
    for step in steps:
        step.refresh_from_db()
    states = ["waiting", "deferred", "deferred", "deferred"]
    assert [step.state for step in steps] == states


def test_a_list_of_holds_is_of_one_person_and_of_one_state(world: World) -> None:
    by, person = world.actor("compliance"), make.subject(world)
    active, released = placed(world, person), placed(world, make.subject(world))
    legal_holds.release(released, "over", by=by)
    assert legal_holds.list_holds(by, subject_id=person.id) == [active]
    assert legal_holds.page(by, PageQuery(), subject_id=person.id).items == [active]
    assert legal_holds.page(by, PageQuery(), state="standing").items == [active]
    assert legal_holds.page(by, PageQuery(), state="released").items == [released]
    assert legal_holds.page(by, PageQuery()).items == [active, released]


# ── Other ways of erasure ────────────────────────────────────────────────────
def _record_about(world: World, person: Subject, text: str, user: str = "u1") -> Record:
    ada = world.actor("ada")
    new = Draft(content=text, owner=records.owner_for(ada), scope=Scope(user=user))
    row = records.save(new, provenance="user_requested", by=ada).record
    kit.link(person, "journal", str(row.current_entry_id))
    return row


@pytest.mark.parametrize("scope", ["all", "journal", "records"])
def test_a_record_under_hold_is_not_erased(world: World, scope: str) -> None:
    person, ada = make.subject(world), world.actor("ada")
    row = _record_about(world, person, "Anna keeps bees.")
    free = _record_about(world, make.subject(world), "Omar keeps goats.")
    new = NewHold(reason="Tax audit", review_at=soon(), scope=scope)
    hold = legal_holds.place(
        person, new, by=world.actor("compliance"), places=PLACES | {"records"}
    )
    tries: tuple[Callable[[], object], ...] = (
        lambda: records.forget(row, by=ada),
        lambda: records.forget_scope(Criteria(scope=Scope(user="u1")), by=ada),
        lambda: records.forget_subject("u1", owner=records.owner_for(ada), by=ada),
    )
    for forgets in tries:
        with pytest.raises(errors.Conflict) as error:
            forgets()
        assert error.value.problem_code == "on_hold"
        assert "Tax audit" not in error.value.detail
    assert records.count(Criteria(), by=ada) == 2
    assert records.forget(free, by=ada)
    legal_holds.release(hold, "audit over", by=world.actor("owner"))
    assert records.forget(row, by=ada)


def test_a_hold_on_another_place_keeps_no_record(world: World) -> None:
    person = make.subject(world)
    row = _record_about(world, person, "Anna keeps bees.")
    placed(world, person, scope="archive")
    assert records.forget(row, by=world.actor("ada"))


def test_compaction_leaves_what_is_held(world: World) -> None:
    person, old = make.subject(world), timezone.now() - timedelta(days=40)
    day = old.replace(hour=1, minute=0, second=0, microsecond=0)
    rows = [
        factories.append(
            world.actor("ada"),
            entry_type="container.metrics",
            summary="cpu " * 100,
            ts=day + timedelta(minutes=n),
        )
        for n in range(14)
    ]
    kit.link(person, "journal", rows[3].id)
    placed(world, person)
    report = compaction.run(world.acme.id)
    assert (report.archived, report.refused) == (13, [])
    kept_entries = JournalEntry.objects.filter(pk__in=[row.id for row in rows])
    assert [row.id for row in kept_entries] == [rows[3].id]
    assert verify.verify(world.acme.id, by=world.actor("owner")).ok
