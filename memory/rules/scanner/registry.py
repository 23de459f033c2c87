"""Every rule there is, frozen at import, and the version that names the set."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import MappingProxyType

from memory.rules.scanner import (
    rules_agent,
    rules_exfiltration,
    rules_hidden,
    rules_override,
    rules_persistence,
    secrets,
)
from memory.rules.scanner.model import Rule

RULES: tuple[Rule, ...] = (
    *rules_override.RULES,
    *rules_exfiltration.RULES,
    *rules_persistence.RULES,
    *rules_agent.RULES,
    *rules_hidden.RULES,
    *secrets.RULES,
)
BY_ID = MappingProxyType({rule.id: rule for rule in RULES})


def _version() -> str:
    digest = hashlib.sha256()
    for rule in RULES:
        digest.update(repr(rule).encode())
    digest.update(Path(__file__).with_name("lexicon.txt").read_bytes())
    return "1." + digest.hexdigest()[:10]


VERSION = _version()


def rules() -> tuple[Rule, ...]:
    """All rules, in the order in which screens list them."""
    return RULES


def rule(rule_id: str) -> Rule:
    """One rule by its id."""
    return BY_ID[rule_id]
