"""A workspace's settings of the scanner: modes of rules, policy per tier and source.

Both are settings of the workspace and change under its lock, each change with an entry
in the journal. For each rule it is counted how often people agreed with it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from memory import workspace_settings
from memory.files import quarantine
from memory.models import HeldFile, HeldState, Workspace
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.settings import Setting
from memory.rules.tiers import Tier
from memory.scanner import registry
from memory.scanner.model import Rule
from memory.workspace_settings import declarations

MODES: Final = declarations.MODES
DEFAULT: Final = declarations.DEFAULT_MODE
SOURCES: Final = declarations.SOURCES
MAX_DECISIONS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """How people decided about texts in which a rule matched."""

    confirmed: int
    released: int

    @property
    def decided(self) -> int:
        """The number of decisions about texts in which the rule matched."""
        return self.confirmed + self.released

    @property
    def precision(self) -> int | None:
        """The share that people confirmed, in percent; None without decisions."""
        return round(100 * self.confirmed / self.decided) if self.decided else None


@dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as the rule tester lists it."""

    rule: Rule
    mode: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """What happens to held verdicts of one tier or source; empty is the default."""

    kind: str
    name: str
    words: str
    action: str

    @property
    def key(self) -> str:
        """The setting's name."""
        return f"{self.kind}:{self.name}"


def rule(rule_id: str) -> Rule:
    match = registry.BY_ID.get(rule_id)
    if match is None:
        raise errors.NotFound
    return match


def agreement(actor: Actor) -> dict[str, Agreement]:
    """Return, by rule, how often people confirmed what it held and how often not.

    Discarded and redacted texts count for every rule that matched in them, released
    texts against. Only the newest decisions count.
    """
    actor.require("scanner.read")
    decisions = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    decisions = decisions.exclude(state=HeldState.HELD).order_by("-decided_at")
    rows = decisions.values_list("state", "findings")[:MAX_DECISIONS]
    confirmed: dict[str, int] = defaultdict(int)
    released: dict[str, int] = defaultdict(int)
    for state, findings in rows:
        tally = released if state == HeldState.RELEASED else confirmed
        for name in {finding["rule"] for finding in findings}:
            tally[name] += 1
    names = confirmed.keys() | released.keys()
    return {name: Agreement(confirmed[name], released[name]) for name in names}


def cards(actor: Actor) -> list[RuleCard]:
    """Return every rule with its mode and agreement in this workspace."""
    agreements = agreement(actor)
    modes = quarantine.rule_modes(actor.workspace_id)
    none = Agreement(0, 0)
    return [
        RuleCard(item, modes.get(item.id, DEFAULT), agreements.get(item.id, none))
        for item in registry.rules()
    ]


def card(actor: Actor, rule_id: str) -> RuleCard:
    """Return one rule with its mode and agreement."""
    rule(rule_id)
    return next(item for item in cards(actor) if item.rule.id == rule_id)


def lines(actor: Actor) -> list[PolicyLine]:
    """Return the policy of every tier and source."""
    actor.require("scanner.read")
    policy = workspace_settings.value(actor.workspace_id, declarations.SCANNER_POLICY)
    tiers = [("tier", tier.value, f"tier {tier.value}") for tier in Tier]
    sources = [("source", name, words) for name, words in SOURCES.items()]
    return [
        PolicyLine(kind, name, words, policy.get(f"{kind}:{name}", ""))
        for kind, name, words in (*tiers, *sources)
    ]


# ── Changing ─────────────────────────────────────────────────────────────────
def _change(by: Actor, setting: Setting[dict[str, str]], name: str, value: str) -> str:
    """Set one pair of a mapping setting under the workspace's lock; "" removes it."""
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=by.workspace_id)
        pairs = workspace_settings.value(by.workspace_id, setting).copy()
        before = pairs.pop(name, "")
        if value:
            pairs[name] = value
        if before != value:
            workspace_settings.change({setting.name: pairs or None}, by=by)
    return before


def set_rule(rule_id: str, mode: str, *, by: Actor) -> str:
    """Switch a rule off, or to observe, hold or block; return what it was."""
    by.require("scanner.manage")
    rule(rule_id)
    if mode not in MODES:
        detail = f"mode is one of {', '.join(MODES)}."
        raise errors.Invalid(detail, code="unknown_mode")
    value = "" if mode == DEFAULT else mode
    return _change(by, declarations.SCANNER_RULES, rule_id, value) or DEFAULT


def set_policy(key: str, action: str, *, by: Actor) -> str:
    """Say what happens to held verdicts of a tier or source; empty is the default."""
    by.require("scanner.manage")
    keys = {line.key for line in lines(by)}
    if key not in keys or action not in ("", *quarantine.ACTIONS):
        raise errors.Invalid("There is no such policy.", code="unknown_policy")
    return _change(by, declarations.SCANNER_POLICY, key, action)
