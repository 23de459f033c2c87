"""Long work in parts comes to the same end; a process that ends hands its work on."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from crewship_memory.celery import app
from episodic import tasks as index_tasks
from episodic.health import index_job, outcomes
from episodic.index import sweep as index
from episodic.models import Embedding, State
from gdpr import erasure
from gdpr.erasure import failpoints
from gdpr.models import Case, CaseState
from memory import journal_import, journal_upload
from memory.jobs import registry as jobs
from memory.jobs import time_box
from memory.models import EntryWords, JobRun, JournalEntry, RunState
from memory.review import rescan, rescan_job
from memory.word_index import storage
from tests import factories
from tests.gdpr import erasing
from tests.memory.files import kit
from tests.world import World


@pytest.fixture(autouse=True)
def messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Give every part the time of one batch; return the tasks that are sent."""
    outbox: list[str] = []
    app.conf.crewship_delivers = True
    monkeypatch.setattr(app, "send_task", lambda name, **_: outbox.append(name))
    monkeypatch.setattr(time_box, "JOB_SECONDS", 0.0)
    monkeypatch.setattr(time_box, "SWEEP_SECONDS", 0.0)
    yield outbox
    time_box.ending.clear()


def in_parts(run: JobRun) -> tuple[JobRun, int]:
    """Do a run to its end; return it, and in how many parts."""
    count = 0
    while run.ended_at is None:
        (run,) = jobs.run_requested(run.pk)
        count += 1
    return run, count


def test_an_import_appends_every_line_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_import, "BATCH", 3)
    lines = [
        {"entry_type": "peer.escalation", "summary": "A till", "payload": {"n": n}}
        for n in range(10)
    ]
    text = "\n".join(map(json.dumps, [*lines, {"summary": "no type"}])).encode()
    run = journal_upload.begin(world.actor("owner"), io.BytesIO(text), create=False)
    run, parts = in_parts(run)
    assert parts > 2
    assert (run.state, run.counts) == (RunState.PARTLY, {"appended": 10, "refused": 1})
    assert [item["id"] for item in run.items] == ["11"]
    rows = JournalEntry.objects.filter(summary="A till").order_by("seq")
    assert [row.payload["n"] for row in rows] == list(range(10))


def test_a_rescan_visits_every_file_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescan, "BATCH", 2)
    monkeypatch.setattr(rescan.rescan, "__kwdefaults__", {"after": "", "limit": 2})
    for number in range(1, 6):
        kit.write(world, f"Note {number}.", f"daily/2026-01-0{number}.md")
    run, parts = in_parts(rescan_job.begin(world.actor("operator")))
    assert parts == 3
    assert (run.state, run.counts["scanned"], run.done) == (RunState.DONE, 5, 5)


def test_a_long_compaction_gets_on_in_every_part(world: World) -> None:
    """Finding what is due may take the whole time of a part."""
    for days in (40, 41, 42):
        at = timezone.now().replace(hour=1) - timedelta(days=days)
        for n in range(12):
            fields = {"entry_type": "container.metrics", "payload": {"n": n}}
            factories.append(world.actor("ada"), ts=at, summary="cpu", **fields)
    job = jobs.get("compaction")
    run = jobs.claim(job, world.acme.id, "one")
    assert run is not None
    run, parts = in_parts(jobs.execute(job, run))
    assert parts == 3
    assert (run.state, run.counts["buckets"]) == (RunState.DONE, 3)


def test_words_are_written_in_every_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding entries without words may take the whole time of a part."""
    monkeypatch.setattr(storage, "CHUNK", 1)
    for number in range(2):
        world.entry(f"Parcel {number} lost")
    EntryWords.objects.all().delete()
    assert storage.fill(lambda: True) == 1
    assert EntryWords.objects.count() == 1


def test_an_index_run_measures_before_the_first_part_and_after_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BATCH", 4)
    for number in range(10):
        world.entry(f"Parcel {number} lost")
    by = world.actor("operator")
    run, parts = in_parts(index_job.begin(by))
    assert parts > 2
    assert (run.state, run.counts) == (RunState.DONE, {"indexed": 10, "failed": 0})
    (outcome,) = outcomes.latest(by, "")
    assert outcome.text == "10 indexed"
    assert JournalEntry.objects.filter(entry_type="memory.indexed").count() == 1


def test_a_sweep_ends_after_its_time_and_sends_for_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch, messages: list[str]
) -> None:
    monkeypatch.setattr(index, "BATCH", 4)
    for number in range(10):
        world.entry(f"Parcel {number} lost")
    messages.clear()
    indexed = Embedding.objects.filter(state=State.INDEXED)
    index_tasks.sweep()
    assert (indexed.count(), messages) == (4, ["episodic.sweep"])
    for _ in range(3):
        index_tasks.sweep()
    assert indexed.count() == 10
    # What is done has no lease.
    assert not Embedding.objects.filter(lease_until__isnull=False).exists()


def test_a_process_that_ends_hands_an_erasure_on(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    person = erasing.maria(world)
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, person))

    def end(moment: str) -> None:
        if moment == "place_done":
            time_box.ending.set()

    monkeypatch.setattr(failpoints, "step", end)
    erasure.run(case.workspace_id, case.pk)
    live = Case.objects.get(pk=case.pk)
    assert (live.state, live.claimed_by, live.lease_until) == (
        CaseState.RUNNING, "", None,
    )  # fmt: skip
    assert erasure.sweep() == {"run": 0, "failed": 0}
    monkeypatch.setattr(failpoints, "step", lambda _moment: None)
    time_box.ending.clear()
    assert erasure.sweep() == {"run": 1, "failed": 0}
    assert Case.objects.get(pk=case.pk).state == CaseState.COMPLETE
