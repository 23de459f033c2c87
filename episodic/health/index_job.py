"""Embedding a whole backlog as a job that says how far it is and what it brought."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from episodic.embedders.base import failure_text
from episodic.health import gains, outcomes
from episodic.health import snapshots as health
from episodic.health.gains import Gain
from episodic.index import engine
from episodic.index import status as index_status
from episodic.index import sweep as index
from episodic.index.sweep import Report
from episodic.models import Embedding, HealthSnapshot
from memory.jobs import progress, time_box
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.models import JobRun
from memory.rules import errors
from memory.rules.permissions import Actor

JOB: Final = "index"
MAX_SEQ: Final = 2**62


def begin(actor: Actor, crew_id: str | None = None) -> JobRun:
    """Ask for a run over everything that waits in a scope, for an operator.

    Conflict while one runs.
    """
    actor.require("index.run")
    scope = health.scope(actor, crew_id)
    _require_embedder()
    return jobs.run_now(JOB, by=actor, params={"crew_id": scope})


def _require_embedder() -> None:
    if engine.embedder().name == "none":
        raise errors.Unavailable(reason=gettext("no embedder is configured"))


def is_long(actor: Actor) -> bool:
    """Whether more waits than a request should embed."""
    return waiting(actor).count() > gains.INDEXED_AT_ONCE


def waiting(actor: Actor, crew_id: str | None = None) -> QuerySet[Embedding]:
    """Return the rows of a scope without a vector of the model in use."""
    rows = index_status.pending(actor.workspace_id)
    return rows.filter(crew_id=crew_id) if crew_id else rows


@dataclass(slots=True)
class Stage:
    """How far a run is; kept between its parts, as JSON.

    ``score`` is the health before it, ``expected`` what it was to become; entries are
    taken from the newest, ``seq``, to the oldest.
    """

    total: int
    score: float | None
    expected: float | None
    indexed: int = 0
    failed: int = 0
    done: int = 0
    seq: int = MAX_SEQ


def run(workspace_id: str) -> Outcome:
    """Embed what waits, measure health before and after, and record the gain."""
    _require_embedder()
    actor = progress.requester(workspace_id, JOB)
    crew_id = progress.params().get("crew_id") or None
    position = progress.position()
    stage = Stage(**json.loads(position)) if position else _first_stage(actor, crew_id)
    indexed, failed = stage.indexed, stage.failed
    remainder = _embed(waiting(actor, crew_id), stage)
    counts = {"indexed": stage.indexed - indexed, "failed": stage.failed - failed}
    if remainder is None:
        progress.keep_position(json.dumps(asdict(stage)))
        return Outcome(counts)
    _record(stage, actor, crew_id)
    if remainder:
        return Outcome(
            counts, f"The embedder does not answer; {remainder:,} still wait"
        )
    fault = ""
    if stage.failed:
        fault = gettext_noop("The embedder refused some; each is listed")
    return Outcome(counts, fault)


def _first_stage(actor: Actor, crew_id: str | None) -> Stage:
    """Read what waits, and measure health before."""
    index.discover(actor.workspace_id)
    rows = waiting(actor, crew_id)
    # Whoever asks for it wants no wait after an earlier failure.
    rows.filter(next_attempt_at__isnull=False).update(next_attempt_at=None)
    total = rows.count()
    progress.report(0, total, "entries")
    before = health.recompute(actor, crew_id)
    gain = gains.of_index(before) if before.details.get(gains.COVERAGE) else None
    return Stage(total, before.score, gain.after if gain else None)


def _record(stage: Stage, actor: Actor, crew_id: str | None) -> None:
    """Measure health after, and write what was brought."""
    after = health.recompute(actor, crew_id)
    if crew_id:
        # The workspace's score contains the crew's entries as well.
        health.take(actor.workspace_id, [])
    report = Report(indexed=stage.indexed, failed=stage.failed)
    index_status.record(report, by=actor)
    text = outcomes.in_english(partial(outcomes.indexed, stage.indexed))
    before = HealthSnapshot(score=stage.score)
    gain = Gain(stage.total, stage.score, stage.expected)
    outcomes.record("index", text, before, after, gain, actor)


def _embed(rows: QuerySet[Embedding], stage: Stage) -> int | None:
    """Embed rows, the newest first; return how many an outage left.

    None where the time of this part is over before its end.
    """
    for page in _batches(rows, stage):
        # What the scheduled sweep holds, it embeds.
        batch = index.claim(page, timezone.now())
        part = index.embed(batch)
        stage.indexed += part.indexed
        stage.failed += part.failed
        stage.done += len(page)
        if part.failed == len(batch) and len(batch) > 1:
            # The embedder is down, not one text faulty.
            return max(0, stage.total - stage.done + part.failed)
        if part.failed:
            _name_failed(batch)
        progress.report(stage.done, max(stage.total, stage.done), "entries")
        if time_box.is_over():
            return None
    # What the scheduled sweep embedded meanwhile is done as well.
    stage.done = max(stage.total, stage.done)
    progress.report(stage.done, stage.done, "entries")
    return 0


def _batches(rows: QuerySet[Embedding], stage: Stage) -> Iterator[list[str]]:
    """Yield the ids of rows, each once, however they end."""
    columns = rows.order_by("-seq").values_list("pk", "seq")
    while page := list(columns.filter(seq__lt=stage.seq)[: index.BATCH]):
        stage.seq = page[-1][1]
        yield [entry_id for entry_id, _ in page]


def _name_failed(entry_ids: list[str]) -> None:
    refused = Embedding.objects.filter(pk__in=entry_ids, attempts__gt=0)
    for entry_id in refused.values_list("pk", flat=True):
        progress.add_item("entry", entry_id)


def lines(workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return the entries that were refused, each with the embedder's last reason."""
    ids = [item["id"] for item in items]
    rows = Embedding.objects.filter(
        workspace_id=workspace_id, pk__in=ids, entry__erased_at__isnull=True
    )
    columns = rows.values_list("pk", "last_error", "entry__summary")
    by_id = {entry_id: (error, summary) for entry_id, error, summary in columns}
    return [
        ResultLine(
            by_id[entry_id][1][:120],
            failure_text(by_id[entry_id][0]) or gettext("indexed meanwhile"),
            reverse("memory:entry", args=[entry_id]),
        )
        for entry_id in ids
        if entry_id in by_id
    ]
