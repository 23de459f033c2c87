"""How complete the index is, what is pending, and embedding it now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, State
from memory.journal import append as journal
from memory.journal.visibility import USABLE
from memory.models import JournalEntry
from memory.models.journal import UNUSABLE
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

PENDING_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Status:
    """How complete a workspace's index is, for the model in use."""

    embeddable: int
    indexed: int
    pending: int
    failed: int
    model: str | None
    dim: int | None
    oldest_pending_seconds: float | None


def status(workspace_id: str, *, by: Actor) -> Status:
    """Return how complete the index is."""
    by.require("index.read", workspace_id)
    embedder = engine.embedder()
    marked = JournalEntry.objects.filter(workspace_id=workspace_id, embeddable=True)
    rows = Embedding.objects.filter(workspace_id=workspace_id)
    rows = rows.exclude(state=State.WITHHELD)
    current = Q(state=State.INDEXED, model=embedder.model)
    # The state, not the key: an index has it, and the wide rows need not be read.
    counts = rows.aggregate(
        indexed=Count("state", filter=current),
        failed=Count("state", filter=Q(state=State.FAILED)),
    )
    # Two counts within indexes; one with all conditions would read every row.
    embeddable = marked.count() - marked.filter(UNUSABLE).count()
    pending = max(0, embeddable - counts["indexed"] - counts["failed"])
    oldest = None
    if pending:
        usable = marked.filter(USABLE, erased_at__isnull=True)
        without_vector = usable.exclude(embedding__in=rows.filter(current))
        oldest = without_vector.aggregate(oldest=Min("recorded_at"))["oldest"]
    age = (timezone.now() - oldest).total_seconds() if oldest else None
    return Status(
        embeddable,
        counts["indexed"],
        pending,
        counts["failed"],
        embedder.model or None,
        embedder.dim,
        round(age, 1) if age is not None else None,
    )


def pending(workspace_id: str) -> QuerySet[Embedding]:
    """Return the rows without a vector of the model in use, but for withheld ones."""
    rows = Embedding.objects.filter(workspace_id=workspace_id)
    rows = rows.exclude(state=State.INDEXED, model=engine.embedder().model)
    return rows.exclude(state=State.WITHHELD)


def pending_entries(actor: Actor, limit: int = PENDING_LISTED) -> list[Embedding]:
    """Return the rows without an embedding: failed first, then by most attempts."""
    actor.require("index.read")
    rows = pending(actor.workspace_id)
    rows = rows.filter(entry__erased_at__isnull=True, entry__embeddable=True)
    page = rows.order_by("state", "-attempts", "entry__seq")
    return list(page.select_related("entry").defer("vector")[:limit])


def run(
    workspace_id: str,
    *,
    by: Actor,
    entry_ids: Iterable[str] | None = None,
    limit: int = 256,
) -> index.Report:
    """Embed a workspace's pending entries now, or the named ones, for an operator.

    Waiting times and leases are ignored; named entries are embedded again.
    """
    by.require("index.run", workspace_id)
    if engine.embedder().name == "none":
        raise errors.Unavailable(reason="no embedder is configured")
    index.discover(workspace_id)
    report = index.Report()
    if entry_ids is None:
        rows = pending(workspace_id).order_by("attempts")
        selected = list(rows.values_list("pk", flat=True)[:limit])
    else:
        requested = list(dict.fromkeys(entry_ids))
        rows = Embedding.objects.filter(workspace_id=workspace_id, pk__in=requested)
        selected = list(rows.values_list("pk", flat=True))
        existing = JournalEntry.objects.filter(
            workspace_id=workspace_id, pk__in=requested
        )
        if existing.count() != len(requested):
            raise errors.NotFound
        report.skipped += len(requested) - len(selected)
    for start in range(0, len(selected), index.BATCH):
        report.add(index.embed(selected[start : start + index.BATCH]))
    record(report, by=by)
    return report


def record(report: index.Report, *, by: Actor) -> None:
    """Write a run by hand to the journal."""
    new = NewEntry(
        entry_type="memory.indexed",
        summary=f"Index run by hand: {report.indexed} indexed, {report.failed} failed",
        payload=asdict(report),
    )
    journal.write([new], by=by)
