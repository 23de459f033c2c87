"""Parameters and results of the records service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Final

from memory.files.paths import Owner
from memory.models import Record
from memory.rules.scopes import Scope


class Provenance(StrEnum):
    """Who wrote a record. The way in decides it, never the payload."""

    USER_REQUESTED = "user_requested"
    AGENT_EXTRACTED = "agent_extracted"
    SYSTEM_GENERATED = "system_generated"
    OPERATOR_CURATED = "operator_curated"


class Match(StrEnum):
    """How a scope is compared: the whole map, or each named part."""

    EXACT = "exact"
    NARROW = "narrow"


class Action(StrEnum):
    """What saving did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class Order(StrEnum):
    """How a list is ordered: last changed first, or in the order of creation."""

    NEWEST = "newest"
    OLDEST = "oldest"


class Keep(Enum):
    """Stands for "as it is" where None has a meaning of its own."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class SimilarRecord:
    """A record with nearly the same content as a saved one; similarity is 0..1."""

    record_id: str
    content: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Saved:
    """The saved record, what saving did, and similar existing records."""

    record: Record
    action: Action
    alike: list[SimilarRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria for records; every field narrows the result, an empty one does not.

    ``owner``: an agent passes itself and gets its own and its crew's shared records;
    for a person None is the workspace, narrowed by ``crew_id`` and ``agent_id``.
    ``under`` is a namespace, with those that begin with it and a full stop.
    ``filter`` is an expression as in ``memory.rules.filters``. ``as_of`` selects the
    versions of that time. ``expired`` None is both; only people get expired records.
    """

    owner: Owner | None = None
    crew_id: str | None = None
    agent_id: str | None = None
    scope: Scope = field(default_factory=Scope)
    match: Match = Match.NARROW
    under: str = ""
    kinds: tuple[str, ...] = ()
    provenances: tuple[str, ...] = ()
    session_id: str = ""
    external_id: str = ""
    min_confidence: float = 0.0
    statuses: tuple[str, ...] = ("current",)
    expired: bool | None = False
    text: str = ""
    filter: Mapping[str, Any] | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page; with a sparse filter it may be short although there is a cursor."""

    rows: list[Record]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A hit of a search.

    ``score`` is the fused rank in 0..1, of one answer alone; ``similarity`` the cosine,
    None without a vector; ``relevance`` the better of the cosine and the share of the
    question's words, 0..1, which means the same in every answer.
    """

    record: Record
    score: float
    similarity: float | None = None
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search result, best first; ``withheld`` is the number of unsafe hits."""

    hits: list[Hit]
    withheld: int = 0
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a record; ``author`` is an id, ``author_type`` says of what."""

    id: str
    number: int
    content: str
    metadata: dict[str, Any]
    kind: str
    confidence: float
    provenance: str
    created_at: datetime
    parent_id: str | None
    event: str
    author: str
    author_type: str
    reason: str
    entry_id: str
    valid_to: datetime | None = None
    other_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """Changes to a record; None or KEEP leaves a field as it is."""

    content: str | Callable[[str], str] | None = None
    metadata: dict[str, Any] | None = None
    confidence: float | None = None
    kind: str | None = None
    expires_at: datetime | Keep | None = KEEP
    subjects: tuple[str, ...] = ()
