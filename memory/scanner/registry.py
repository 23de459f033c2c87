"""Every rule, loaded at import, and the version of the set.

The rules are data, one file a family under rules/, to be read and changed without
reading code.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memory.scanner.model import Family, Rule, Severity

_FOLDER = Path(__file__).parent
_LISTS = ("combinations", "phrases", "expressions")


def _rule(family: Family, row: dict[str, Any]) -> Rule:
    fields = row | {name: tuple(row.get(name, ())) for name in _LISTS}
    fields["severity"] = Severity(row["severity"])
    if family is Family.SECRETS:
        fields["expressions"] = ("|".join(row["expressions"]),)
        # The examples are in parts.
        fields |= {name: "".join(row[name]) for name in ("fires", "quiet")}
    return Rule(family=family, **fields)


def _read(family: Family) -> tuple[Rule, ...]:
    path = _FOLDER / "rules" / f"{family.value}.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    return tuple(_rule(family, row) for row in rows)


RULES: tuple[Rule, ...] = tuple(rule for family in Family for rule in _read(family))
BY_ID = MappingProxyType({rule.id: rule for rule in RULES})


def _version() -> str:
    digest = hashlib.sha256()
    for rule in RULES:
        digest.update(repr(rule).encode())
    for path in (_FOLDER / "lexicon.txt", *sorted(_FOLDER.glob("languages/*.txt"))):
        digest.update(path.read_bytes())
    return "1." + digest.hexdigest()[:10]


VERSION = _version()


def rules() -> tuple[Rule, ...]:
    """Return all rules, in the order in which screens list them."""
    return RULES


def rule(rule_id: str) -> Rule:
    return BY_ID[rule_id]
