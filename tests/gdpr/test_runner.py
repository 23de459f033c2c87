"""A case runs soon after its start, however busy the worker is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.core.cache import cache
from django.utils import timezone

from crewship_memory import case_runner, stoppable_thread
from crewship_memory.case_runner import CaseRunner
from gdpr import erasure
from gdpr.cases import identity, leases, sealed_names
from gdpr.data_map import registry
from gdpr.erasure import execute, failpoints, runner
from gdpr.export import storage
from gdpr.models import (
    Case,
    CaseEvent,
    CaseKind,
    CaseState,
    Export,
    ExportState,
)
from memory.jobs import dispatch
from memory.models import JournalEntry
from memory.rules import errors
from tests import waiting
from tests.gdpr import erasing
from tests.gdpr import requests as make
from tests.gdpr.erasing import NAME
from tests.world import World


def test_a_case_that_waits_is_carried_out_and_nothing_else_is(
    shared_world: World,
) -> None:
    world = shared_world
    case = erasing.opened(world, erasing.maria(world))
    look = CaseRunner().look
    assert not look()
    erasing.started(world, case)
    cache.set("a-recent-question", NAME)
    assert look()
    assert cache.get("a-recent-question") is None
    assert Case.objects.get(pk=case.pk).state == CaseState.COMPLETE
    assert not look()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every batch one row."""
    for name in ("BATCH", "MIN_BATCH", "MAX_BATCH"):
        monkeypatch.setattr(execute, name, 1)


def _with_letters(world: World) -> tuple[Case, list[JournalEntry]]:
    """Set a case running about somebody with three entries."""
    subject = erasing.maria(world)
    rows = [world.entry(f"Letter {number} of {NAME}") for number in range(3)]
    return erasing.started(world, erasing.opened(world, subject)), rows


def _erased(rows: list[JournalEntry]) -> int:
    ids = [row.pk for row in rows]
    return JournalEntry.objects.filter(pk__in=ids).exclude(erased_at=None).count()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(f"No room for {NAME}"), "OSError; see the server's log"),
        (errors.Unavailable(reason="the disk is full"), "the disk is full"),
    ],
)
def test_a_fault_is_told_without_a_name_and_mended_by_the_next_try(
    shared_world: World,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    message: str,
) -> None:
    world = shared_world
    case, rows = _with_letters(world)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(registry.by_name("journal"), "erase", fail)
        assert erasure.sweep() == {"run": 0, "failed": 1}
    case.refresh_from_db()
    step = case.steps.get(name="journal")
    assert (case.state, case.claimed_by, step.state) == ("running", "", "failed")
    assert message in step.fault
    assert not case.steps.filter(state="running").exists()
    (entry,) = make.entries(world, "gdpr.case_trouble")
    (event,) = CaseEvent.objects.filter(case=case, kind="alarm")
    assert event.text == step.fault
    assert NAME not in f"{step.fault} {entry.summary} {entry.payload_text}"
    # It is left alone for a while, and then tried again.
    assert case.lease_until is not None
    rest = case.lease_until - timezone.now()
    assert runner.REST / 2 < rest <= runner.REST
    assert erasure.sweep() == {"run": 0, "failed": 0}
    Case.objects.update(lease_until=timezone.now())
    assert erasure.sweep() == {"run": 1, "failed": 0}
    assert Case.objects.get(pk=case.pk).state == CaseState.COMPLETE
    assert _erased(rows) == 3


@pytest.mark.usefixtures("one_by_one")
def test_a_runner_that_lost_its_case_erases_nothing_more_and_blames_nobody(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    case, rows = _with_letters(world)

    def step(name: str) -> None:
        if name == "batch_counted":
            until = timezone.now() + timedelta(hours=1)
            Case.objects.update(claimed_by="another", lease_until=until)

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "step", step)
        assert erasure.sweep() == {"run": 0, "failed": 0}
    case.refresh_from_db()
    assert (case.state, case.claimed_by) == ("running", "another")
    assert _erased(rows) == 1
    assert make.entries(world, "gdpr.case_trouble") == []
    assert not case.steps.filter(state="failed").exists()
    # The other one goes on where this one stopped, and knows what to search for.
    assert sealed_names.words(case).strings
    Case.objects.update(lease_until=timezone.now())
    assert erasure.run(case.workspace_id, case.pk) is True
    assert _erased(rows) == 3
    step_row = case.steps.get(name="journal")
    assert (step_row.done, step_row.counts["deleted"]) == (3, 3)


def _run_of_kind(world: World, kind: CaseKind) -> Case:
    """Carry out a case of a kind about somebody with an entry."""
    world.entry(f"Letter of {NAME}")
    case = erasing.opened(world, erasing.maria(world), kind)
    identity.verify(case, "Passport", by=world.actor("compliance"))
    erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    return Case.objects.get(pk=case.pk)


def test_an_access_case_ends_with_its_bundle(shared_world: World) -> None:
    case = _run_of_kind(shared_world, CaseKind.ACCESS)
    bundle = Export.objects.get(case=case)
    assert (case.state, bundle.state) == ("complete", ExportState.READY)
    assert case.result == {"export": bundle.pk, "counts": bundle.counts}
    (step,) = case.steps.all()
    assert (step.name, step.state, step.done, step.total) == ("export", "done", 1, 1)


def test_an_access_case_without_its_bundle_is_not_complete(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(NAME)

    monkeypatch.setattr(storage, "store", fail)
    case = _run_of_kind(shared_world, CaseKind.ACCESS)
    bundle = Export.objects.get(case=case)
    assert (case.state, bundle.state) == ("partial", ExportState.FAILED)
    assert case.result == {"export": bundle.pk, "error": bundle.error}
    (step,) = case.steps.all()
    assert (step.state, step.fault) == ("failed", bundle.error)
    assert NAME not in bundle.error


def test_a_restriction_case_takes_the_entries_out_of_recall(
    shared_world: World,
) -> None:
    case = _run_of_kind(shared_world, CaseKind.RESTRICTION)
    assert (case.state, case.result) == ("complete", {})
    (step,) = case.steps.all()
    assert (step.name, step.state, step.done, step.total) == (
        "restriction",
        "done",
        1,
        1,
    )
    rows = JournalEntry.objects.filter(summary=f"Letter of {NAME}")
    assert rows.get().restricted_at is not None


@pytest.mark.parametrize("delivers", [True, False])
def test_the_worker_is_told_at_once_where_there_is_one(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
    delivers: bool,
) -> None:
    sent_mails: list[str] = []
    monkeypatch.setattr(dispatch, "send", sent_mails.append)
    monkeypatch.setitem(current_app.conf, "crewship_delivers", delivers)
    with django_capture_on_commit_callbacks(execute=True):
        erasing.started(world, erasing.opened(world, erasing.maria(world)))
    assert sent_mails.count("gdpr.sweep") == int(delivers)


def test_the_thread_goes_on_after_a_fault_and_ends_when_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise OSError

    monkeypatch.setattr(case_runner, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(stoppable_thread, "STOP_SECONDS", waiting.LIMIT_SECONDS)
    monkeypatch.setattr(leases, "due", fail)
    thread = CaseRunner()
    thread.start()
    waiting.until(lambda: len(calls) >= 2)
    assert thread.stop()
