"""Request and response shapes of consolidation and its proposals."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from episodic.consolidation.approval import REASON_CHARS, TEXT_CHARS
from memory.api.shapes import ListParams, Stamp, TextOrNull
from memory.rules.shapes import Id, Strict

State = Literal["pending", "approved", "rejected"]


class ProposalQuery(ListParams):
    """Filters of the list; what is left out means any."""

    state: State | None = None
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class RunIn(Strict):
    """Which crew to consolidate; left out, every crew of the workspace."""

    crew_id: Id | None = None


class ApproveIn(Strict):
    """Learn the rule as proposed, or as edited here."""

    version: int
    text: Annotated[str, Field(strict=True, max_length=TEXT_CHARS)] | None = None


class RejectIn(Strict):
    """Turn the rule down; the reason is kept."""

    version: int
    reason: Annotated[str, Field(strict=True, max_length=REASON_CHARS)]


class CrewRunOut(Schema):
    """What a run did for one crew."""

    crew: str
    considered: int
    proposed: list[str]
    known: int
    held: int
    refused: int
    pins: int
    pins_waiting: int
    skipped: str
    error: str


class RunOut(Schema):
    """What a run did, crew by crew."""

    crews: list[CrewRunOut]
    proposed: int


class ProposalLineOut(Schema):
    """A proposal in a list."""

    id: str
    version: int
    state: str
    crew_id: str
    crew: str = Field(validation_alias="crew.slug")
    pattern: str
    action: str
    confidence: float
    score: float
    evidence: list[str]
    runs: int
    summariser: str
    created_at: Stamp
    decided_at: Stamp | None
    decided_by: TextOrNull
    reason: TextOrNull
    was_edited: bool
    learned_label: TextOrNull
    learned_version: str | None = Field(validation_alias="learned_version_id")


class EvidenceOut(Schema):
    """An entry that supports a rule."""

    id: str
    ts: Stamp
    entry_type: str
    severity: str
    summary: str
    agent_id: str | None


class ProposalOut(ProposalLineOut):
    """A proposal with its text, what approving it would change, and what backs it."""

    text: str
    content_hash: str
    label: str
    diff: list[dict[str, str]]
    entries: list[EvidenceOut]
    evidence_gone: int
    recalls: int
    queries: int
    signals: dict[str, float]
    is_promoted: bool


class ProposalListOut(Schema):
    """A page of proposals, newest first."""

    items: list[ProposalLineOut]
    next_cursor: str | None
