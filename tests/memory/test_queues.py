"""Queues: each task has one, none takes another's threads, long work goes in parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from celery import current_app
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone
from kombu.exceptions import OperationalError

from crewship_memory import doctor, healthz
from crewship_memory.celery import app
from crewship_memory.clock import Clock
from crewship_memory.jobs import JOBS
from memory import tasks
from memory.jobs import backlogs, claims, dispatch, pulses, queues, time_box
from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.jobs.backlogs import Backlog
from memory.jobs.queues import one_at_a_time
from memory.jobs.registry import Job, Outcome
from memory.measurements import recorded
from memory.models import JobRun, RunState, WorkerProcess, Workspace
from memory.rules import errors
from tests.world import World

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _lasting_process() -> Iterator[None]:
    """Let no test leave a process that ends."""
    yield
    time_box.ending.clear()


@pytest.fixture
def own_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with an empty table of jobs."""
    monkeypatch.setattr(jobs, "_registry", {})


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is sent to workers, which are there; a part of a run is one batch."""
    outbox: list[Any] = []
    app.conf.crewship_delivers = True
    monkeypatch.setattr(app, "send_task", lambda *a, **k: outbox.append((a[0], k)))
    monkeypatch.setattr(time_box, "JOB_SECONDS", 0.0)
    monkeypatch.setattr(time_box, "SWEEP_SECONDS", 0.0)
    return outbox


def batches(name: str, diary: list[str], count: int, **fields: Any) -> Job:
    """Register a job of so many batches, which goes on where it stopped."""
    remaining = [count]

    def act(_home: str) -> Outcome:
        rows = 0
        while remaining[0]:
            remaining[0] -= 1
            rows += 1
            diary.append(name)
            if time_box.is_over():
                break
        return Outcome({"rows": rows})

    job = Job(name, name.title(), "now and then", act, house_wide=True, **fields)
    jobs.register(job)
    return job


# ── The table ────────────────────────────────────────────────────────────────
def test_every_task_and_job_has_a_queue() -> None:
    task_names = {name for name in current_app.tasks if not name.startswith("celery.")}
    assert task_names == set(queues.ROUTES)
    assert {*queues.ROUTES.values(), *(job.runs_in for job in JOBS)} == set(queues.ALL)
    mail = {job.name for job in JOBS if job.runs_in == queues.MAIL}
    assert mail == {"webhooks", "gdpr_recipients", "gdpr_digest"}
    long_jobs = {job.runs_in for job in JOBS if job.longest > HOUR}
    assert long_jobs == {queues.BATCH}


def test_the_clock_ticks_for_every_queue() -> None:
    ticks = [e for e in app.conf.beat_schedule.values() if e["task"] == "memory.tick"]
    assert sorted(e["options"]["queue"] for e in ticks) == sorted(queues.ALL)
    assert all(e["args"] == [e["options"]["queue"]] for e in ticks)


def test_a_tick_runs_the_jobs_of_its_queue_alone(world: World, own_jobs: None) -> None:
    diary: list[str] = []
    batches("letters", diary, 1, interval=HOUR, queue=queues.MAIL)
    batches("sums", diary, 1, interval=HOUR)
    tasks.tick(queues.MAIL)
    assert diary == ["letters"]
    tasks.tick(queues.CLOCK)
    assert diary == ["letters", "sums"]


def test_a_class_of_work_has_one_thread_and_another_has_its_own() -> None:
    diary: list[str] = []
    is_working, may_end = threading.Event(), threading.Event()

    @one_at_a_time("work", by=lambda name: name)
    def work(name: str) -> None:
        diary.append(name)
        is_working.set()
        may_end.wait()

    thread = threading.Thread(target=work, args=("long",))
    thread.start()
    is_working.wait()
    work("long")
    may_end.set()
    work("short")
    thread.join()
    work("long")
    assert diary == ["long", "short", "long"]


# ── Parts ────────────────────────────────────────────────────────────────────
def test_a_run_goes_on_where_a_part_of_it_ended(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    diary: list[str] = []
    job = batches("sums", diary, 3)
    run = jobs.claim(job, "", "one")
    assert run is not None
    part = jobs.execute(job, run)
    assert (part.state, part.claimed_by, part.counts) == (
        RunState.RUNNING, claims.CUT, {"rows": 1},
    )  # fmt: skip
    assert jobs.run_requested(run.pk)[0].state == RunState.RUNNING
    # Nobody has it between two parts, and only one takes it.
    assert jobs.claim(job, "", "one") is not None
    assert jobs.claim(job, "", "one") is None
    JobRun.objects.update(claimed_by=claims.CUT)
    (last, *_) = jobs.run_requested(run.pk)
    while last.ended_at is None:
        (last,) = jobs.run_requested(run.pk)
    assert (last.state, last.counts) == (RunState.DONE, {"rows": 3})
    assert last.started_at == part.started_at
    assert diary == ["sums"] * 3


def test_a_run_is_measured_once_at_its_end_by_who_has_it(
    world: World, own_jobs: None, messages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[tuple[str, str]] = []
    monkeypatch.setattr(
        recorded, "job_ended", lambda name, state, *_: ends.append((name, state))
    )
    run = jobs.claim(batches("sums", [], 2), "", "one")
    assert run is not None
    while run.ended_at is None:
        assert ends == []
        run = jobs.execute(jobs.get("sums"), run) if run.counts == {} else (
            jobs.run_requested(run.pk)[0]
        )  # fmt: skip
    assert ends == [("sums", "done")]
    slow = jobs.claim(batches("slow", [], 0), "", "one")
    assert slow is not None
    JobRun.objects.filter(pk=slow.pk).update(claimed_by="another")
    assert jobs.execute(jobs.get("slow"), slow).ended_at is None
    assert ends == [("sums", "done")]


def test_a_run_between_two_parts_is_neither_stuck_nor_free_to_start_again(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    batches("sums", [], 2)
    by = world.actor("owner")
    run = jobs.run_now("sums", by=by)
    jobs.run_requested(run.pk)
    for age, word in ((2 * jobs.STALE, "Running"), (2 * claims.TURN, "Stuck")):
        JobRun.objects.update(heartbeat_at=timezone.now() - age)
        assert job_status.run_of(by, "sums", run.pk).word == word
        assert claims.silent(timezone.now(), jobs.STALE).exists() == (word == "Stuck")
        with pytest.raises(errors.Conflict):
            jobs.run_now("sums", by=by)
    # One that somebody has shows a sign of life, or is dead.
    JobRun.objects.update(
        claimed_by="another", heartbeat_at=timezone.now() - 2 * jobs.STALE
    )
    assert claims.silent(timezone.now(), jobs.STALE).exists()


def test_two_long_runs_take_turns(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    diary: list[str] = []
    for name in ("scan", "embed"):
        batches(name, diary, 3, longest=12 * HOUR)
        jobs.run_now(name, by=world.actor("owner"))
    first = JobRun.objects.earliest("pk")
    tasks.run_job(first.pk)
    assert diary == ["scan", "embed"] * 3
    assert set(JobRun.objects.values_list("state", flat=True)) == {RunState.DONE}


def test_a_part_whose_message_was_lost_is_found_by_a_tick(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    diary: list[str] = []
    batches("sums", diary, 2, interval=HOUR, queue=queues.MAIL)
    tasks.tick(queues.MAIL)
    run = JobRun.objects.get()
    ((task, fields),) = messages
    assert (task, fields["args"], fields["queue"]) == (
        "memory.run_job", [run.pk], queues.MAIL,
    )  # fmt: skip
    JobRun.objects.update(heartbeat_at=timezone.now() - jobs.STALE)
    assert jobs.tick(queue=queues.CLOCK) == []
    assert len(jobs.tick(queue=queues.MAIL)) == 1
    assert diary == ["sums"] * 2


def test_the_night_keeps_its_order_while_a_job_is_not_done(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    diary: list[str] = []
    batches("compaction", diary, 2, night=10)
    batches("decay", diary, 1, night=20)
    tasks.nightly()
    assert (diary, [task for task, _ in messages]) == (
        ["compaction"], ["memory.nightly"],
    )  # fmt: skip
    # Another process has it now: the chain waits for that one.
    JobRun.objects.update(claimed_by="another", heartbeat_at=timezone.now())
    tasks.nightly()
    assert diary == ["compaction"]
    JobRun.objects.update(claimed_by=claims.CUT)
    for _ in range(4):
        tasks.nightly()
    assert diary == ["compaction", "compaction", "decay"]


def test_a_chain_longer_than_a_day_goes_on_before_the_next(
    world: World, own_jobs: None, messages: list[Any]
) -> None:
    diary: list[str] = []
    batches("compaction", diary, 2, night=10)
    batches("decay", diary, 1, night=20)
    night = datetime(2030, 1, 2, 3, tzinfo=UTC)
    runs = [
        (run.slot[-2:], run.name)
        for hours in (0, 25, 26, 27, 28)
        for run in jobs.nightly(night + timedelta(hours=hours))
    ]
    assert ("02", "decay") in runs
    assert runs == sorted(runs, key=lambda run: run[0])


def test_a_night_goes_on_at_once_whichever_workspace_is_not_done(
    shared_world: World, own_jobs: None, messages: list[Any]
) -> None:
    first = Workspace.objects.earliest("number").pk

    def act(workspace_id: str) -> Outcome:
        if workspace_id == first:
            time_box.is_over()
        return Outcome()

    jobs.register(Job("compaction", "Compaction", "nightly", act, night=10))
    tasks.nightly()
    assert JobRun.objects.filter(ended_at=None).get().workspace_id == first
    assert JobRun.objects.count() > 1
    assert [task for task, _ in messages] == ["memory.nightly"]


def test_a_process_that_ends_begins_nothing_and_leaves_the_rest(
    world: World, own_jobs: None
) -> None:
    diary: list[str] = []
    job = batches("sums", diary, 3, interval=HOUR)
    run = jobs.claim(job, "", "one")
    assert run is not None
    time_box.ending.set()
    assert jobs.execute(job, run).claimed_by == claims.CUT
    JobRun.objects.update(heartbeat_at=timezone.now() - jobs.STALE)
    assert jobs.tick() == []
    assert diary == ["sums"]
    time_box.ending.clear()
    jobs.tick()
    assert diary.count("sums") == 3


def test_two_clocks_at_once_run_each_job_once(
    shared_world: World, own_jobs: None
) -> None:
    diary: list[str] = []
    for number in range(4):
        batches(f"job{number}", diary, 1, interval=HOUR)
        batches(f"night{number}", diary, 1, night=number + 1)
    now, barrier = datetime(2030, 1, 2, 3, tzinfo=UTC), threading.Barrier(2)

    def clock() -> None:
        barrier.wait()
        jobs.tick(now)
        jobs.nightly(now)
        connections.close_all()

    threads = [threading.Thread(target=clock) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jobs.nightly(now)
    assert sorted(diary) == sorted(set(diary))
    assert len(diary) == 8


# ── Messages ─────────────────────────────────────────────────────────────────
def test_a_queue_that_nobody_empties_takes_no_more_messages(
    monkeypatch: pytest.MonkeyPatch, messages: list[Any]
) -> None:
    full = {queues.MAIL: Backlog(backlogs.LIMIT, None)}
    monkeypatch.setattr(backlogs, "read", lambda: full)
    monkeypatch.setattr(backlogs.is_full, "_look_at", 0.0)
    assert dispatch.send("memory.tick", queue=queues.MAIL) is False
    assert dispatch.send("memory.tick") is True
    clock = Clock(app, lazy=True)
    for name in (queues.MAIL, queues.CLOCK):
        options = {"queue": name}
        entry = clock.Entry(name=name, task="memory.tick", options=options, app=app)
        clock.apply_entry(entry)
    queue_names = [fields.get("queue") for _, fields in messages]
    assert queue_names == [None, queues.CLOCK]
    monkeypatch.setattr(backlogs.is_full, "_names", frozenset())


def test_a_clock_without_redis_goes_on_and_leaves_a_short_line(
    monkeypatch: pytest.MonkeyPatch, messages: list[Any]
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(app, "send_task", away)
    clock = Clock(app, lazy=True)
    entry = clock.Entry(name="mail", task="memory.nightly", app=app)
    with structlog.testing.capture_logs() as lines:
        clock.apply_entry(entry)
    (line,) = lines
    assert (line["event"], line["task"]) == ("message_not_sent", "memory.nightly")
    assert "exc_info" not in line


# ── Signs of life ────────────────────────────────────────────────────────────
def test_what_nobody_serves_is_said_everywhere(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Queues" not in world.page("operator").get("/jobs/").content.decode()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    pulse = pulses.Pulse([queues.EMBEDDING, queues.CLOCK, queues.BATCH])
    pulse.beat()
    sentences = [
        "No worker serves the queue personal_data, mail.",
        "No clock runs: nothing is done by schedule.",
    ]
    assert pulses.missing() == sentences
    with pytest.raises(healthz.Degraded, match="personal_data, mail"):
        healthz.check_queues()
    assert [finding.message for finding in doctor.workers()] == sentences
    page = world.page("operator").get("/jobs/").content.decode()
    assert page.count("Nobody serves the queue") == 2
    assert "No clock runs" in page
    pulses.Pulse([queues.PERSONAL_DATA, queues.MAIL], is_clock=True).beat()
    assert pulses.missing() == []
    healthz.check_queues()
    assert pulses.is_alive_here("clock")
    WorkerProcess.objects.update(seen_at=timezone.now() - 2 * pulses.DEAD_AFTER)
    assert len(pulses.missing()) == 2
    assert not pulses.is_alive_here("worker")
    pulse.beat()
    assert pulses.is_alive_here("worker", [queues.EMBEDDING])
    assert not pulses.is_alive_here("worker", [queues.EMBEDDING, queues.MAIL])
    with pytest.raises(CommandError, match="no queue post"):
        call_command("healthcheck", "worker", "-Q", "mail,post")
    pulse.end()
    assert not pulses.is_alive_here("worker")
