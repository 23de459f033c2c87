"""Who wrote a text, where it came from and where it goes: what each moves.

The caller says what it established by signing in, never what a text says of itself.
The origin moves the two thresholds by a fixed amount. So do the tier and the writer, of
which only the stricter counts: both say that a text reaches others, or that nobody
answers for it. Policy is judged at a write, wherever no operator wrote the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

SUSPICIOUS_FROM: Final = 0.4
HELD_FROM: Final = 0.72


class Origin(StrEnum):
    """How a text came in."""

    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"
    DISK = "disk"
    PROVIDER = "provider"
    RESTORE = "restore"
    OPERATOR = "operator"
    # Not a write: text that is kept already, on its way into a prompt.
    PROMPT = "prompt"


class Writer(StrEnum):
    """Whose hand it was, seen from the memory it goes to."""

    OWN = "own"
    TEAMMATE = "teammate"
    USER = "user"
    OPERATOR = "operator"
    UNKNOWN = "unknown"


class Move(NamedTuple):
    """By how much a part moves the thresholds; below zero is stricter."""

    suspicious: float = 0.0
    held: float = 0.0


_NONE: Final = Move()
ORIGINS: Final[Mapping[Origin, Move]] = MappingProxyType(
    {
        Origin.AGENT: _NONE,
        Origin.TOOL: Move(-0.05, -0.04),
        Origin.WEB: Move(-0.05, -0.07),
        Origin.IMPORT: Move(-0.05, -0.04),
        Origin.DISK: _NONE,
        Origin.PROVIDER: _NONE,
        Origin.RESTORE: _NONE,
        Origin.OPERATOR: Move(0.1, 0.1),
        Origin.PROMPT: _NONE,
    }
)
# Tiers that agents read when they start, before any task; all others move nothing.
START_TIERS: Final = ("CREW", "PERSONA", "pins")
TIERS: Final[Mapping[str, Move]] = MappingProxyType(
    dict.fromkeys(START_TIERS, Move(0.0, -0.04))
)
WRITERS: Final[Mapping[Writer, Move]] = MappingProxyType(
    {
        Writer.OWN: _NONE,
        Writer.TEAMMATE: Move(0.0, -0.04),
        Writer.USER: _NONE,
        Writer.OPERATOR: _NONE,
        Writer.UNKNOWN: Move(-0.05, -0.04),
    }
)
# Sources by their origin: each origin, and what is one by another name.
_SOURCES: Final[Mapping[str, Origin]] = MappingProxyType(
    {origin.value: origin for origin in Origin} | {"operator_curated": Origin.OPERATOR}
)
# What an operator brings in or leaves in place is not what the operator wrote.
_OF_OTHERS: Final = frozenset({Origin.WEB, Origin.IMPORT, Origin.DISK})


class Effect(NamedTuple):
    """One part of the context, and what it moved."""

    part: str
    value: str
    suspicious: float
    held: float


@dataclass(frozen=True, slots=True)
class Context:
    """What a text was judged as, with the thresholds that came of it."""

    origin: str
    tier: str
    writer: str
    effects: tuple[Effect, ...]
    suspicious: float
    held: float
    judges_policy: bool

    def as_map(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "origin": self.origin,
            "tier": self.tier,
            "writer": self.writer,
            "suspicious_from": self.suspicious,
            "held_from": self.held,
            "policy": self.judges_policy,
            "effects": [effect._asdict() for effect in self.effects],
        }

    @classmethod
    def of_map(cls, fields: Mapping[str, Any]) -> Context:
        """Return what ``as_map`` wrote."""
        return cls(
            fields["origin"],
            fields["tier"],
            fields["writer"],
            tuple(Effect(**effect) for effect in fields["effects"]),
            fields["suspicious_from"],
            fields["held_from"],
            fields["policy"],
        )


def origin_of(source: str | None) -> Origin:
    """Return the origin of a source; one that is not listed counts as an agent's."""
    return _SOURCES.get(source or "", Origin.AGENT)


def _judges_policy(origin: Origin, writer: Writer) -> bool:
    """Whether a person must decide: not about an operator's own words, nor at a read.

    At a read nobody is asked, not about an entry of the journal either, which is
    scanned only then.
    """
    if origin in (Origin.OPERATOR, Origin.PROMPT):
        return False
    return writer is not Writer.OPERATOR or origin in _OF_OTHERS


def context(
    source: str | None, tier: str | None = None, writer: str | None = None
) -> Context:
    """Return the context of a write; without a writer it is into one's own memory."""
    origin = origin_of(source)
    hand = Writer(writer or Writer.OWN)
    by_tier, by_writer = TIERS.get(tier or "", _NONE), WRITERS[hand]
    if min(by_tier.held, by_writer.held) == by_tier.held:
        by_writer = _NONE._replace(suspicious=by_writer.suspicious)
    else:
        by_tier = _NONE
    effects = (
        Effect("origin", origin.value, *ORIGINS[origin]),
        Effect("tier", tier or "", *by_tier),
        Effect("writer", hand.value, *by_writer),
    )
    return Context(
        origin.value,
        tier or "",
        hand.value,
        effects,
        round(SUSPICIOUS_FROM + sum(effect.suspicious for effect in effects), 4),
        round(HELD_FROM + sum(effect.held for effect in effects), 4),
        _judges_policy(origin, hand),
    )
