"""Latency of a search of records: the service itself, without HTTP."""

from __future__ import annotations

from typing import Any, Final

from crewship_memory.bench import dataset
from crewship_memory.bench.dataset import BenchWorkspace, Writer
from crewship_memory.bench.spread import spread, timed
from episodic.index import sweep as index
from memory import records
from memory.records import Criteria, Provenance
from memory.records.drafts import Draft, Scope
from memory.rules.permissions import Actor

QUESTIONS: Final = 60
BATCH: Final = 500


def _fill(workspace: BenchWorkspace, by: Actor, size: int) -> None:
    """Save records of three users, each with a random unit vector."""
    writer, owner = Writer(size), records.owner_for(by)
    for start in range(0, size, BATCH):
        drafts = [
            Draft(
                content=writer.sentence(14), owner=owner, scope=Scope(user=f"u{n % 3}")
            )
            for n in range(start, min(size, start + BATCH))
        ]
        records.keep_all(drafts, provenance=Provenance.AGENT_EXTRACTED, by=by)
    index.discover(workspace.workspace_id)
    dataset.vectors(workspace.workspace_id, size)


def measure(size: int) -> dict[str, Any]:
    """Return the latencies in milliseconds of searches among ``size`` records."""
    workspace = dataset.open_workspace(f"bench-records-{size}")
    by = workspace.actor
    _fill(workspace, by, size)
    writer, latencies = Writer(size + 1), list[float]()
    filters = Criteria(owner=records.owner_for(by))
    records.search("warm", filters, by=by)
    for _ in range(QUESTIONS):
        question = writer.sentence(3)
        with timed(latencies):
            records.search(question, filters, by=by)
    ms = spread(latencies)
    return {"records": size, "search_ms_p50": ms["p50"], "search_ms_p95": ms["p95"]}
