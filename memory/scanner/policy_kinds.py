"""What a person must decide about: the kinds of policy, and what each of them costs.

A kind is a group of rules of the family *policy*. Polite words hide nothing from it:
it does not ask whether a text is an attack, but whether somebody may say this alone.
"""

from __future__ import annotations

import math
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner import engine, registry, scoring
from memory.scanner.model import Family, Mode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from memory.scanner.provenance import Context


class Kind(StrEnum):
    """What an instruction would change."""

    MONEY = "money"
    RECIPIENTS = "recipients"
    LIMITS = "limits"
    PERMISSIONS = "permissions"
    RETENTION = "retention"
    RECORDS = "records"
    AUTHOR = "author"
    SENDING = "sending"
    REQUESTS = "requests"


RULES: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        Kind.MONEY: ("policy.money", "policy.bank_details", "policy.payee"),
        Kind.RECIPIENTS: ("policy.changed_terms", "policy.forwarding"),
        Kind.LIMITS: ("policy.limits", "policy.approval"),
        Kind.PERMISSIONS: ("policy.permissions",),
        Kind.RETENTION: ("policy.retention",),
        Kind.RECORDS: ("policy.records",),
        Kind.AUTHOR: ("policy.writer_address",),
        Kind.SENDING: ("policy.recipients",),
        Kind.REQUESTS: ("policy.requests", "policy.terms"),
    }
)
KIND_OF: Final = MappingProxyType(
    {rule: kind for kind, rules in RULES.items() for rule in rules}
)
ALL_OFF: Final = MappingProxyType(
    {
        rule.id: Mode.OFF.value
        for rule in registry.rules()
        if rule.family is Family.POLICY
    }
)


class Treatment(StrEnum):
    """What becomes of a text with one full finding of a kind and no other."""

    CLEAN = "kept"
    MARKED = "marked"
    HELD = "held"
    REFUSED = "refused"


def treatment(kind: Kind, context: Context, modes: Mapping[str, str]) -> Treatment:
    """Return what the heaviest rule of a kind does by itself in a context."""
    if not context.judges_policy:
        return Treatment.CLEAN
    rules = [registry.rule(rule_id) for rule_id in RULES[kind]]
    active = [
        (rule.weight, modes.get(rule.id, Mode.HOLD.value))
        for rule in rules
        if modes.get(rule.id) != Mode.OFF
    ]
    limits = scoring.limits(context)
    weights = [weight for weight, mode in active if mode != Mode.OBSERVE]
    blocking = [weight for weight, mode in active if mode == Mode.BLOCK]
    if max(blocking, default=0.0) >= limits.suspicious:
        return Treatment.REFUSED
    if max(weights, default=0.0) >= limits.held:
        return Treatment.HELD
    heaviest = max((weight for weight, _ in active), default=0.0)
    return Treatment.MARKED if heaviest >= limits.suspicious else Treatment.CLEAN


# ── What it costs ────────────────────────────────────────────────────────────
class Price(NamedTuple):
    """How many texts of some days are held for a policy alone, in all and by kind.

    A text may have findings of several kinds.
    """

    texts: int
    days: int
    held: int
    by_kind: Mapping[Kind, int]

    @property
    def per_thousand(self) -> float:
        return 1000 * self.held / self.texts

    @property
    def per_day(self) -> float:
        return self.held / self.days

    @property
    def per_thousand_bound(self) -> float:
        """Held texts of 1,000 with 95 % certainty, at most.

        The bound of a Poisson count, as Wilson and Hilferty approximate it.
        """
        count = self.held + 1
        bound = count * (1 - 1 / (9 * count) + 1.645 / (3 * math.sqrt(count))) ** 3
        return 1000 * bound / self.texts


def kinds_of(rules: Collection[str]) -> set[Kind]:
    """Return the kinds of which one of the rules is."""
    return {KIND_OF[rule] for rule in rules if rule in KIND_OF}


def price(texts: Iterable[str], days: int) -> Price:
    """Measure texts as agents' writes into their own memory."""
    count, held_count, by_kind = 0, 0, dict.fromkeys(Kind, 0)
    for text in texts:
        count += 1
        verdict = engine.scan(text, source="agent", tier="AGENT")
        kinds = kinds_of({finding.rule for finding in verdict.findings})
        if not verdict.is_held or not kinds:
            continue
        if engine.scan(text, source="agent", tier="AGENT", modes=ALL_OFF).is_held:
            continue
        held_count += 1
        for kind in kinds:
            by_kind[kind] += 1
    return Price(count, days, held_count, by_kind)


# Measured by .ci/policy_price.py with the rules as they are: the demo's five weeks of
# entries with its files and records, and once the work journal of a software team.
DEMO: Final = Price(2087, 35, 0, {})
JOURNAL: Final = Price(1881, 193, 0, {})
