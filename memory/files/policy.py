"""What a workspace lets the scanner do: modes of rules, policy per tier and source.

Both live in the workspace's settings and change under its lock, each change with an
entry in the journal. Beside each rule stands how often people agreed with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from memory import journal
from memory.files import quarantine
from memory.models import HeldFile, HeldState, Workspace
from memory.rules import errors
from memory.rules.actors import Actor
from memory.rules.entries import NewEntry, Severity
from memory.rules.scanner import registry
from memory.rules.scanner.model import Mode, Rule
from memory.rules.tiers import Tier

MODES: Final = tuple(mode.value for mode in Mode)
DEFAULT: Final = Mode.HOLD.value
SOURCES: Final = {
    "tool": "agent’s tool call",
    "web": "fetched page, not authenticated",
    "import": "import",
    "disk": "file found on disk",
    "operator": "written by an operator",
    "provider": "provider interface",
    "restore": "restored version",
}
COUNTED: Final = 5_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """How people decided about texts in which a rule fired."""

    confirmed: int
    released: int

    @property
    def decided(self) -> int:
        """All decisions that tell something about the rule."""
        return self.confirmed + self.released

    @property
    def precision(self) -> int | None:
        """The share that people confirmed, in percent; None without decisions."""
        return round(100 * self.confirmed / self.decided) if self.decided else None


@dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as the workbench lists it."""

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
    """Return a rule by its id."""
    found = registry.BY_ID.get(rule_id)
    if found is None:
        raise errors.NotFound
    return found


def agreement(actor: Actor) -> dict[str, Agreement]:
    """Return, by rule, how often people confirmed what it held and how often not.

    Discarded and redacted texts confirm every rule that fired in them; released ones
    speak against each. The newest decisions count.
    """
    actor.require("scanner.read")
    decided = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    decided = decided.exclude(state=HeldState.HELD).order_by("-decided_at")
    rows = decided.values_list("state", "findings")[:COUNTED]
    for_it: dict[str, int] = defaultdict(int)
    against: dict[str, int] = defaultdict(int)
    for state, findings in rows:
        tally = against if state == HeldState.RELEASED else for_it
        for name in {found["rule"] for found in findings}:
            tally[name] += 1
    names = for_it.keys() | against.keys()
    return {name: Agreement(for_it[name], against[name]) for name in names}


def cards(actor: Actor) -> list[RuleCard]:
    """Return every rule with its mode here and what people made of it."""
    told = agreement(actor)
    modes = quarantine.rule_modes(actor.workspace_id)
    none = Agreement(0, 0)
    return [
        RuleCard(one, modes.get(one.id, DEFAULT), told.get(one.id, none))
        for one in registry.rules()
    ]


def card(actor: Actor, rule_id: str) -> RuleCard:
    """Return one rule of the workbench."""
    rule(rule_id)
    return next(one for one in cards(actor) if one.rule.id == rule_id)


def lines(actor: Actor) -> list[PolicyLine]:
    """Return the policy of every tier and source."""
    actor.require("scanner.read")
    found = Workspace.objects.get(pk=actor.workspace_id).settings
    policy = found.get("scanner", {}).get("policy", {})
    tiers = [("tier", tier.value, f"tier {tier.value}") for tier in Tier]
    sources = [("source", name, words) for name, words in SOURCES.items()]
    return [
        PolicyLine(kind, name, words, policy.get(f"{kind}:{name}", ""))
        for kind, name, words in (*tiers, *sources)
    ]


# ── Changing ─────────────────────────────────────────────────────────────────
def _change(by: Actor, part: str, name: str, value: str) -> str:
    """Set one value of the scanner's settings under the workspace's lock."""
    rows = Workspace.objects.select_for_update()
    workspace = rows.get(pk=by.workspace_id)
    settings: dict[str, Any] = dict(workspace.settings)
    scanner = dict(settings.get("scanner", {}))
    values: dict[str, str] = dict(scanner.get(part, {}))
    before = values.pop(name, "")
    if value:
        values[name] = value
    settings["scanner"] = scanner | {part: values}
    workspace.settings = settings
    workspace.save(update_fields=["settings"])
    return before


def _record(by: Actor, entry_type: str, summary: str, told: Mapping[str, str]) -> None:
    new = NewEntry(
        entry_type=entry_type,
        severity=Severity.NOTICE,
        summary=summary,
        payload=dict(told),
    )
    journal.write([new], by=by)


def set_rule(rule_id: str, mode: str, *, by: Actor) -> str:
    """Switch a rule off, or to observe, hold or block; return what it was."""
    by.require("scanner.manage")
    rule(rule_id)
    if mode not in MODES:
        detail = f"mode is one of {', '.join(MODES)}."
        raise errors.Invalid(detail, code="unknown_mode")
    with transaction.atomic():
        value = "" if mode == DEFAULT else mode
        before = _change(by, "rules", rule_id, value) or DEFAULT
        told = {"rule": rule_id, "previous": before, "mode": mode}
        said = f"Rule {rule_id} set to {mode}, was {before}"
        _record(by, "scanner.rule_changed", said, told)
    return before


def set_policy(key: str, action: str, *, by: Actor) -> str:
    """Say what happens to held verdicts of a tier or source; empty is the default."""
    by.require("scanner.manage")
    known = {line.key for line in lines(by)}
    if key not in known or action not in ("", *quarantine.ACTIONS):
        raise errors.Invalid("There is no such policy.", code="unknown_policy")
    with transaction.atomic():
        before = _change(by, "policy", key, action)
        shown, was = action or "default", before or "default"
        told = {"policy": key, "previous": was, "action": shown}
        said = f"Policy {key} set to {shown}, was {was}"
        _record(by, "scanner.policy_changed", said, told)
    return before
