"""PromptKit's memory: its fields, provenance, category, JSON and line of text."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

Scope = Mapping[str, str]
PROVENANCE: Final = "provenance"
CATEGORY: Final = "consent_category"


class Provenance(StrEnum):
    """Where a memory comes from; the caller's route decides, never the payload."""

    USER_REQUESTED = "user_requested"
    AGENT_EXTRACTED = "agent_extracted"
    SYSTEM_GENERATED = "system_generated"
    OPERATOR_CURATED = "operator_curated"


class Category(StrEnum):
    """The suggested consent categories, in order; others are allowed."""

    IDENTITY = "memory:identity"
    PREFERENCES = "memory:preferences"
    CONTEXT = "memory:context"
    LOCATION = "memory:location"
    HEALTH = "memory:health"
    HISTORY = "memory:history"


@dataclass(slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(slots=True, kw_only=True)
class Memory:
    """A memory. A store fills ``id`` and the times; ``turn_range`` is (0, 0) if unset.

    Times are UTC; a store hides memories whose ``expires_at`` is past.
    """

    content: str
    type: str = "general"
    scope: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    confidence: float = 0.8
    id: str = ""
    session_id: str = ""
    turn_range: tuple[int, int] = (0, 0)
    created_at: datetime | None = None
    accessed_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def provenance(self) -> str:
        """The provenance in the metadata; empty when unset or no text."""
        value = self.metadata.get(PROVENANCE)
        return value if isinstance(value, str) else ""


def stamp(memory: Memory, provenance: str) -> None:
    """Set a memory's provenance, whatever it was; other keys stay."""
    memory.metadata[PROVENANCE] = str(provenance)


def categorise(metadata: MutableMapping[str, Any], category: str) -> None:
    """Set a consent category, known or not; a blank one is ignored."""
    if category.strip():
        metadata[CATEGORY] = category


def moment(value: datetime | None) -> str:
    """Return a time in RFC 3339 with milliseconds and Z; the year 1 for none, as Go."""
    value = value or datetime(1, 1, 1, tzinfo=UTC)
    return value.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def as_json(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON, without optional fields that are empty."""
    data: dict[str, Any] = {
        "id": memory.id,
        "type": memory.type,
        "content": memory.content,
        "metadata": memory.metadata,
        "confidence": memory.confidence,
        "scope": memory.scope,
        "session_id": memory.session_id,
        "turn_range": list(memory.turn_range),
        "created_at": moment(memory.created_at),
        "accessed_at": moment(memory.accessed_at),
    }
    for name in ("metadata", "session_id"):
        if not data[name]:
            del data[name]
    if memory.expires_at is not None:
        data["expires_at"] = moment(memory.expires_at)
    return data


def formatted(memories: Sequence[Memory]) -> str:
    """Return one line per memory: ``[type] content (confidence: 0.9)``."""
    return "".join(
        f"[{memory.type}] {memory.content} (confidence: {memory.confidence:.1f})\n"
        for memory in memories
    )
