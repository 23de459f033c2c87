"""The scanner rules as a workbench: searched, sorted, and measured on held texts.

A rule's hits are the held texts in which it matched, decided or not; a text that was
not held is not stored, so it counts for no rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Final

from django.utils import timezone

from memory.files import policy, scanner_words
from memory.files.policy import RuleCard
from memory.models import HeldFile
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import policy_kinds
from memory.scanner.model import Family
from memory.scanner.policy_kinds import Kind

PAGE: Final = 25
DAYS: Final = 30
MAX_HITS: Final = 5_000
FAMILIES: Final = {family.value: family.value.replace("_", " ") for family in Family}
STATES: Final = {
    "changed": gettext_noop("Changed here"),
    "off": "Off",
    "observe": "Observe",
    "hold": "Hold",
    "block": "Block",
    "hit": gettext_noop("Hit in 30 days"),
    "quiet": gettext_noop("No hit in 30 days"),
}
SORTS: Final = {
    "": gettext_noop("Family"),
    "hits": gettext_noop("Most hits"),
    "precision": gettext_noop("Lowest precision"),
    "weight": gettext_noop("Highest weight"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFilter:
    """Which rules are listed and in which order; empty matches any."""

    q: str = ""
    family: str = ""
    state: str = ""
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """Held texts by rule and day, oldest day first; ``is_cut`` when not all counted.

    ``by_kind`` are those of each kind of policy, of all days together.
    """

    by_rule: Mapping[str, list[int]]
    is_cut: bool
    by_kind: Mapping[Kind, int]


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule of the list; ``mode`` is that of the draft, where it names the rule."""

    card: RuleCard
    mode: str
    days: list[int]

    @property
    def hits(self) -> int:
        return sum(self.days)


@dataclass(frozen=True, slots=True)
class Listing:
    """The rules that match, and a page of them; ``peak`` is the busiest day's count.

    ``by_kind`` are the held texts of each kind of policy.
    """

    matching: list[RuleLine]
    page: int
    total: int
    custom_count: int
    peak: int
    is_cut: bool
    by_kind: Mapping[Kind, int]

    @property
    def rows(self) -> list[RuleLine]:
        """The rules of the page."""
        return self.matching[(self.page - 1) * PAGE : self.page * PAGE]

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.matching) // PAGE))

    @property
    def ids(self) -> set[str]:
        """The ids of the page's rules."""
        return {row.card.rule.id for row in self.rows}


def daily_hits(actor: Actor) -> Hits:
    """Return the held texts of the last days in which each rule matched."""
    actor.require("scanner.read")
    midnight = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0)
    start = midnight.replace(microsecond=0) - timedelta(days=DAYS - 1)
    rows = HeldFile.objects.filter(
        workspace_id=actor.workspace_id, received_at__gte=start
    )
    newest = rows.order_by("-received_at").values_list("received_at", "findings")
    by_rule: dict[str, list[int]] = defaultdict(lambda: [0] * DAYS)
    by_kind = Counter[Kind]()
    # In chunks: a text may have many findings.
    texts = newest[: MAX_HITS + 1].iterator(chunk_size=100)
    for number, (received_at, findings) in enumerate(texts):
        if number == MAX_HITS:
            return Hits(dict(by_rule), is_cut=True, by_kind=by_kind)
        # A clock that ran ahead counts as today.
        day = min((received_at - start).days, DAYS - 1)
        names = {finding["rule"] for finding in findings}
        by_kind.update(policy_kinds.kinds_of(names))
        for name in names:
            by_rule[name][day] += 1
    return Hits(dict(by_rule), is_cut=False, by_kind=by_kind)


def _matches(line: RuleLine, filters: RuleFilter) -> bool:
    rule, mode = line.card.rule, line.card.mode
    family = FAMILIES[rule.family]
    texts = [rule.id, rule.why, gettext(rule.why), rule.fires, family]
    text = " ".join([*texts, scanner_words.word(family)]).casefold()
    states = {
        "": True,
        "changed": line.card.is_changed,
        "hit": line.hits > 0,
        "quiet": line.hits == 0,
    }
    return (
        all(word in text for word in filters.q.casefold().split())
        and filters.family in ("", rule.family)
        and states.get(filters.state, mode == filters.state)
    )


def _sorted(lines: list[RuleLine], sort: str) -> list[RuleLine]:
    if sort == "hits":
        return sorted(lines, key=lambda line: -line.hits)
    if sort == "weight":
        return sorted(lines, key=lambda line: -line.card.rule.weight)
    if sort == "precision":
        return sorted(lines, key=_precision)
    return lines


def _precision(line: RuleLine) -> tuple[int, int]:
    """Sort by share, then by how many decisions it is made of; without any last."""
    agreement = line.card.agreement
    share = 101 if agreement.precision is None else agreement.precision
    return share, -agreement.decided


def listing(
    actor: Actor, filters: RuleFilter, draft: Mapping[str, str], page: int = 1
) -> Listing:
    """Return the rules that match, each with its hits and the draft's mode."""
    hits = daily_hits(actor)
    none = [0] * DAYS
    lines = [
        RuleLine(
            card,
            draft.get(card.rule.id, card.mode),
            hits.by_rule.get(card.rule.id, none),
        )
        for card in policy.cards(actor)
    ]
    matching = _sorted(
        [line for line in lines if _matches(line, filters)], filters.sort
    )
    last = max(1, -(-len(matching) // PAGE))
    return Listing(
        matching,
        min(max(page, 1), last),
        total=len(lines),
        custom_count=sum(line.card.is_changed for line in lines),
        peak=max((max(line.days) for line in lines), default=0),
        is_cut=hits.is_cut,
        by_kind=hits.by_kind,
    )
