"""A complete run, from plan to certificate, without remaining matches."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr import erasure
from gdpr.cases import dry_run, legal_holds, sealed_names
from gdpr.cases import workflow as cases
from gdpr.data_map import registry
from gdpr.erasure import execute, failpoints, finish, tombstones
from gdpr.models import (
    ActionStatus,
    Alias,
    CaseState,
    Certificate,
    GdprAction,
    Subject,
    SubjectLink,
)
from memory.journal import append as journal
from memory.journal import verify
from memory.models import JournalEntry
from tests.gdpr import erasing, kit
from tests.gdpr.erasing import MAIL, NAME, OTHER, WORD
from tests.world import World

pytestmark = pytest.mark.slow
journal_holder = registry.by_name("journal")


def test_a_run_leaves_nothing_and_says_so(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.maria(world)
    erasing.otto(world)
    case = erasing.erased(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    own_entry, shared_entry, other = (
        JournalEntry.objects.get(pk=rows[name].pk) for name in ("mine", "both", "other")
    )
    assert own_entry.erased_at is not None
    assert (own_entry.summary, own_entry.payload_text) == ("", "{}")
    assert shared_entry.redacted_at is not None
    assert OTHER in shared_entry.summary
    assert NAME not in shared_entry.summary
    assert OTHER in other.summary
    assert verify.verify(world.acme.id, by=world.system()).ok


def test_a_subject_has_no_name_after_an_erasure(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    case = erasing.erased(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    remaining = Subject.objects.get(pk=subject.pk)
    assert (remaining.display_name, remaining.aliases.count()) == ("", 0)
    assert remaining.erased_at is not None
    assert remaining.opted_out_at is not None
    assert not SubjectLink.objects.filter(subject=remaining).exists()
    assert sealed_names.get(case) is None
    for text in (MAIL, NAME, WORD):
        assert text not in str(case.__dict__)
        assert text not in str([plan.body for plan in case.plans.all()])
        for entry in JournalEntry.objects.filter(workspace=world.acme):
            assert text not in entry.summary + entry.payload_text


def test_the_certificate_counts_and_names_nobody(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.erased(world, erasing.maria(world))
    certificate = Certificate.objects.get(case=case)
    assert certificate.result == "complete", erasing.failure_text(case)
    assert MAIL not in certificate.document
    assert WORD not in certificate.document
    action = GdprAction.objects.get(case_ref=case.pk)
    assert action.status == ActionStatus.COMPLETED
    assert action.scope["certificate"] == certificate.pk
    entries = JournalEntry.objects.filter(entry_type="gdpr.erased")
    assert entries.count() == 1
    assert entries.get().payload["case_id"] == case.pk


def test_a_second_run_after_the_end_has_nothing_to_do(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.erased(world, erasing.maria(world))
    assert not erasure.run(case.workspace_id, case.pk)
    assert erasure.sweep() == {"run": 0, "failed": 0}


def test_a_plan_that_no_longer_fits_is_refused(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.opened(world, erasing.maria(world))
    by = world.actor("compliance")
    plan = dry_run.make(case, by=by)
    world.entry(f"{MAIL} wrote once more")
    case.refresh_from_db()
    phrase = cases.phrase(case, plan.plan_hash)
    with pytest.raises(dry_run.StalePlan) as error:
        erasure.start(case, plan.plan_hash, phrase, by=by)
    assert error.value.problem_code == "stale_plan"
    changes: Any = error.value.fields["changed"]
    assert changes["journal"] == {"came": 1, "went": 0, "changed": 0}
    case.refresh_from_db()
    assert case.state == CaseState.PLANNED


def test_what_comes_between_the_start_and_the_run_goes_too(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    late = world.entry(f"A late word about {NAME}")
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    late.refresh_from_db()
    assert late.erased_at is not None
    assert case.steps.get(name="journal").counts["late"] == 1


def test_a_hold_on_one_place_keeps_it_and_the_rest_goes(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.maria(world)
    case = erasing.started(world, erasing.opened(world, subject))
    by = world.actor("compliance")
    new = legal_holds.NewHold(
        reason="A court asked",
        review_at=timezone.now() + timedelta(days=30),
        scope="journal",
    )
    hold = legal_holds.place(subject, new, by=by, places=frozenset({"journal"}))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.ON_HOLD, erasing.failure_text(case)
    entry = JournalEntry.objects.get(pk=rows["mine"].pk)
    assert entry.erased_at is None
    assert case.steps.get(name="files").state == "done"
    assert Alias.objects.filter(subject=subject).exists(), "who is still to be found"
    legal_holds.release(hold, "Settled", by=by)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)


@pytest.mark.sqlite
def test_a_reader_that_blocks_the_checkpoint_makes_the_result_partial(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    from django.db import connection

    from gdpr.verification import sqlite

    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    case = erasing.started(world, erasing.opened(world, subject))
    monkeypatch.setattr(sqlite, "TRIES", 2)
    monkeypatch.setattr(sqlite, "WAIT", 0.01)
    reader = sqlite3.connect(
        str(connection.settings_dict["NAME"]), isolation_level=None
    )
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM journal_entries").fetchone()
    erasure.run(case.workspace_id, case.pk)
    reader.close()
    case.refresh_from_db()
    assert case.state == CaseState.PARTIAL, erasing.failure_text(case)
    assert case.result["residue"]["todo"]
    assert Alias.objects.filter(subject=subject).count() == 2, "names are given back"
    second_run = erasing.started(world, case)
    erasure.run(second_run.workspace_id, second_run.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    last = Certificate.objects.filter(case=case).latest("issued_at")
    assert (last.run, last.result) == (2, "complete")
    assert last.replaces is not None


def test_of_two_runners_one_wins(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    from gdpr.cases import leases

    assert leases.claim(case.workspace_id, case.pk, "somebody") is not None
    assert not erasure.run(case.workspace_id, case.pk)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every batch one row."""
    for name in ("BATCH", "MIN_BATCH", "MAX_BATCH"):
        monkeypatch.setattr(execute, name, 1)


