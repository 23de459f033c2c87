"""The clock: a slot is worked once, a fault stops nobody, what is stuck shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crewship_memory.celery import app
from crewship_memory.jobs import JOBS
from memory import tasks
from memory.jobs import housekeeping
from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.jobs.registry import Job, Outcome
from memory.journal import append as journal
from memory.journal import compaction
from memory.models import IdempotencyRecord, JobRun, RunState
from memory.rules import errors
from tests import factories, waiting
from tests.world import World

SIX: Any = timedelta(hours=6)


class Diary:
    """Jobs that write down for whom they ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def job(self, name: str, **fields: Any) -> Job:
        def act(home: str) -> Outcome:
            self.ran.append((name, home))
            return Outcome({"rows": 1})

        defaults = {"title": name.title(), "schedule": "now and then", "act": act}
        job = Job(name=name, **{**defaults, **fields})
        jobs.register(job)
        return job


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Diary]:
    """Start with an empty timetable."""
    monkeypatch.setattr(jobs, "_registry", {})
    yield Diary()


def breaks(error: Exception) -> Any:
    def act(_home: str) -> Outcome:
        raise error

    return act


# ── Claims ───────────────────────────────────────────────────────────────────
def test_a_job_runs_once_per_slot_and_workspace(world: World, diary: Diary) -> None:
    diary.job("sums", interval=SIX)
    now = datetime(2030, 1, 1, 7, tzinfo=UTC)
    assert len(jobs.tick(now)) == 2
    assert jobs.tick(now + timedelta(hours=4)) == []
    assert {home for _, home in diary.ran} == {world.acme.id, world.other.id}
    assert len(jobs.tick(now + timedelta(hours=6))) == 2
    run = JobRun.objects.filter(workspace=world.acme).latest("pk")
    assert (run.state, run.counts, run.error) == (RunState.DONE, {"rows": 1}, "")
    assert run.ended_at is not None


