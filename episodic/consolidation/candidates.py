"""The entries a consolidation reads: candidates since the watermark, and marked ones.

A mark is found by its own entry in the chain, so that an old entry that is pinned today
is read today. All of them go to the summariser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet

from episodic.index import engine, policy
from episodic.models import ConsolidationMark, Embedding, IndexState, State
from episodic.summarisers.base import Material
from episodic.summarisers.extractive import outcome_of
from episodic.vectors import stored
from memory.models import ChainHead, Crew, JournalEntry
from memory.rules.entries import Priority

ALWAYS: Final = (
    "peer.escalation",
    "summary.generated",
    "eval.regression_detected",
    "approval.denied",
    "memory.recorded",
)
LOUD: Final = ("warn", "error")
PRIORITY_CHANGED: Final = "memory.priority_changed"
MARKED: Final = (Priority.PIN.value, Priority.PERMANENT.value)
TEXT_CHARS: Final = 2_000
IDS_AT_ONCE: Final = 500
_DENIALS: Final = frozenset({"deny", "denied", "reject", "rejected"})


@dataclass(frozen=True, slots=True)
class Window:
    """The entries to consider, in order, and the number of the last one covered."""

    entries: list[JournalEntry]
    marked: list[JournalEntry]
    upto: int
    has_more: bool

    @property
    def has_permanent(self) -> bool:
        """Whether a permanent entry is among them."""
        return any(row.priority == Priority.PERMANENT.value for row in self.marked)


def is_denial(payload: Mapping[str, Any]) -> bool:
    values = (payload.get(key) for key in ("decision", "outcome", "result"))
    words = {value.casefold() for value in values if isinstance(value, str)}
    return bool(words & _DENIALS) or payload.get("allowed") is False


def _candidates(crew: Crew, after: int, upto: int) -> QuerySet[JournalEntry]:
    status = Q(entry_type="mission.status_change", severity__in=LOUD)
    condition = Q(entry_type__in=ALWAYS) | Q(entry_type="keeper.decision") | status
    return JournalEntry.objects.filter(
        condition,
        workspace_id=crew.workspace_id,
        crew_id=crew.id,
        seq__gt=after,
        seq__lte=upto,
        erased_at__isnull=True,
        retired_at__isnull=True,
        restricted_at__isnull=True,
    )


def unread_count(crew: Crew, upto: int) -> int:
    """Return how many entries of a crew were not considered yet."""
    mark = ConsolidationMark.objects.filter(crew=crew).first()
    return _candidates(crew, mark.seq if mark else 0, upto).count()


def _marked(crew: Crew, mark: ConsolidationMark, upto: int) -> list[JournalEntry]:
    """Return entries that were pinned since, or whose pin is still to be written."""
    ledger = JournalEntry.objects.filter(
        workspace_id=crew.workspace_id,
        crew_id=crew.id,
        entry_type=PRIORITY_CHANGED,
        seq__gt=mark.seq,
        seq__lte=upto,
        erased_at__isnull=True,
    )
    target_ids = {str(row.payload.get("target_entry_id", "")) for row in ledger}
    entry_ids = sorted(target_ids | {str(pin_id) for pin_id in mark.waiting_pins})
    rows: list[JournalEntry] = []
    for at in range(0, len(entry_ids), IDS_AT_ONCE):
        rows += JournalEntry.objects.filter(
            workspace_id=crew.workspace_id,
            crew_id=crew.id,
            pk__in=entry_ids[at : at + IDS_AT_ONCE],
            priority__in=MARKED,
            erased_at__isnull=True,
            restricted_at__isnull=True,
        )
    return sorted(rows, key=lambda row: row.seq)


def window(crew: Crew, mark: ConsolidationMark, batch: int) -> Window:
    """Return what came since the watermark, ``batch`` candidates at most."""
    head = ChainHead.objects.filter(pk=crew.workspace_id).first()
    upto = head.seq if head else 0
    rows = _candidates(crew, mark.seq, upto).order_by("seq")
    batch_rows: list[JournalEntry] = []
    has_more = False
    for row in rows.iterator(chunk_size=IDS_AT_ONCE):
        if row.entry_type == "keeper.decision" and not is_denial(row.payload):
            continue
        if len(batch_rows) == batch:
            upto, has_more = batch_rows[-1].seq, True
            break
        batch_rows.append(row)
    marked = _marked(crew, mark, upto)
    merged = {row.id: row for row in (*batch_rows, *marked)}
    entries = sorted(merged.values(), key=lambda row: row.seq)
    return Window(entries, marked, upto, has_more)


def _vectors(rows: Sequence[JournalEntry]) -> dict[str, Any]:
    """Return the stored vectors of the model in use, by entry id."""
    model, vectors = engine.embedder().model, dict[str, Any]()
    for at in range(0, len(rows), IDS_AT_ONCE):
        ids = [row.id for row in rows[at : at + IDS_AT_ONCE]]
        rows_here = Embedding.objects.filter(
            pk__in=ids, state=State.INDEXED, model=model
        )
        comparable = list(rows_here.values_list("entry_id", flat=True))
        vectors |= stored.vectors(rows[at].workspace_id, comparable)
    return vectors


def material(window: Window) -> list[Material]:
    """Return the entries as a summariser sees them."""
    vectors, marked = _vectors(window.entries), {row.id for row in window.marked}
    return [
        Material(
            id=row.id,
            entry_type=row.entry_type,
            severity=row.severity,
            summary=row.summary,
            text=policy.text("", row.payload)[:TEXT_CHARS],
            outcome=outcome_of(row.payload),
            ts=row.ts,
            is_informative=row.entry_type != "summary.generated"
            or row.severity in LOUD
            or row.id in marked,
            vector=vectors.get(row.id),
        )
        for row in window.entries
    ]


def is_index_behind(workspace_id: str) -> bool:
    """Whether entries still wait for their first embedding attempt."""
    if engine.embedder().name == "none":
        return False
    head = ChainHead.objects.filter(pk=workspace_id).first()
    read = IndexState.objects.filter(pk=workspace_id).first()
    if head and head.seq > (read.seq if read else 0):
        return True
    rows = Embedding.objects.filter(workspace_id=workspace_id, state=State.PENDING)
    return rows.filter(attempts=0).exists()
