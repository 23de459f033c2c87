"""Every rule there is, frozen at import, and the version that names the set.

The rules themselves are data, one file a family under rules/, so that a person can
read and change them without reading code.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memory.scanner import secrets
from memory.scanner.model import Family, Rule, Severity

_HERE = Path(__file__).parent
_LISTS = ("phrases", "expressions", "needs", "also", "contains")


def _rule(family: Family, row: dict[str, Any]) -> Rule:
    ready = row | {name: tuple(row.get(name, ())) for name in _LISTS}
    ready["severity"] = Severity(row["severity"])
    return Rule(family=family, **ready)


def _read(family: Family) -> tuple[Rule, ...]:
    path = _HERE / "rules" / f"{family.value}.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    return tuple(_rule(family, row) for row in rows)


RULES: tuple[Rule, ...] = (
    *(
        rule
        for family in Family
        if family is not Family.SECRETS
        for rule in _read(family)
    ),
    *secrets.RULES,
)
BY_ID = MappingProxyType({rule.id: rule for rule in RULES})


def _version() -> str:
    digest = hashlib.sha256()
    for rule in RULES:
        digest.update(repr(rule).encode())
    digest.update((_HERE / "lexicon.txt").read_bytes())
    return "1." + digest.hexdigest()[:10]


VERSION = _version()


def rules() -> tuple[Rule, ...]:
    """Return all rules, in the order in which screens list them."""
    return RULES


def rule(rule_id: str) -> Rule:
    """Return one rule by its id."""
    return BY_ID[rule_id]
