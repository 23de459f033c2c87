"""LangGraph's filters over values: equal, or ``$eq $ne $gt $gte $lt $lte``.

A number is compared with a number and a text with a text; anything else does not match.
An unknown operator is refused, never ignored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from memory.rules import errors

Predicate = Callable[[Mapping[str, Any]], bool]
ABSENT: Final = object()
ORDER_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS: Final = ("$eq", "$ne", *ORDER_OPERATORS)


def _is_equal(actual: object, expected: object) -> bool:
    """Return whether two JSON values are equal: true is not 1."""
    if isinstance(actual, bool) != isinstance(expected, bool):
        return False
    return actual == expected


def _sort(value: object) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else ""


def _matches(name: str, actual: object, expected: object) -> bool:
    if name == "$eq":
        return _is_equal(actual, expected)
    if name == "$ne":
        return not _is_equal(actual, expected)
    sort = _sort(actual)
    return (
        bool(sort)
        and sort == _sort(expected)
        and ORDER_OPERATORS[name](actual, expected)
    )


def _conditions(value: object) -> list[tuple[str, object]]:
    """Return a field's conditions; a map without operators is a value."""
    if not isinstance(value, Mapping):
        return [("$eq", value)]
    operators = [name for name in value if str(name).startswith("$")]
    if not operators:
        return [("$eq", value)]
    if len(operators) < len(value) or not set(operators) <= set(OPERATORS):
        detail = f"filter: operators are {', '.join(OPERATORS)}."
        raise errors.Invalid(detail, code="bad_filter")
    return list(value.items())


def read(filters: Mapping[str, Any] | None) -> Predicate:
    """Return a filter as a predicate of values; all of its fields must match."""
    conditions = [
        (field, name, right)
        for field, value in (filters or {}).items()
        for name, right in _conditions(value)
    ]

    def holds(value: Mapping[str, Any]) -> bool:
        return all(
            _matches(name, value.get(field, ABSENT), right)
            for field, name, right in conditions
        )

    return holds
