"""The closed list of memory tiers: caps, keys, labels, and what may be done to each.

A label is what callers see of a file: ``AGENT.md``, ``daily/2026-05-21.md``. Labels and
(tier, key) pairs are exact inverses of each other, and nothing that is not a label can
become a path: odd names, traversal and tricks of case or Unicode cannot be expressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop


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


_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


def _bad_key(message: str) -> errors.Invalid:
    return errors.bad_field("key", message, code="bad_key")


def day_key(key: str) -> str:
    """Return a real calendar date written YYYY-MM-DD, or raise Invalid."""
    if _DATE.fullmatch(key):
        try:
            return date.fromisoformat(key).isoformat()
        except ValueError:
            pass
    message = gettext(
        "The key of daily and learned is a real date, written YYYY-MM-DD."
    )
    raise _bad_key(message)


def slug_key(key: str) -> str:
    """Return a peer's slug, or raise Invalid."""
    if _SLUG.fullmatch(key):
        return key
    message = gettext(
        "The key of peers is lower-case letters, digits and dashes, 64 at most."
    )
    raise _bad_key(message)


@dataclass(frozen=True, slots=True)
class TierRule:
    """What one tier allows. ``cap`` is in bytes of the whole file, 0 means none.

    A tier has one file with the name ``file``, or a file for each key; ``key`` returns
    a valid key or raises Invalid, ``key_is`` says what the key is.
    """

    cap: int
    file: str = ""
    key: Callable[[str], str] | None = None
    key_is: str = ""
    shared: bool = False
    by_tools: bool = True


_DAY: Final = gettext_noop("the day, written YYYY-MM-DD.")
RULES: Final[dict[Tier, TierRule]] = {
    Tier.AGENT: TierRule(4_000, "AGENT.md"),
    Tier.CREW: TierRule(4_000, "CREW.md", shared=True),
    Tier.PERSONA: TierRule(1_500, "PERSONA.md", by_tools=False),
    Tier.PINS: TierRule(8_000, "pins.md"),
    Tier.DAILY: TierRule(30_000, key=day_key, key_is=_DAY),
    Tier.PEERS: TierRule(
        1_500, key=slug_key, key_is=gettext_noop("whom the card is about.")
    ),
    Tier.LESSONS: TierRule(0, "lessons.md", by_tools=False),
    # Rules that people approved; tools read and search them, consolidation writes.
    Tier.LEARNED: TierRule(0, key=day_key, key_is=_DAY, shared=True, by_tools=False),
}
WARN_SHARE: Final = 0.8
# The tiers that have one file a day.
DATED: Final = (Tier.DAILY, Tier.LEARNED)
# Written by consolidation only: not by imports, providers or tools.
SYSTEM_TIERS: Final = (Tier.LESSONS, Tier.LEARNED)
# The limit of tiers without a cap.
HARD_CAP: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class Place:
    """A tier and, where it has one, a canonical key."""

    tier: Tier
    key: str = ""

    @property
    def label(self) -> str:
        """The file as callers see it."""
        return self.rule.file or f"{self.tier.value}/{self.key}.md"

    @property
    def rule(self) -> TierRule:
        """What the tier allows."""
        return RULES[self.tier]

    @property
    def parts(self) -> tuple[str, ...]:
        """The label as path segments."""
        return tuple(self.label.split("/"))


def tier_named(text: str) -> Tier:
    """Return the tier of this spelling, or raise Invalid."""
    try:
        return Tier(text)
    except ValueError:
        allowed = ", ".join(t.value for t in Tier)
        message = gettext("tier is one of {allowed}.").format(allowed=allowed)
        raise errors.Invalid(message, code="unknown_tier") from None


def place(tier: str, key: str | None) -> Place:
    """Return the canonical place of a caller's tier and key; Invalid for a bad one."""
    tier_value = tier_named(tier)
    rule = RULES[tier_value]
    if rule.key is None:
        if key:
            message = gettext("{tier} takes no key.")
            raise _bad_key(message.format(tier=tier_value.value))
        return Place(tier_value)
    if not key:
        message = gettext("{tier} needs a key: {what}")
        what = gettext(rule.key_is)
        raise _bad_key(message.format(tier=tier_value.value, what=what))
    return Place(tier_value, rule.key(key))


def split(label: str) -> Place | None:
    """Return the place of a label, None for anything that is not a label."""
    for tier, rule in RULES.items():
        if rule.key is None and label == rule.file:
            return Place(tier)
        key = label.removeprefix(f"{tier.value}/").removesuffix(".md")
        if rule.key is not None and label == f"{tier.value}/{key}.md":
            try:
                return Place(tier, rule.key(key))
            except errors.Invalid:
                return None
    return None


def usage(size: int, cap: int) -> str:
    """Return how full a file is, in words a model can act on."""
    if not cap:
        return f"{size:,} bytes, no cap"
    return f"{size:,} of {cap:,} bytes, {round(100 * size / cap)}%"
