"""Web, workers and clock as processes with Redis: what they share, log, and leave."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from crewship_memory.bench.dataset import Writer
from episodic.index import sweep as index
from episodic.models import Embedding, State
from gdpr.models import Case, CaseState, Certificate, Subject
from memory.journal import append as journal
from memory.models import JobRun, JournalEntry, WorkerProcess
from tests import waiting
from tests.gdpr import erasing
from tests.project.machines import Machines, children_of
from tests.world import World

pytestmark = pytest.mark.slow
BACKLOG = 20_000


@pytest.fixture
def machines(shared_world: World, tmp_path: Path) -> Iterator[Machines]:
    installation = Machines(tmp_path)
    try:
        installation.start_redis()
        yield installation
    finally:
        installation.kill_all()


def let_wait(world: World, count: int) -> None:
    """Append entries that are embedded, and queue all of them."""
    entries = Writer().entries(count)
    while batch := list(itertools.islice(entries, 1_000)):
        journal.write(batch, by=world.system())
    index.discover(world.acme.id)


def pending() -> int:
    return Embedding.objects.filter(state=State.PENDING).count()


def append(url: str, world: World) -> str:
    """Append an entry over HTTP; return its id."""
    reply = httpx.post(
        f"{url}/api/v1/journal",
        headers={"Authorization": f"Bearer {world.tokens['ada']}"},
        json={"entry_type": "peer.escalation", "summary": "The harbour is closed"},
    )
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


# ── Who serves what, and what it logs ────────────────────────────────────────
def test_each_serves_its_queues_and_its_lines_name_their_cause(
    machines: Machines, shared_world: World
) -> None:
    machines.worker("-Q", "mail", name="mail worker")
    url = machines.web()
    machines.until_all_serve()
    a_worker_for_one_queue_leaves_the_others(url)
    machines.worker("-Q", "embedding,personal_data,clock,batch")
    machines.clock()
    machines.until_all_serve()
    assert httpx.get(f"{url}/readyz").json()["degraded"] == []
    call_command("healthcheck", "clock")
    what_no_request_caused_has_a_run_of_its_own(machines)
    the_lines_of_a_task_name_the_request_that_caused_it(machines, url, shared_world)


def a_worker_for_one_queue_leaves_the_others(url: str) -> None:
    (degraded,) = httpx.get(f"{url}/readyz").json()["degraded"]
    assert "embedding, personal_data, clock, batch" in degraded
    assert "mail" not in degraded
    call_command("healthcheck", "worker")
    with pytest.raises(CommandError, match="No clock was seen here"):
        call_command("healthcheck", "clock")


def what_no_request_caused_has_a_run_of_its_own(machines: Machines) -> None:
    def runs() -> list[str]:
        lines = machines.lines("worker")
        starts = [line for line in lines if line["event"] == "task_started"]
        assert all("request_id" not in line and line["run_id"] for line in starts)
        return [str(line["run_id"]) for line in starts]

    waiting.until(lambda: len(runs()) > 2)
    assert len(set(runs())) == len(runs())
    # Every line of every process is JSON: ``lines`` reads nothing else.
    assert machines.lines("clock")


def the_lines_of_a_task_name_the_request_that_caused_it(
    machines: Machines, url: str, world: World
) -> None:
    def task_lines(request_id: object) -> list[dict[str, object]]:
        lines = machines.lines("worker")
        return [line for line in lines if line.get("request_id") == request_id]

    append(url, world)
    (request,) = [
        line
        for line in machines.lines("web")
        if line["event"] == "request_finished" and line["code"] == 201
    ]
    own_lines = partial(task_lines, request["request_id"])
    waiting.until(lambda: "task_succeeded" in [x["event"] for x in own_lines()])
    assert {line["task"] for line in own_lines()} == {"episodic.sweep_soon"}
    assert len({line["task_id"] for line in own_lines()}) == 1
    # An id, and nothing else of the request, travels with the message.
    assert not {"user_id", "ip"} & {key for line in own_lines() for key in line}


# ── Under load ───────────────────────────────────────────────────────────────
def erases(world: World, person: Subject) -> None:
    """Set an erasure running, and wait until a worker has completed it."""
    case = erasing.started(world, erasing.opened(world, person))
    complete = Case.objects.filter(pk=case.pk, state=CaseState.COMPLETE)
    waiting.until(complete.exists)


def test_an_erasure_waits_for_no_entry_and_no_process_for_either(
    machines: Machines, shared_world: World
) -> None:
    person = erasing.maria(shared_world)
    shared_world.entry(f"{erasing.MAIL} asked about {erasing.WORD}")
    let_wait(shared_world, BACKLOG)
    url, names = machines.web(), ("web", "worker", "clock")
    machines.worker()
    machines.until_all_serve()
    # Last: it sets the embedding going.
    machines.clock()
    machines.until_all_serve()
    erases(shared_world, person)
    assert pending() > BACKLOG / 2
    last_id = append(url, shared_world)
    pids = [machines.processes[name].pid for name in names]
    assert [children_of(pid) for pid in pids] == [[], [], []]
    assert machines.end(*names) == [0, 0, 0]
    assert JournalEntry.objects.filter(pk=last_id).exists()
    index.discover(shared_world.acme.id)
    embeddable = JournalEntry.objects.filter(embeddable=True).count()
    assert Embedding.objects.count() == embeddable
    longest = timezone.now() + index.LEASE
    assert not Embedding.objects.filter(lease_until__gt=longest).exists()
    assert not WorkerProcess.objects.exists()
    # The next worker goes on with it.
    before = pending()
    assert before > 0
    machines.worker(name="next")
    machines.clock(name="next clock")
    machines.until_all_serve()
    waiting.until(lambda: pending() < before)


def test_what_a_killed_worker_had_claimed_another_embeds_after_its_lease(
    machines: Machines, shared_world: World
) -> None:
    let_wait(shared_world, 1_000)
    machines.worker()
    machines.clock()
    claimed = Embedding.objects.filter(state=State.PENDING, lease_until__isnull=False)
    waiting.until(lambda: is_stopped_with(claimed, machines.processes["worker"]))
    machines.processes["worker"].kill()
    machines.processes["worker"].wait()
    entry_ids, moments = set(claimed.values_list("pk", flat=True)), embedded_at()
    assert entry_ids
    claimed.update(lease_until=timezone.now() + timedelta(hours=1))
    machines.worker(name="next")
    waiting.until(lambda: pending() == len(entry_ids))
    assert entry_ids == set(claimed.values_list("pk", flat=True))
    claimed.update(lease_until=timezone.now())
    waiting.until(lambda: pending() == 0)
    # What had its vector was not embedded again, and every entry has one.
    later = embedded_at()
    assert moments.items() <= later.items() and None not in later.values()
    embeddable = JournalEntry.objects.filter(embeddable=True)
    assert set(embeddable.values_list("pk", flat=True)) == later.keys()


def is_stopped_with(claimed: Any, worker: subprocess.Popen[bytes]) -> bool:
    """Stop a worker; let it go on unless it has claimed entries then."""
    if not claimed.exists():
        return False
    worker.send_signal(signal.SIGSTOP)
    if claimed.exists():
        return True
    worker.send_signal(signal.SIGCONT)
    return False


def embedded_at() -> dict[str, Any]:
    rows = Embedding.objects.filter(state=State.INDEXED)
    return dict(rows.values_list("pk", "embedded_at"))


def test_two_clocks_do_nothing_twice(machines: Machines, shared_world: World) -> None:
    person = erasing.maria(shared_world)
    erasing.lived_in(shared_world)
    for name in ("one", "other"):
        machines.worker(name=f"{name} worker")
        machines.clock(name=f"{name} clock")
    machines.until_all_serve()
    let_wait(shared_world, 200)
    # Before the case: its questions embed some themselves, which no sweep counts.
    waiting.until(lambda: pending() == 0)
    erases(shared_world, person)
    assert machines.end(*(n for n in machines.processes if n != "redis")) == [0] * 4
    assert Certificate.objects.count() == 1
    assert JournalEntry.objects.filter(entry_type="gdpr.erased").count() == 1
    indexed = sum(
        run.counts["indexed"] for run in JobRun.objects.filter(name="index_sweep")
    )
    assert indexed == 200
    slots = list(JobRun.objects.values_list("name", "slot"))
    assert len(slots) == len(set(slots))
