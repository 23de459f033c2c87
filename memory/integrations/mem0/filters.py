"""mem0's filters as a scope and a filter expression of ours; unknown parts are refused.

A filter is a map of fields, or ``AND``, ``OR`` and ``NOT`` over such maps. The entity
ids become the scope, so they are allowed at the top or below ``AND`` only: under ``OR``
they would have to widen what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memory.integrations.mem0.schemas import ENTITIES
from memory.rules import errors

ANY_ID: Final = "*"
DEPTH: Final = 6
OPERATORS: Final = {
    "eq": "eq",
    "ne": "neq",
    "gt": "gt",
    "gte": "gte",
    "lt": "lt",
    "lte": "lte",
    "in": "in",
    "contains": "contains",
    "icontains": "contains",
}
FIELDS: Final = {
    "memory": "content",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
Expression = dict[str, Any]


def _bad(message: str) -> errors.Invalid:
    return errors.Invalid(f"filters: {message}", code="bad_filter")


def _leaf(field: str, value: object) -> list[Expression]:
    """Return one field's conditions; a bare value means equality."""
    if not isinstance(value, Mapping):
        return [{"field": field, "op": "eq", "value": value}]
    conditions = []
    for name, operand in value.items():
        if name not in OPERATORS:
            raise _bad(f"operators are {', '.join(OPERATORS)}.")
        conditions.append({"field": field, "op": OPERATORS[name], "value": operand})
    return conditions


def _metadata(value: object) -> list[Expression]:
    if not isinstance(value, Mapping):
        raise _bad("metadata is a map of keys and values.")
    return [
        condition
        for key, operand in value.items()
        for condition in _leaf(f"metadata.{key}", operand)
    ]


class _Reader:
    def __init__(self) -> None:
        self.scope: dict[str, str] = {}

    def _entity(self, name: str, value: object) -> list[Expression]:
        if isinstance(value, Mapping) and len(value) == 1:
            among = value.get("in")
            value = among[0] if isinstance(among, list) and len(among) == 1 else value
        if value == ANY_ID:
            return []
        if not isinstance(value, str) or not value:
            raise _bad(f"{name} is one id, or {ANY_ID} for any.")
        if self.scope.setdefault(ENTITIES[name], value) != value:
            raise _bad(f"{name} is named twice.")
        return []

    def _field(self, key: str, value: object, *, on_top: bool) -> list[Expression]:
        if key in ENTITIES:
            if not on_top:
                raise _bad(f"{key} is not allowed under OR or NOT.")
            return self._entity(key, value)
        if key == "metadata":
            return _metadata(value)
        if key in FIELDS:
            return _leaf(FIELDS[key], value)
        raise _bad("a field is known as memory, created_at, updated_at or metadata.")

    def _read_list(
        self, parts: object, depth: int, *, on_top: bool
    ) -> list[Expression]:
        if not isinstance(parts, list) or not parts:
            raise _bad("AND, OR and NOT take a list of filters.")
        expressions = [self.read(part, depth + 1, on_top=on_top) for part in parts]
        if not on_top and None in expressions:
            raise _bad("an empty filter is not allowed under OR or NOT.")
        return [expression for expression in expressions if expression is not None]

    def read(
        self, value: object, depth: int = 0, *, on_top: bool = True
    ) -> Expression | None:
        """Return a filter as an expression, None when it holds entity ids only."""
        if not isinstance(value, Mapping) or depth > DEPTH:
            raise _bad("they are a map, not nested too deep.")
        expressions: list[Expression] = []
        for key, operand in value.items():
            if key == "AND":
                expressions += self._read_list(operand, depth, on_top=on_top)
            elif key in ("OR", "NOT"):
                alternatives = {"or": self._read_list(operand, depth, on_top=False)}
                expressions.append(
                    alternatives if key == "OR" else {"not": alternatives}
                )
            else:
                expressions += self._field(key, operand, on_top=on_top)
        if not expressions:
            return None
        return expressions[0] if len(expressions) == 1 else {"and": expressions}


def read(value: Mapping[str, Any] | None) -> tuple[dict[str, str], Expression | None]:
    """Return the scope and the expression of a filter, or raise Invalid."""
    reader = _Reader()
    expression = reader.read(value or {})
    return reader.scope, expression
