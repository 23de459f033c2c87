"""Translate a filter to SQL conditions that drop rows which surely fail it.

The conditions are wide: ``rules.filters`` tests the remaining rows again and decides.
So only comparisons that both databases make alike are translated: equality, lists of
values, ranges of numbers and times; not the order of texts (collations differ),
containment, or negations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any, Final

from django.db.models import JSONField, Q, TextField, Value
from django.db.models.expressions import Expression
from django.db.models.fields.json import (
    KeyTextTransform,
    KeyTransform,
    KeyTransformGte,
    KeyTransformLte,
)
from django.db.models.functions import Cast
from django.db.models.lookups import Exact, In, IsNull

from memory.rules import entries, filters

# Columns that are the same in all versions of a record.
VERSION_INDEPENDENT: Final = ("created_at", "session_id", "external_id")
# A path of plain names; a number could be an index of a list.
_STEP: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# Databases parse fractions differently: nearly equal numbers pass.
_NEARLY: Final = 1e-9
_SMALLEST: Final = 1e-300
_LARGEST: Final = 1e15


def conditions(
    expression: Mapping[str, Any] | None, only: Collection[str] | None = None
) -> Q:
    """Return a condition that every row fulfils for which the filter holds.

    ``only`` are the columns to use; None for all. Raises Invalid ``bad_filter`` for an
    invalid filter.
    """
    filters.read(expression)
    condition = None if expression is None else _condition(expression, only)
    return Q() if condition is None else condition


def _condition(raw: Mapping[str, Any], only: Collection[str] | None) -> Q | None:
    """Return a condition that is true wherever the expression is; None for always."""
    if "and" in raw:
        parts = [
            part
            for operand in raw["and"]
            if (part := _condition(operand, only)) is not None
        ]
        return reduce(and_, parts) if parts else None
    if "or" in raw:
        wide = [_condition(operand, only) for operand in raw["or"]]
        parts = [part for part in wide if part is not None]
        return reduce(or_, parts) if len(parts) == len(wide) else None
    if "field" not in raw:
        return None
    field, op, value = filters.leaf(raw)
    column = "kind" if field == "type" else field
    if only is not None and column not in only:
        return None
    return _leaf(column, op, value)


def _leaf(column: str, op: str, value: Any) -> Q | None:
    if not _is_plain(value):
        return None
    if column in filters.TIMES or column == "confidence":
        return _number_condition(column, op, value)
    if column in filters.TEXTS:
        return _text_condition(column, op, value)
    path = column.removeprefix(filters.METADATA).split(".")
    if not all(_STEP.fullmatch(step) for step in path):
        return None
    return _metadata_condition(path, op, value)


def _is_plain(value: object) -> bool:
    """Whether both databases take a value."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return entries.is_storable(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) <= _LARGEST
    return True


# ── Columns ──────────────────────────────────────────────────────────────────
def _number_condition(column: str, op: str, value: Any) -> Q | None:
    """Return a condition on a number or a time of the row."""
    if op == "eq":
        return Q(**{column: value})
    if op in ("in", "gt", "gte", "lt", "lte"):
        return Q(**{f"{column}__{op}": value})
    return None


def _text_condition(column: str, op: str, value: Any) -> Q | None:
    """Return a condition on a text of the row; an empty one counts as absent."""
    if op == "eq":
        return Q(**{column: value})
    if op == "in":
        return Q(**{f"{column}__in": value})
    if op == "exists":
        return ~Q(**{column: ""}) if value else Q(**{column: ""})
    return None


# ── Metadata ─────────────────────────────────────────────────────────────────
def _at(path: list[str], kind: type[KeyTransform]) -> Expression:
    """Return the value at a path of the metadata, as JSON or as text."""
    expression: Any = "metadata"
    for step in path[:-1]:
        expression = KeyTransform(step, expression)
    leaf: Expression = kind(path[-1], expression)
    return leaf


def _as_text(path: list[str]) -> Expression:
    return Cast(_at(path, KeyTextTransform), TextField())


def _metadata_condition(path: list[str], op: str, value: Any) -> Q | None:
    if op == "exists":
        return Q(IsNull(_as_text(path), False)) if value else None  # noqa: FBT003
    if op == "in":
        if isinstance(value[0], str):
            return Q(In(_as_text(path), value))
        # A term for each could be too many for a database: the range, then Python.
        return _between(path, min(value), max(value))
    if isinstance(value, bool):
        condition = Exact(_as_text(path), Value("true" if value else "false"))
        return Q(condition) if op == "eq" else None
    if isinstance(value, str):
        return Q(Exact(_as_text(path), Value(value))) if op == "eq" else None
    if op not in ("eq", "gt", "gte", "lt", "lte"):
        return None
    low = None if op in ("lt", "lte") else value
    return _between(path, low, None if op in ("gt", "gte") else value)


def _between(path: list[str], low: float | None, high: float | None) -> Q:
    """Return a condition on a number; a value of another kind may pass it."""
    condition = Q()
    if low is not None:
        lower = low - abs(low) * _NEARLY - _SMALLEST
        condition &= Q(KeyTransformGte(_at(path, KeyTransform), _number(lower)))
    if high is not None:
        upper = high + abs(high) * _NEARLY + _SMALLEST
        condition &= Q(KeyTransformLte(_at(path, KeyTransform), _number(upper)))
    return condition


def _number(value: float) -> Value:
    return Value(value, output_field=JSONField())
