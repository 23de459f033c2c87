"""LangGraph's filters over values: equal, or ``$eq $ne $gt $gte $lt $lte``.

A number is compared with a number and a text with a text; anything else does not fit.
An operator that is not known is refused, never ignored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from memory.rules import errors

Holds = Callable[[Mapping[str, Any]], bool]
ABSENT: Final = object()
ORDERED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
KNOWN: Final = ("$eq", "$ne", *ORDERED)


def _same(left: object, right: object) -> bool:
    """Whether two JSON values are equal: true is not 1, and absent is nothing."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return left == right


def _sort(value: object) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else ""


def _holds(name: str, left: object, right: object) -> bool:
    if name == "$eq":
        return _same(left, right)
    if name == "$ne":
        return not _same(left, right)
    sort = _sort(left)
    return bool(sort) and sort == _sort(right) and ORDERED[name](left, right)


def _conditions(wanted: object) -> list[tuple[str, object]]:
    """Return a field's conditions; a map with no operator in it is a value."""
    if not isinstance(wanted, Mapping):
        return [("$eq", wanted)]
    named = [name for name in wanted if str(name).startswith("$")]
    if not named:
        return [("$eq", wanted)]
    if len(named) < len(wanted) or not set(named) <= set(KNOWN):
        detail = f"filter: operators are {', '.join(KNOWN)}."
        raise errors.Invalid(detail, code="bad_filter")
    return list(wanted.items())


def read(given: Mapping[str, Any] | None) -> Holds:
    """Return a filter as a test of a value; all of its fields must fit."""
    asked = [
        (field, name, right)
        for field, wanted in (given or {}).items()
        for name, right in _conditions(wanted)
    ]

    def holds(value: Mapping[str, Any]) -> bool:
        return all(
            _holds(name, value.get(field, ABSENT), right)
            for field, name, right in asked
        )

    return holds
