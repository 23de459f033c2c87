"""A case runs soon after its start, however busy the worker is."""

from __future__ import annotations

import pytest

from crewship_memory import case_runner, stoppable_thread
from crewship_memory.case_runner import CaseRunner
from gdpr.cases import leases
from gdpr.models import Case, CaseState
from tests import waiting
from tests.gdpr import erasing
from tests.world import World


def test_a_case_that_waits_is_carried_out_and_nothing_else_is(
    shared_world: World,
) -> None:
    world = shared_world
    case = erasing.opened(world, erasing.maria(world))
    look = CaseRunner().look
    assert not look()
    erasing.started(world, case)
    assert look()
    assert Case.objects.get(pk=case.pk).state == CaseState.COMPLETE
    assert not look()


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
