"""A consolidation that takes long is a job, with the rules that it proposed."""

from __future__ import annotations

import html

import pytest

from episodic.consolidation import job
from episodic.models import ConsolidationProposal
from memory.jobs import work
from memory.models import JobRun, JournalEntry, RunState
from memory.rules import errors
from tests.world import World


@pytest.fixture
def unread(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Append ten entries of a crew, where more than five are a job's."""
    monkeypatch.setattr(job, "READ_AT_ONCE", 5)
    for number in range(10):
        world.entry(f"Refund {number} refused without receipt")
    return world


@pytest.mark.parametrize("address", ["/proposals/run/", "/health/fix/consolidate/"])
def test_a_long_run_is_a_job_that_names_its_rules(unread: World, address: str) -> None:
    by, client = unread.actor("operator"), unread.page("operator")
    answer = client.post(address)
    run = JobRun.objects.get(name="consolidation")
    assert answer.headers["Location"] == f"/jobs/consolidation/runs/{run.pk}/"
    assert (run.state, run.done, run.total) == (RunState.DONE, 10, 10)
    proposal = ConsolidationProposal.objects.get()
    (line,) = work.of_id(by, "consolidation", run.pk).lines
    assert (line.text, line.why) == (proposal.pattern[:120], "pending")
    assert line.url == f"/proposals/{proposal.id}/"
    entry = JournalEntry.objects.get(entry_type="memory.consolidation_proposed")
    assert entry.actor_id == by.id
    proposal.delete()
    assert list(work.of_id(by, "consolidation", run.pk).lines) == []


def test_a_short_run_is_done_at_once(world: World) -> None:
    page = world.page("operator").post("/proposals/run/", follow=True)
    assert "support: 0 new of the 10 entries" in html.unescape(page.content.decode())
    assert not JobRun.objects.exists()


def test_a_crews_job_is_its_crews(unread: World) -> None:
    job.begin(unread.actor("operator"), unread.crews["billing"].id)
    assert not ConsolidationProposal.objects.exists()
    with pytest.raises(errors.NotFound):
        job.begin(unread.actor("operator"), unread.crews["other/support"].id)
    with pytest.raises(errors.Forbidden):
        job.begin(unread.actor("viewer"))


def test_one_runs_at_a_time(unread: World) -> None:
    JobRun.objects.create(name="consolidation", slot="one", workspace=unread.acme)
    page = unread.page("operator").post("/proposals/run/", follow=True)
    assert "Consolidation is running already." in page.content.decode()


def test_entries_that_no_crew_considers_make_no_run_long(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "READ_AT_ONCE", 5)
    for _ in range(6):
        world.entry("A model was called", entry_type="llm.call")
    assert not job.is_long(world.actor("operator"))


def test_a_run_over_too_few_entries_is_done_to_its_end(world: World) -> None:
    for number in range(9):
        world.entry(f"Refund {number} refused without receipt")
    run = job.begin(world.actor("operator"))
    run.refresh_from_db()
    assert (run.state, run.done, run.total) == (RunState.DONE, 9, 9)
