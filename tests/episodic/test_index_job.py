"""A long backlog is embedded by a job: how far, what was refused and why, the gain."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.embedders.base import BadAnswer
from episodic.embedders.none import NoEmbedder
from episodic.health import fixes, gains, index_job, outcomes
from episodic.health import snapshots as health
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, State
from memory.jobs import registry as jobs
from memory.jobs import work
from memory.models import JobRun, JournalEntry, RunState
from memory.rules import errors
from tests import factories
from tests.episodic import doubles
from tests.world import World


@pytest.fixture
def backlog(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Append forty entries that wait, where more than ten are a job's."""
    monkeypatch.setattr(gains, "INDEXED_AT_ONCE", 10)
    monkeypatch.setattr(fixes, "INDEXED_AT_ONCE", 10)
    for number in range(40):
        world.entry(f"Parcel {number} lost", ts=factories.ago(number / 10))
    index.discover(world.acme.id)
    health.take(world.acme.id)
    return world


def _text(response: Any) -> str:
    return html.unescape(response.content.decode())


def test_the_repair_of_a_long_backlog_is_a_job_over_all_of_it(backlog: World) -> None:
    by, client = backlog.actor("operator"), backlog.page("operator")
    page = _text(client.get("/health/"))
    assert "Index 40 entries</h3>" in page
    assert "It runs as a job" in page
    before = health.latest(by)
    answer = client.post("/health/fix/index/")
    run = JobRun.objects.get(name="index")
    assert answer.headers["Location"] == f"/jobs/index/runs/{run.pk}/"
    assert (run.state, run.done, run.total) == (RunState.DONE, 40, 40)
    assert Embedding.objects.filter(state=State.INDEXED).count() == 40
    (outcome,) = outcomes.latest(by, "")
    assert (outcome.kind, outcome.text, outcome.by) == ("index", "40 indexed", by.id)
    assert outcome.before == before.score
    assert outcome.expected is not None
    entry = JournalEntry.objects.get(entry_type="memory.indexed")
    assert (entry.actor_id, entry.payload["indexed"]) == (by.id, 40)
    assert "40 of 40 entries" in _text(client.get(answer.headers["Location"]))


def test_the_index_page_starts_it_and_shows_it(backlog: World) -> None:
    client = backlog.page("operator")
    answer = client.post("/recall/index/run/")
    assert answer.headers["Location"].startswith("/jobs/index/runs/")
    assert "40 of 40 entries" in _text(client.get("/recall/index/"))
    assert "40 of 40 entries" not in _text(backlog.page("viewer").get("/recall/index/"))


def test_what_the_embedder_refused_is_listed_with_the_reason(
    backlog: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = index.embed_rows

    def refuse(rows: list[JournalEntry]) -> Any:
        if any(row.summary == "Parcel 7 lost" for row in rows):
            raise BadAnswer("too long")
        return real(rows)

    monkeypatch.setattr(index, "embed_rows", refuse)
    by = backlog.actor("operator")
    run = index_job.begin(by)
    run.refresh_from_db()
    assert run.state == RunState.PARTLY
    item = work.of_id(by, "index", run.pk)
    (line,) = item.lines
    entry = JournalEntry.objects.get(summary="Parcel 7 lost")
    assert (line.text, line.url) == ("Parcel 7 lost", f"/journal/{entry.id}/")
    assert "too long" in line.why
    JournalEntry.objects.filter(pk=entry.pk).update(erased_at=factories.ago(0))
    assert list(work.of_id(by, "index", run.pk).lines) == []


def test_an_embedder_that_is_down_stops_it_and_says_what_waits(backlog: World) -> None:
    engine.use(doubles.Down())
    run = index_job.begin(backlog.actor("operator"))
    run.refresh_from_db()
    assert run.state == RunState.PARTLY
    assert run.error == "The embedder does not answer; 40 still wait"


def test_a_crews_job_leaves_the_other_crews_alone(backlog: World) -> None:
    backlog.entry("Invoice wrong", by="bob")
    index.discover(backlog.acme.id)
    billing = backlog.crews["billing"].id
    index_job.begin(backlog.actor("operator"), billing)
    done = Embedding.objects.filter(state=State.INDEXED)
    assert set(done.values_list("crew_id", flat=True)) == {billing}


def test_who_may_ask_for_it_and_when(backlog: World) -> None:
    with pytest.raises(errors.Forbidden):
        index_job.begin(backlog.actor("viewer"))
    with pytest.raises(errors.NotFound):
        index_job.begin(backlog.actor("operator"), backlog.crews["other/support"].id)
    JobRun.objects.create(name="index", slot="one", workspace=backlog.acme)
    page = backlog.page("operator").post("/health/fix/index/", follow=True)
    assert "Index what waits is running already." in _text(page)
    engine.use(NoEmbedder())
    with pytest.raises(errors.Unavailable):
        index_job.begin(backlog.actor("operator"))
    # The button of the jobs page starts it too; no attempt is counted.
    JobRun.objects.all().delete()
    assert jobs.run_now("index", by=backlog.actor("operator")).state == "failed"
    assert not Embedding.objects.filter(attempts__gt=0).exists()


def test_rows_that_the_sweep_holds_are_left_to_it(backlog: World) -> None:
    now = timezone.now()
    Embedding.objects.update(next_attempt_at=now + timedelta(hours=1), attempts=3)
    held = list(Embedding.objects.order_by("-seq").values_list("pk", flat=True)[:5])
    Embedding.objects.filter(pk__in=held).update(next_attempt_at=None)
    assert index.claim(held, now) == held
    index_job.begin(backlog.actor("operator"))
    waiting = Embedding.objects.exclude(state=State.INDEXED)
    assert set(waiting.values_list("pk", flat=True)) == set(held)