def _hold_after(
    world: World, subject: Subject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Place a hold on the journal right after a failpoint of the run."""
    new = legal_holds.NewHold(
        reason="A court asked",
        review_at=timezone.now() + timedelta(days=30),
        scope="journal",
    )
    by, holds = world.actor("compliance"), iter([new])

    def step(passed: str) -> None:
        if passed == name:
            for hold in holds:
                legal_holds.place(subject, hold, by=by, places=frozenset({"journal"}))

    monkeypatch.setattr(failpoints, "step", step)


def _remaining(rows: list[JournalEntry]) -> int:
    naming = JournalEntry.objects.filter(pk__in=[row.pk for row in rows])
    return naming.filter(erased_at=None).count()


@pytest.mark.usefixtures("one_by_one")
def test_a_hold_placed_while_a_place_is_erased_stops_before_the_next_batch(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, subject = shared_world, erasing.maria(shared_world)
    rows = [world.entry(f"Letter {n} of {NAME}") for n in range(4)]
    case = erasing.started(world, erasing.opened(world, subject))
    _hold_after(world, subject, "batch_counted", monkeypatch)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.ON_HOLD, erasing.failure_text(case)
    assert _remaining(rows) == 3


@pytest.mark.usefixtures("one_by_one")
def test_a_hold_placed_while_late_rows_are_erased_stops_before_the_next_batch(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, subject = shared_world, erasing.maria(shared_world)
    world.entry(f"A letter of {NAME}")
    case = erasing.started(world, erasing.opened(world, subject))
    rows = [world.entry(f"Late letter {n} of {NAME}") for n in range(4)]
    erase, counts = journal_holder.erase, iter(range(4))
    by = world.actor("compliance")
    new = legal_holds.NewHold(
        reason="A court asked",
        review_at=timezone.now() + timedelta(days=30),
        scope="journal",
    )

    def held_after_two(person: Any, row_ids: Any) -> None:
        erase(person, row_ids)
        if next(counts) == 1:
            legal_holds.place(subject, new, by=by, places=frozenset({"journal"}))

    monkeypatch.setattr(journal_holder, "erase", held_after_two)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.ON_HOLD, erasing.failure_text(case)
    assert _remaining(rows) == 3


def test_rows_that_came_late_are_announced_before_they_go(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    late = world.entry(f"A late word about {NAME}")
    erase, announced = journal_holder.erase, list[bool]()

    def watched(person: Any, row_ids: Any) -> None:
        if late.pk in row_ids:
            lines = tombstones.read(world.acme.id)
            rows = [row for line in lines for row in line.rows.get("journal", ())]
            announced.append([late.pk, "delete"] in [list(row) for row in rows])
        erase(person, row_ids)

    monkeypatch.setattr(journal_holder, "erase", watched)
    erasure.run(case.workspace_id, case.pk)
    assert announced == [True]


def test_links_of_others_and_the_day_of_an_opting_out_stay(
    shared_world: World,
) -> None:
    world, earlier = shared_world, timezone.now() - timedelta(days=9)
    rows = erasing.lived_in(world)
    subject, otto = erasing.maria(world), erasing.otto(world)
    Subject.objects.filter(pk=subject.pk).update(opted_out_at=earlier)
    for person in (subject, otto):
        kit.link(person, "journal", rows["both"].pk)
    case = erasing.erased(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    links = SubjectLink.objects.filter(place="journal", row_id=rows["both"].pk)
    assert [link.subject_id for link in links] == [otto.pk]
    subject.refresh_from_db()
    otto.refresh_from_db()
    assert subject.opted_out_at == earlier
    assert (otto.opted_out_at, otto.erased_at) == (None, None)
    assert otto.aliases.count() == 1


def test_the_audit_log_and_the_file_say_who_set_what_running(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.erased(world, erasing.maria(world))
    officer, plan = world.actor("compliance"), case.plans.get()
    action = GdprAction.objects.get(case_ref=case.pk)
    assert (action.actor_id, action.actor_label) == (officer.id, officer.label)
    assert action.subject_ref == case.subject_ref
    assert (action.scope["run"], action.scope["plan_hash"]) == (1, plan.plan_hash)
    (record,) = tombstones.read(world.acme.id)
    assert (record.case_id, record.run) == (case.pk, 1)
    assert record.subject_id == case.subject_ref
    assert record.rows == plan.rows
    assert {alias.kind for alias in record.aliases} == {"email", "name"}
    document = json.loads(Certificate.objects.get(case=case).document)["content"]
    assert document["ledger_action"] == action.pk
    assert (document["started_at"], document["plan_hash"]) == (
        journal.stamp(action.initiated_at),
        plan.plan_hash,
    )
    head = document["journal"]
    assert head["ok"] is True
    assert head["erased"] == JournalEntry.objects.exclude(erased_at=None).count()


def test_without_the_sealed_names_nothing_is_called_complete(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))

    def step(name: str) -> None:
        if name == "cleaned":
            sealed_names.drop_names(case)

    monkeypatch.setattr(failpoints, "step", step)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.PARTIAL, erasing.failure_text(case)
    assert finish.NAMELESS in case.result["residue"]["todo"]
    assert Certificate.objects.get(case=case).result == "partial"
    assert GdprAction.objects.get(case_ref=case.pk).status == ActionStatus.PARTIAL
