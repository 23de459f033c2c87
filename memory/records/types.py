"""What callers of the records hand in and get back."""

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
    """Who put a record there. The door decides, whatever a payload says."""

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
class Alike:
    """A record that says nearly the same as one just saved; similarity is 0..1."""

    record_id: str
    content: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a draft, and what says nearly the same already."""

    record: Record
    action: Action
    alike: list[Alike] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records; every field narrows, and what is empty does not.

    ``owner`` is whose: an agent reaches its own and its crew's shared records, and
    names itself; for a person None is the workspace, and ``crew_id`` and ``agent_id``
    pick among it. ``under`` is a namespace or what begins with it and a full stop.
    ``filter`` is an expression as in ``memory.rules.filters``. ``as_of`` asks for what
    held then. ``expired`` None is both kinds; only people see what has expired.
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
    """One page. It may be short while a cursor is left, when a filter is sparse."""

    rows: list[Record]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers a question.

    ``score`` is the fused rank in 0..1, of one answer alone; ``similarity`` the cosine,
    None without a vector; ``relevance`` the better of the cosine and the share of the
    question's words, 0..1, which means the same in every answer.
    """

    record: Record
    score: float
    similarity: float | None = None
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, best first. ``withheld`` hits are what no model may see."""

    hits: list[Hit]
    withheld: int = 0
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """One step of a record's history; ``author`` is an id, of whom its type says."""

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
    """What to change of a record; what is None, or KEEP, stays."""

    content: str | Callable[[str], str] | None = None
    metadata: dict[str, Any] | None = None
    confidence: float | None = None
    kind: str | None = None
    expires_at: datetime | Keep | None = KEEP
    subjects: tuple[str, ...] = ()