def test_two_schedulers_do_the_work_once(shared_world: World, diary: Diary) -> None:
    job = diary.job("sums", night=1, house_wide=True)
    barrier, runs = threading.Barrier(4), list[JobRun]()

    def scheduler() -> None:
        barrier.wait()
        runs.extend(run for run in [jobs.claim(job, "", "one")] if run)
        connections.close_all()

    threads = [threading.Thread(target=scheduler) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert JobRun.objects.count() == 1


def test_a_run_whose_process_died_is_taken_over_once(
    world: World, diary: Diary
) -> None:
    job = diary.job("sums", night=1, house_wide=True)
    dead = jobs.claim(job, "", "one")
    assert dead is not None
    assert jobs.claim(job, "", "one") is None
    JobRun.objects.update(heartbeat_at=timezone.now() - 2 * jobs.STALE)
    run_ = jobs.claim(job, "", "one")
    assert run_ is not None
    assert (run_.pk, run_.claimed_by == dead.claimed_by) == (dead.pk, False)
    assert jobs.claim(job, "", "one") is None
    # The dead one comes back: its end is no longer its own to tell.
    jobs.execute(job, dead)
    assert JobRun.objects.get().state == RunState.RUNNING
    assert jobs.execute(job, run_).state == RunState.DONE


def test_the_heart_beats_while_a_job_runs(
    shared_world: World, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.02)
    long_ago = timezone.now() - timedelta(hours=1)
    heartbeats: list[datetime] = []

    def act(_home: str) -> Outcome:
        JobRun.objects.update(heartbeat_at=long_ago)
        waiting.until(lambda: JobRun.objects.get().heartbeat_at != long_ago)
        heartbeats.append(JobRun.objects.get().heartbeat_at)
        return Outcome()

    job = diary.job("slow", house_wide=True, act=act)
    run = jobs.claim(job, "", "one")
    assert run is not None
    jobs.execute(job, run)
    assert heartbeats[0] > long_ago


# ── Nights ───────────────────────────────────────────────────────────────────
def test_the_night_runs_in_order_and_one_fault_stops_nobody(
    world: World, diary: Diary
) -> None:
    diary.job("retention", night=40, house_wide=True)
    diary.job("health", night=30, house_wide=True)
    secret = RuntimeError("password hunter2 in the message")
    diary.job("decay", night=20, house_wide=True, act=breaks(secret))
    diary.job("compaction", night=10, house_wide=True)
    diary.job("other", interval=SIX)
    now = datetime(2030, 1, 2, 3, 0, tzinfo=UTC)
    assert [run.name for run in jobs.nightly(now)] == [
        "compaction", "decay", "health", "retention",
    ]  # fmt: skip
    assert [name for name, _ in diary.ran] == ["compaction", "health", "retention"]
    failed = JobRun.objects.get(name="decay")
    assert failed.state == RunState.FAILED
    assert "RuntimeError" in failed.error
    assert "hunter2" not in failed.error
    assert jobs.nightly(now + timedelta(hours=23)) == []
    assert len(jobs.nightly(now + timedelta(hours=24))) == 4


def test_no_job_but_the_last_says_that_it_is_the_last_of_the_night() -> None:
    nights = sorted((job.night, job.schedule) for job in JOBS if job.night is not None)
    assert nights[0][1] == "nightly, first"
    assert "nightly, last" not in [schedule for _, schedule in nights[:-1]]


def test_a_missed_night_is_made_up_for(world: World, diary: Diary) -> None:
    diary.job("decay", night=20, house_wide=True)
    late = datetime(2030, 1, 2, 17, 0, tzinfo=UTC)
    assert [run.slot for run in jobs.nightly(late)] == ["house night of 2030-01-02"]
    early = datetime(2030, 1, 3, 2, 59, tzinfo=UTC)
    assert jobs.nightly(early) == []


def test_one_workspace_that_fails_stops_no_other(world: World, diary: Diary) -> None:
    def act(home: str) -> Outcome:
        if home == world.acme.id:
            raise compaction.RowsLost(wanted=3, archived=2, deleted=3)
        return Outcome({"rows": 3})

    diary.job("compaction", night=1, act=act)
    states = {run.workspace_id: run for run in jobs.nightly()}
    assert states[world.other.id].state == RunState.DONE
    state = states[world.acme.id]
    assert state.state == RunState.FAILED
    assert state.error.startswith("Compaction stopped: of 3 rows 2 were archived")


def test_what_was_left_over_makes_it_partly(world: World, diary: Diary) -> None:
    outcome = Outcome({"tried": 3}, "3 could not be read")
    diary.job("sums", interval=SIX, house_wide=True, act=lambda _: outcome)
    (run,) = jobs.tick()
    assert (run.state, run.error) == (RunState.PARTLY, "3 could not be read")


def test_the_last_runs_are_kept(
    world: World, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_RUNS", 3)
    diary.job("sums", interval=SIX)
    for day in range(1, 6):
        jobs.tick(datetime(2030, 1, day, tzinfo=UTC))
    assert JobRun.objects.filter(workspace=world.acme).count() == 3


# ── Sweeps that keep their own time ──────────────────────────────────────────
def test_a_sweep_is_noted_only_when_it_did_something(world: World) -> None:
    jobs.note("index_sweep", lambda: Outcome({"indexed": 0}))
    assert not JobRun.objects.exists()
    jobs.note("index_sweep", lambda: Outcome({"indexed": 2}))
    jobs.note("index_sweep", lambda: Outcome({"indexed": 3}))
    counts = [run.counts["indexed"] for run in JobRun.objects.all()]
    assert sum(counts) == 5
    assert len(counts) <= 2
    with pytest.raises(OSError, match="disk"):
        jobs.note("index_sweep", breaks(OSError("disk")).__get__(""))
    failed = JobRun.objects.get(state=RunState.FAILED)
    assert "disk" not in failed.error


def test_indexing_is_noted(world: World) -> None:
    from episodic import tasks as index_tasks

    world.entry()
    index_tasks.sweep()
    index_tasks.sweep()
    run = JobRun.objects.get(name="index_sweep")
    assert run.counts == {"indexed": 1, "failed": 0}


# ── By hand ──────────────────────────────────────────────────────────────────
def test_an_operator_runs_a_job_now(world: World, diary: Diary) -> None:
    diary.job("sums", night=1)
    run = jobs.run_now("sums", by=world.actor("operator"))
    assert (run.state, run.asked_by) == (RunState.DONE, "operator@acme.example")
    assert diary.ran == [("sums", world.acme.id)]
    with pytest.raises(errors.Forbidden):
        jobs.run_now("sums", by=world.actor("viewer"))
    with pytest.raises(errors.NotFound):
        jobs.run_now("unknown", by=world.actor("operator"))


def test_with_a_worker_it_waits_for_it_and_a_lost_message_costs_a_tick(
    world: World,
    diary: Diary,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    messages: list[Any] = []
    app.conf.crewship_delivers = True
    monkeypatch.setattr(app, "send_task", lambda *a, **k: messages.append((a, k)))
    diary.job("sums", night=1)
    with django_capture_on_commit_callbacks(execute=True):
        run = jobs.run_now("sums", by=world.actor("operator"))
    assert [(a, k["args"]) for a, k in messages] == [(("memory.run_job",), [run.pk])]
    assert (run.state, diary.ran) == (RunState.WAITING, [])
    with pytest.raises(errors.Conflict):
        jobs.run_now("sums", by=world.actor("owner"))
    assert jobs.tick() == []
    assert len(jobs.tick(timezone.now() + jobs.STALE)) == 1
    assert jobs.run_requested(run.pk) == []
    assert len(diary.ran) == 1


def test_long_jobs_take_turns_and_a_short_one_does_not_wait(
    world: World, diary: Diary
) -> None:
    for name in ("scan", "embed"):
        diary.job(name, longest=timedelta(hours=12))
    diary.job("sums")
    JobRun.objects.create(name="scan", slot="one", workspace=world.other)
    by = world.actor("operator")
    run = jobs.run_now("embed", by=by)
    assert run.state == RunState.WAITING
    assert jobs.run_now("sums", by=by).state == RunState.DONE
    # The scheduler looks at it again and again, so it is not stuck.
    old = timezone.now() - timedelta(hours=1)
    JobRun.objects.filter(pk=run.pk).update(started_at=old, heartbeat_at=old)
    assert job_status.run_of(by, "embed", run.pk).stuck == "no worker has taken it"
    assert jobs.tick() == []
    assert job_status.run_of(by, "embed", run.pk).stuck == ""
    JobRun.objects.filter(name="scan").update(heartbeat_at=old)
    assert [row.state for row in jobs.tick()] == [RunState.DONE]


# ── The board ────────────────────────────────────────────────────────────────
def test_what_is_stuck_shows_with_its_reason(world: World, diary: Diary) -> None:
    job = diary.job("sums", night=1)
    jobs.claim(job, world.acme.id, "one")
    operator = world.actor("operator")
    assert job_status.overview(operator).stuck == []
    now = timezone.now()
    JobRun.objects.update(heartbeat_at=now - timedelta(minutes=3))
    (line,) = job_status.overview(operator).stuck
    assert line.last is not None
    assert line.last.stuck == "its process gives no sign of life"
    assert job_status.overview(operator).finding == "Sums is stuck"
    JobRun.objects.update(heartbeat_at=now, started_at=now - timedelta(hours=2))
    (line,) = job_status.overview(operator).stuck
    assert line.last is not None
    assert "longer" in line.last.stuck
    assert job_status.overview(world.actor("stranger")).stuck == []


def test_a_tenant_reads_no_other_tenants_counts(world: World, diary: Diary) -> None:
    diary.job("house", interval=SIX, house_wide=True)
    diary.job("shop", interval=SIX)
    jobs.tick()
    lines = {
        x.job.name: x.last for x in job_status.overview(world.actor("operator")).lines
    }
    house, shop = lines["house"], lines["shop"]
    assert house is not None
    assert shop is not None
    assert (house.summary, house.counts) == ("", {})
    assert (shop.summary, shop.run.workspace_id) == ("1 rows", world.acme.id)


def test_the_board_asks_a_fixed_number_of_questions(world: World, diary: Diary) -> None:
    def query_count() -> int:
        with CaptureQueriesContext(connection) as captured:
            job_status.overview(operator)
        return len(captured)

    operator = world.actor("operator")
    diary.job("one", interval=SIX)
    jobs.tick()
    first_count = query_count()
    for number in range(8):
        diary.job(f"more{number}", interval=SIX)
    jobs.tick()
    assert query_count() == first_count <= 3


# ── The real timetable ───────────────────────────────────────────────────────
def test_the_nightly_order_is_the_ruled_one(world: World) -> None:
    order = [job.name for job in jobs.registered() if job.night is not None]
    job_names = ["compaction", "decay", "health", "retention", "word_index"]
    assert [name for name in order if name in job_names] == [
        name for name in job_names if name in order
    ]
    assert {"compaction", "decay", "retention"} <= set(order)
    names = {job.name for job in jobs.registered()}
    assert {"index_sweep", "files_sweep", "idempotency"} <= names


def test_the_real_night_runs_through(world: World) -> None:
    world.indexed()
    tasks.nightly()
    tasks.tick()
    states = set(JobRun.objects.values_list("state", flat=True))
    assert states == {RunState.DONE}


def test_a_fence_makes_compaction_partly(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = compaction.Report(refused=["2030-01-01 llm.call left as it is, j_1: …"])
    monkeypatch.setattr(compaction, "run", lambda _home: report)
    run = jobs.run_now("compaction", by=world.actor("operator"))
    assert run.state == RunState.PARTLY
    assert "A fence held" in run.error


def test_old_answers_are_forgotten(world: World) -> None:
    ada = world.actor("ada")
    for name in ("old", "new"):
        journal.once(name, {}, lambda: {"id": 1}, by=ada)
    old = IdempotencyRecord.objects.order_by("pk")[0]
    IdempotencyRecord.objects.filter(pk=old.pk).update(created_at=factories.ago(1.1))
    assert housekeeping.delete_old_idempotency_records() == 1
    assert IdempotencyRecord.objects.count() == 1


def test_the_word_index_is_tidied_and_still_finds(world: World) -> None:
    for n in range(30):
        world.entry(f"zebrafish {n}")
    housekeeping.merge_word_indexes()
    from memory.journal import queries
    from memory.journal.queries import JournalFilter

    rows = queries.filtered(world.system(), JournalFilter(q="zebrafish"))
    assert rows.count() == 30
