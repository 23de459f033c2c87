"""Request and response shapes of the journal."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from memory.api.shapes import Out, Stamp
from memory.rules.entries import NewEntry, Priority, Severity
from memory.rules.shapes import Id, Moment, Strict


class EntryIn(Strict):
    """One journal entry to append."""

    entry_type: str = Field(strict=True, examples=["peer.escalation"])
    summary: str = Field(strict=True, examples=["Refund above $200 was denied"])
    severity: Severity = Severity.INFO
    payload: dict[str, Any] = Field(default_factory=dict)
    refs: dict[str, Any] = Field(default_factory=dict)
    mission_id: Annotated[str, Field(strict=True)] | None = None
    trace_id: Annotated[str, Field(strict=True)] | None = None
    span_id: Annotated[str, Field(strict=True)] | None = None
    ts: Moment | None = None
    subjects: list[Annotated[str, Field(strict=True)]] = Field(
        default_factory=list, description="Aliases of people this entry is about."
    )

    def entry(self) -> NewEntry:
        fields = self.model_dump()
        fields["subjects"] = tuple(fields["subjects"])
        return NewEntry(**fields)


class AppendedOut(BaseModel):
    """A committed entry's position in the chain."""

    id: str
    seq: int
    ts: str
    entry_hash: str
    embedding: Literal["pending", "not_embeddable"]


class BatchIn(Strict):
    """Up to 1,000 entries; each is validated separately."""

    entries: list[dict[str, Any]] = Field(
        max_length=1000, description="Each as in POST /journal."
    )


class AcceptedOut(BaseModel):
    """One entry of a batch that was written."""

    index: int
    id: str
    seq: int


class RejectedOut(BaseModel):
    """One entry of a batch that was rejected."""

    index: int
    code: str
    detail: str


class BatchOut(BaseModel):
    """The result of a batch."""

    accepted: list[AcceptedOut]
    rejected: list[RejectedOut]


class JournalQuery(Strict):
    """The filters of the journal. Lists are comma-separated."""

    q: str = Field("", max_length=1_000, description="Words in summary or payload.")
    crew_id: Id | None = None
    agent_id: Id | None = None
    mission_id: Id | None = None
    trace_id: Id | None = None
    entry_type: str | None = Field(None, max_length=2_000)
    exclude_entry_type: str | None = Field(None, max_length=2_000)
    severity: str | None = Field(None, max_length=200)
    priority: str | None = Field(None, max_length=200)
    since: Moment | None = None
    until: Moment | None = None
    subject: str | None = Field(None, min_length=1, max_length=320)
    include_archive: bool = Field(
        default=False, description="Also entries that compaction archived."
    )


class PageQuery(JournalQuery):
    """The filters of the journal, and which page."""

    limit: int = Field(100, ge=1, le=500)
    cursor: str | None = Field(None, max_length=2_000)


class ImportanceOut(Out):
    """The parts of an entry's importance, computed for the present moment."""

    base: float
    recency: float
    boost: float
    floor: float
    value: float
    days: float
    references: int


class EmbeddingOut(Out):
    """The state of an entry's embedding."""

    state: str
    model: str | None
    dim: int | None
    indexed_at: str | None
    attempts: int
    last_error: str | None
    importance: float | None
    importance_parts: ImportanceOut | None = None


class EntryOut(Out):
    """A journal entry."""

    id: str
    workspace_id: str
    seq: int
    ts: Stamp
    entry_type: str
    severity: str
    priority: str
    actor_type: str
    actor_id: str
    crew_id: str | None
    agent_id: str | None
    mission_id: str | None
    trace_id: str | None
    span_id: str | None
    summary: str
    payload: dict[str, Any]
    refs: dict[str, Any]
    erased: bool
    archived: bool = False
    embedding: EmbeddingOut


class ChainOut(Out):
    """An entry's position in the chain; verdict: holds, erased, archived or broken."""

    seq: int
    prev_hash: str
    entry_hash: str
    commitment: str
    previous_id: str | None
    next_id: str | None
    verdict: str


class PriorityStep(Out):
    """One change in the history of an entry's priority."""

    previous: str
    priority: str
    reason: str
    set_by: str
    set_at: Stamp


class EntryDetailOut(EntryOut):
    """An entry with its position in the chain and the history of its priority."""

    chain: ChainOut
    priorities: list[PriorityStep]
    subjects: list[str]


class JournalOut(Out):
    """A page of entries, newest first; ``count`` is the number on this page."""

    entries: list[EntryOut]
    next_cursor: str | None
    count: int


class CountOut(Out):
    """How many entries match."""

    total: int


class PriorityIn(Strict):
    """The priority to set."""

    priority: Priority
    reason: str = Field("", strict=True, max_length=1_000)


class PriorityOut(Out):
    """The change that was made."""

    id: str
    priority: str
    previous: str
    reason: str


class BreakOut(Out):
    """One place where the chain is broken."""

    kind: str
    seq: int
    entry_id: str | None
    reason: str


class VerifyOut(Out):
    """The result of verifying the whole chain."""

    ok: bool
    count: int
    checked_at: Stamp
    break_count: int
    breaks: list[BreakOut]
    erased: int
    checkpoints: int
    unproved: int
