"""The closed list of memory tiers: caps, keys, labels, and what may be done to each.

A label is what callers see of a file: ``AGENT.md``, ``daily/2026-05-21.md``. Labels and
(tier, key) pairs are exact inverses of each other, and nothing that is not a label can
become a path: odd names, traversal and tricks of case or Unicode cannot be expressed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from memory.rules import errors


class Tier(StrEnum):
    """A kind of memory file with its own limits; the spelling is part of the API."""

    AGENT = "AGENT"
    CREW = "CREW"
    PERSONA = "PERSONA"
    PINS = "pins"
    DAILY = "daily"
    PEERS = "peers"
    LESSONS = "lessons"
    LEARNED = "learned"


class WriteMode(StrEnum):
    """How a write treats the present text; there is no default."""

    REPLACE = "replace"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class TierRule:
    """What one tier allows. ``cap`` is in bytes of the whole file, 0 means none."""

    cap: int
    shared: bool = False
    keyed: bool = False
    by_tools: bool = True


RULES: Final[dict[Tier, TierRule]] = {
    Tier.AGENT: TierRule(cap=4_000),
    Tier.CREW: TierRule(cap=4_000, shared=True),
    Tier.PERSONA: TierRule(cap=1_500, by_tools=False),
    Tier.PINS: TierRule(cap=8_000),
    Tier.DAILY: TierRule(cap=30_000, keyed=True),
    Tier.PEERS: TierRule(cap=1_500, keyed=True),
    Tier.LESSONS: TierRule(cap=0, by_tools=False),
    # Rules that people approved; tools read and search them, consolidation writes.
    Tier.LEARNED: TierRule(cap=0, shared=True, keyed=True, by_tools=False),
}
WARN_SHARE: Final = 0.8
# The tiers that have one file a day.
DATED: Final = (Tier.DAILY, Tier.LEARNED)
# Written by consolidation only: not by imports, providers or tools.
SYSTEM_TIERS: Final = (Tier.LESSONS, Tier.LEARNED)
# The limit of tiers without a cap.
HARD_CAP: Final = 1_048_576

_FILES: Final = {
    Tier.AGENT: "AGENT.md",
    Tier.CREW: "CREW.md",
    Tier.PERSONA: "PERSONA.md",
    Tier.PINS: "pins.md",
    Tier.LESSONS: "lessons.md",
}
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Place:
    """A tier and, where it has one, a canonical key."""

    tier: Tier
    key: str = ""

    @property
    def label(self) -> str:
        """The file as callers see it."""
        if self.tier in _FILES:
            return _FILES[self.tier]
        return f"{self.tier.value}/{self.key}.md"

    @property
    def rule(self) -> TierRule:
        """What the tier allows."""
        return RULES[self.tier]

    @property
    def parts(self) -> tuple[str, ...]:
        """The label as path segments."""
        return tuple(self.label.split("/"))


def _bad_key(message: str) -> errors.Invalid:
    return errors.Invalid(
        message,
        code="bad_key",
        errors=[{"field": "key", "code": "bad_key", "message": message}],
    )


def day_key(key: str) -> str:
    """Return a real calendar date written YYYY-MM-DD, or raise Invalid."""
    if _DATE.fullmatch(key):
        try:
            return date.fromisoformat(key).isoformat()
        except ValueError:
            pass
    message = "The key of daily and learned is a real date, written YYYY-MM-DD."
    raise _bad_key(message)


def slug_key(key: str) -> str:
    """Return a peer's slug, or raise Invalid."""
    if _SLUG.fullmatch(key):
        return key
    message = "The key of peers is lower-case letters, digits and dashes, 64 at most."
    raise _bad_key(message)


def tier_named(text: str) -> Tier:
    """Return the tier of this spelling, or raise Invalid."""
    try:
        return Tier(text)
    except ValueError:
        allowed = ", ".join(t.value for t in Tier)
        message = f"tier is one of {allowed}."
        raise errors.Invalid(message, code="unknown_tier") from None


def place(tier: str, key: str | None) -> Place:
    """Return the canonical place of a caller's tier and key.

    A dated tier and peers need a key, every other tier takes none. Raises Invalid.
    """
    tier_value = tier_named(tier)
    if tier_value in DATED:
        if not key:
            message = f"{tier_value.value} needs a key: the day, written YYYY-MM-DD."
            raise _bad_key(message)
        return Place(tier_value, day_key(key))
    if tier_value is Tier.PEERS:
        if not key:
            message = "peers needs a key: whom the card is about."
            raise _bad_key(message)
        return Place(tier_value, slug_key(key))
    if key:
        message = f"{tier_value.value} takes no key."
        raise _bad_key(message)
    return Place(tier_value)


def split(label: str) -> Place | None:
    """Return the place of a label, None for anything that is not a label."""
    for tier, name in _FILES.items():
        if label == name:
            return Place(tier)
    folder, slash, name = label.partition("/")
    if not slash or not name.endswith(".md"):
        return None
    key = name.removesuffix(".md")
    try:
        if folder in DATED:
            return Place(Tier(folder), day_key(key))
        if folder == Tier.PEERS.value:
            return Place(Tier.PEERS, slug_key(key))
    except errors.Invalid:
        return None
    return None


def usage(size: int, cap: int) -> str:
    """Return how full a file is, in words a model can act on."""
    if not cap:
        return f"{size:,} bytes, no cap"
    return f"{size:,} of {cap:,} bytes, {round(100 * size / cap)}%"
