"""A workspace's settings of the scanner: modes of rules, policy per tier and source.

Both are settings of the workspace and change under its lock, each change with an entry
in the journal. For each rule it is counted how often people agreed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from memory import workspace_settings
from memory.files import quarantine
from memory.files.agreement import NONE, Agreement, agreement
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Tier
from memory.rules.translation import gettext
from memory.scanner import registry
from memory.scanner.model import Rule
from memory.workspace_settings import declarations

MODES: Final = declarations.MODES
DEFAULT: Final = declarations.DEFAULT_MODE
SOURCES: Final = declarations.SOURCES


@dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as the rule tester lists it; ``weight`` is what it counts here."""

    rule: Rule
    mode: str
    agreement: Agreement
    weight: float

    @property
    def is_lowered(self) -> bool:
        """Whether it counts less here than it was shipped with."""
        return self.weight < self.rule.weight

    @property
    def is_changed(self) -> bool:
        """Whether it runs differently here than it was shipped."""
        return self.is_lowered or self.mode != DEFAULT


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


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One line of the policy; an empty value is the default."""

    key: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """What people read."""
        kind, _, name = self.key.rpartition(":")
        if not kind:
            return gettext(registry.rule(name).why)
        return _place_words(kind, name)


def _place_words(kind: str, name: str) -> str:
    """Return what people read of a tier or source."""
    if kind == "source":
        return gettext(SOURCES[name])
    return gettext("tier {name}").format(name=name)


def rule(rule_id: str) -> Rule:
    match = registry.BY_ID.get(rule_id)
    if match is None:
        raise errors.NotFound
    return match


def cards(actor: Actor) -> list[RuleCard]:
    """Return every rule with its mode and agreement in this workspace."""
    agreements = agreement(actor)
    policy = quarantine.policy(actor.workspace_id)
    return [
        RuleCard(
            item,
            policy.modes.get(item.id, DEFAULT),
            agreements.get(item.id, NONE),
            policy.weights.get(item.id, item.weight),
        )
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
    tiers = [("tier", tier.value) for tier in Tier]
    sources = [("source", name) for name in SOURCES]
    return [
        PolicyLine(
            kind, name, _place_words(kind, name), policy.get(f"{kind}:{name}", "")
        )
        for kind, name in (*tiers, *sources)
    ]


# ── Changing ─────────────────────────────────────────────────────────────────
def in_force(workspace_id: str) -> dict[str, str]:
    """Return what each line of the policy is set to, by the line's key."""
    modes, actions = declarations.SCANNER_RULES, declarations.SCANNER_POLICY
    stored = workspace_settings.values(workspace_id, (modes, actions))
    rules = {item.id: DEFAULT for item in registry.rules()}
    places = dict.fromkeys(sorted(declarations.POLICY_KEYS), "")
    lines: dict[str, str] = rules | stored[modes.name] | places | stored[actions.name]
    return lines


def _check(key: str, value: str) -> None:
    if key in declarations.POLICY_KEYS:
        if value not in ("", *quarantine.ACTIONS):
            detail = gettext("action is one of {values}.")
            values = ", ".join(quarantine.ACTIONS)
            raise errors.Invalid(detail.format(values=values), code="unknown_policy")
    elif key not in registry.BY_ID:
        raise errors.Invalid(gettext("There is no such policy."), code="unknown_policy")
    elif value not in MODES:
        detail = gettext("mode is one of {values}.").format(values=", ".join(MODES))
        raise errors.Invalid(detail, code="unknown_mode")


def changes(actor: Actor, draft: Mapping[str, str]) -> list[PolicyChange]:
    """Return what a draft would change, in the order of the lists.

    A draft is the wanted value by key; a key is a rule's id or a line's key.
    """
    actor.require("scanner.read")
    for key, value in draft.items():
        _check(key, value)
    return [
        PolicyChange(key, before, draft[key])
        for key, before in in_force(actor.workspace_id).items()
        if draft.get(key, before) != before
    ]


def later_changes(actor: Actor, base: Mapping[str, str]) -> list[PolicyChange]:
    """Return the lines that are no longer set to what a person saw."""
    actor.require("scanner.read")
    return [
        PolicyChange(key, base[key], now)
        for key, now in in_force(actor.workspace_id).items()
        if base.get(key, now) != now
    ]


def save(
    draft: Mapping[str, str], *, by: Actor, base: Mapping[str, str] | None = None
) -> list[PolicyChange]:
    """Set all lines of a draft, or none; return what changed.

    ``base`` is what the person saw the draft's lines set to. A line that somebody
    changed since is a Conflict, unless it is set to what the draft says already.
    """
    by.require("scanner.manage")
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        lines, new = in_force(by.workspace_id), changes(by, draft)
        if base is not None and any(
            change.before != base.get(change.key) for change in new
        ):
            detail = gettext(
                "Somebody changed the policy meanwhile; nothing was saved."
            )
            raise errors.Conflict(detail, code="policy_changed")
        lines |= {change.key: change.after for change in new}
        tables = {
            declarations.SCANNER_RULES.name: (registry.BY_ID, DEFAULT),
            declarations.SCANNER_POLICY.name: (declarations.POLICY_KEYS, ""),
        }
        values = {
            name: {key: lines[key] for key in keys if lines[key] != default} or None
            for name, (keys, default) in tables.items()
            if any(change.key in keys for change in new)
        }
        workspace_settings.change(values, by=by)
    return new


def set_rule(rule_id: str, mode: str, *, by: Actor) -> str:
    """Switch a rule off, or to observe, hold or block; return what it was."""
    rule(rule_id)
    new = save({rule_id: mode}, by=by)
    return new[0].before if new else mode
