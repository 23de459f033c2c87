"""The context of a verdict in words: what each part of it moves, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memory.files import policy
from memory.rules.tiers import Tier
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import provenance
from memory.scanner.provenance import Context, Effect, Move, Origin, Writer

PARTS: Final = {
    "origin": gettext_noop("Origin"),
    "tier": gettext_noop("Tier"),
    "writer": gettext_noop("Writer"),
}
ORIGINS: Final[dict[str, str]] = {
    Origin.AGENT: gettext_noop("an agent’s own words"),
    **policy.SOURCES,
    Origin.PROMPT: gettext_noop("kept text on its way into a prompt"),
}
WRITERS: Final[dict[str, str]] = {
    Writer.OWN: gettext_noop("an agent, into its own memory"),
    Writer.TEAMMATE: gettext_noop("an agent, into memory that others read"),
    Writer.USER: gettext_noop("an agent, as its user asked"),
    Writer.OPERATOR: gettext_noop("an operator"),
    Writer.UNKNOWN: gettext_noop("nobody who signed in"),
}
# Why each of them moves the thresholds, or does not.
_REASONS: Final[dict[str, str]] = {
    Origin.AGENT: gettext_noop("The scale of comparison."),
    Origin.TOOL: gettext_noop("What a tool call writes often repeats what it read."),
    Origin.WEB: gettext_noop("Anybody can write a page."),
    Origin.IMPORT: gettext_noop("The texts were written elsewhere."),
    Origin.DISK: gettext_noop("The writer is unknown, and that counts below."),
    Origin.PROVIDER: gettext_noop("The key says who writes, and that counts below."),
    Origin.RESTORE: gettext_noop("The text was kept before."),
    Origin.OPERATOR: gettext_noop("Operators write the rules of agents: no attack."),
    Origin.PROMPT: gettext_noop("Nothing is written; no policy is asked about."),
    Writer.OWN: gettext_noop("It reaches only its writer."),
    Writer.TEAMMATE: gettext_noop("One agent’s mistake would become a whole crew’s."),
    Writer.USER: gettext_noop("It reaches only the agent that the user speaks to."),
    Writer.UNKNOWN: gettext_noop("Nobody answers for it."),
}
_START: Final = gettext_noop("Agents read it when they start, before any task.")
_OPERATOR: Final = gettext_noop("An operator answers for it; no policy holds it.")
_OTHER_TIER: Final = gettext_noop("One agent’s own, or read where it is asked for.")


@dataclass(frozen=True, slots=True)
class Row:
    """One value of a part in words, with what it moves."""

    part: str
    words: str
    why: str
    suspicious: float
    held: float


def _words(part: str, value: str) -> str:
    table = {"origin": ORIGINS, "writer": WRITERS}.get(part, {})
    return gettext(table[value]) if value in table else value


def _reason(part: str, value: str) -> str:
    if part == "tier":
        return gettext(_START if value in provenance.START_TIERS else _OTHER_TIER)
    if part == "writer" and value == Writer.OPERATOR:
        return gettext(_OPERATOR)
    return gettext(_REASONS.get(value, ""))


def _row(effect: Effect) -> Row:
    part, value = effect.part, effect.value
    words = _words(part, value) or gettext("no tier")
    reason = _reason(part, value) if value else ""
    return Row(gettext(PARTS[part]), words, reason, effect.suspicious, effect.held)


def rows(context: Context) -> list[Row]:
    """Return the parts of one context, as a verdict had them."""
    return [_row(effect) for effect in context.effects]


def table() -> list[Row]:
    """Return every value of every part, as the rules page lists them."""
    none = Move()
    tiers = {tier.value: provenance.TIERS.get(tier.value, none) for tier in Tier}
    parts = {
        "origin": provenance.ORIGINS.items(),
        "tier": tiers.items(),
        "writer": provenance.WRITERS.items(),
    }
    return [
        _row(Effect(part, value, *move))
        for part, moves in parts.items()
        for value, move in moves
    ]
