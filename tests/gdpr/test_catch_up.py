"""Starts and sweeps repeat the erasures that a restored database lacks."""

from __future__ import annotations

import signal

import pytest
from django.conf import settings

from crewship_memory.case_runner import CaseRunner
from gdpr import suppression, tasks
from gdpr.erasure import catch_up, failpoints, readiness, replay, tombstones
from gdpr.erasure.replay import Replayed
from gdpr.erasure.tombstones import Record
from gdpr.matching.matcher import Name
from gdpr.models import ActionStatus, ErasureMark, GdprAction
from gdpr.verification import search as final_search
from memory.installation import identity as installation
from memory.models import JournalEntry
from memory.ports import serving
from memory.rules import errors
from tests import processes
from tests.gdpr.erasing import MAIL, NAME
from tests.waiting import LIMIT_SECONDS
from tests.world import World


def announced(world: World, *row_ids: str, case: str = "c_1") -> None:
    """Announce an erasure of Maria of which this database knows nothing."""
    home = world.acme.id
    names = [Name("", "email", MAIL), Name("", "name", NAME)]
    tombstones.announce(
        Record(
            workspace_id=home,
            case_id=case,
            subject_id="sub_1",
            run=1,
            at=tombstones.now(),
            aliases=tuple(suppression.digests_of(home, names)),
            rows={"journal": [[row_id, "delete"] for row_id in row_ids]},
        )
    )
    readiness.forget()


def _is_erased(row: JournalEntry) -> bool:
    row.refresh_from_db()
    return row.erased_at is not None


def _starts(moment: str = "none") -> tuple[int, str]:
    """Start another process; return how it ended and what it said."""
    child = processes.start("tests.gdpr.restorer", str(settings.DATA_DIR), moment)
    reading, _ = child.communicate(timeout=LIMIT_SECONDS)
    return child.returncode or 0, str(reading)


@pytest.mark.slow
@pytest.mark.parametrize("moment", failpoints.REPLAY)
def test_killed_in_the_middle_it_is_not_served_and_the_next_start_goes_on(
    shared_world: World, moment: str
) -> None:
    world = shared_world
    row = world.entry(f"From {MAIL}")
    announced(world, row.id)
    assert _starts(moment)[0] == -signal.SIGKILL, "the moment never came"
    readiness.forget()
    is_noted = moment == "replay_noted"
    assert (readiness.refusal(world.acme.id) is None) is is_noted
    if not is_noted:
        with pytest.raises(errors.Unavailable):
            serving.require(world.acme.id)
    code, reading = _starts()
    assert code == 0
    assert ("1 people, " in reading) is not is_noted
    readiness.forget()
    assert readiness.refusal(world.acme.id) is None
    assert _is_erased(row)
    assert GdprAction.objects.filter(case_ref="c_1").count() == 1
    assert JournalEntry.objects.filter(entry_type="gdpr.replayed").count() == 1


@pytest.mark.slow
def test_a_start_says_how_many_people_and_rows(shared_world: World) -> None:
    row = shared_world.entry(f"From {MAIL}")
    announced(shared_world, row.id)
    lines: list[str] = []
    catch_up.at_start(lines.append)
    announcement, result = lines
    assert announcement == "Erasures after a restore: 1 are carried out again"
    assert result.endswith("1 people, 1 rows erased, 0 masked.")
    lines.clear()
    catch_up.at_start(lines.append)
    assert lines == []
    assert ErasureMark.objects.get(pk=shared_world.acme.id).end


@pytest.mark.slow
@pytest.mark.parametrize("sweep", [tasks.sweep, lambda: CaseRunner().look()])
def test_a_running_worker_does_it_too(shared_world: World, sweep: object) -> None:
    row = shared_world.entry(f"From {MAIL}")
    announced(shared_world, row.id)
    sweep()  # type: ignore[operator]
    assert _is_erased(row)
    assert readiness.refusal(shared_world.acme.id) is None


@pytest.mark.slow
def test_her_names_are_refused_before_anything_is_erased(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    announced(world)
    refusals: list[str] = []

    def write(name: str) -> None:
        if name == "replay_suppressed":
            with pytest.raises(errors.Conflict):
                world.entry(f"From {MAIL} again")
            refusals.append(name)

    monkeypatch.setattr(failpoints, "step", write)
    replay.run()
    assert refusals == ["replay_suppressed"]


# ── Something is left ────────────────────────────────────────────────────────
@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search find something after every replay."""

    def search(*args: object) -> None:
        from gdpr.data_map.base import Trace
        from gdpr.verification.report import Report

        report = args[-1]
        assert isinstance(report, Report)
        report.traces.append(Trace("journal", "j_9", "still there"))

    monkeypatch.setattr(final_search, "run", search)


@pytest.mark.slow
def test_while_something_is_left_the_workspace_stays_closed(
    shared_world: World, stubborn: None
) -> None:
    world = shared_world
    announced(world)
    lines: list[str] = []
    catch_up.at_start(lines.append)
    assert "Something is left of 1" in lines[1]
    assert lines[2] == "c_1: journal j_9: still there"
    readiness.forget()
    assert readiness.refusal(world.acme.id) is not None
    assert readiness.refusal(world.other.id) is None
    # A sweep does not do the same work over and over; the next start does.
    assert catch_up.sweep() is False
    catch_up._left.clear()
    assert catch_up.sweep() is True
    by_hand = catch_up.by_hand(lambda _line: None, accept=True)
    assert [replayed.remaining for replayed in by_hand] == [
        ["journal j_9: still there"]
    ]
    readiness.forget()
    assert readiness.refusal(world.acme.id) is None
    statuses = GdprAction.objects.filter(case_ref="c_1").values_list("status", "scope")
    assert {status for status, _ in statuses} == {ActionStatus.PARTIAL}
    assert sum("run" in scope for _, scope in statuses) == 1


def test_a_fault_rests_before_the_next_try(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced(world)
    tries: list[int] = []

    def fails(**_: object) -> list[Replayed]:
        tries.append(1)
        raise OSError("no disk")

    monkeypatch.setattr(replay, "run", fails)
    monkeypatch.setattr(catch_up, "_rests_until", 0.0)
    assert catch_up.sweep() is True
    assert catch_up.sweep() is False
    assert len(tries) == 1
    assert readiness.refusal(world.acme.id) is not None


def test_where_another_process_replays_a_sweep_does_not_wait(world: World) -> None:
    announced(world)
    with catch_up.locked(0):
        assert catch_up.sweep() is False
    assert replay.state()["behind"] == 1


def test_nothing_is_done_with_foreign_keys(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced(world)
    monkeypatch.setattr(installation, "problem", lambda: "foreign")
    lines: list[str] = []
    catch_up.at_start(lines.append)
    assert (lines, catch_up.sweep()) == ([], False)
