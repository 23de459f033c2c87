"""Filter expressions over records: and, or, not, and leaves of field, operator, value.

Parsed once, then evaluated on one record after the other, in this process and not in
the database: so both databases give the same answer, and a number is never equal to a
text or to true. What is not understood is refused, never ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from memory.rules import errors

DEPTH: Final = 8
LEAVES: Final = 64
VALUES: Final = 200
CHARS: Final = 2_000
OPERATORS: Final = ("eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "exists")
TEXTS: Final = ("content", "kind", "type", "session_id", "external_id", "provenance")
TIMES: Final = ("created_at", "updated_at", "expires_at")
METADATA: Final = "metadata."
# The fields of a record that an expression may name.
COLUMNS: Final = (
    *(name for name in TEXTS if name != "type"), *TIMES, "confidence", "metadata",
)  # fmt: skip

Facts = Mapping[str, Any]
Holds = Callable[[Facts], bool]
ABSENT: Final = object()


def _bad(message: str) -> errors.Invalid:
    return errors.bad_field("filter", message, code="bad_filter")


# ── Values ───────────────────────────────────────────────────────────────────
def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            raise _bad("A time in a filter is written as in RFC 3339.") from None
    if moment.tzinfo is None:
        raise _bad("A time in a filter needs a time zone, such as a final Z.")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise _bad("A time in a filter lies in the years 1 to 9999.") from None


def _kind_of(value: object) -> str:
    """Return the kind of a value; values of two kinds are never equal."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    return "time" if isinstance(value, datetime) else "other"


def _scalar(field: str, value: object) -> object:
    """Return a leaf's value in the form its field is compared in, or raise Invalid."""
    if field in TIMES:
        return _moment(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds")
    kind = _kind_of(value)
    if kind == "other":
        raise _bad("A value in a filter is a text, a number, true or false.")
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad("A number in a filter is finite.")
    if isinstance(value, str) and len(value) > CHARS:
        raise _bad(f"A text in a filter is {CHARS} characters at most.")
    if (field in TEXTS and kind != "text") or (
        field == "confidence" and kind != "number"
    ):
        raise _bad(f"{field} is not compared with a {kind}.")
    return value


def _list(field: str, value: object) -> list[object]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _bad("The operator in takes a list of texts or numbers.")
    if not 0 < len(value) <= VALUES:
        raise _bad(f"The operator in takes 1 to {VALUES} values.")
    values = [_scalar(field, item) for item in value]
    if (
        len({_kind_of(item) for item in values}) != 1
        or _kind_of(values[0]) == "boolean"
    ):
        raise _bad("The operator in takes a list of texts or a list of numbers.")
    return values


# ── Comparing ────────────────────────────────────────────────────────────────
def _equal(stored: object, value: object) -> bool:
    return _kind_of(stored) == _kind_of(value) != "other" and stored == value


def _comparison(sign: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    def compare(stored: object, value: object) -> bool:
        return _kind_of(stored) == _kind_of(value) != "boolean" and sign(stored, value)

    return compare


def _contains(stored: object, value: object) -> bool:
    """Whether a text holds a text, in any case; or a list holds a value."""
    if isinstance(stored, list):
        return any(_equal(item, value) for item in stored)
    if isinstance(stored, str) and isinstance(value, str):
        return value.casefold() in stored.casefold()
    return False


_COMPARE: Final[dict[str, Callable[[object, Any], bool]]] = {
    "eq": _equal,
    "neq": lambda stored, value: not _equal(stored, value),
    "gt": _comparison(lambda a, b: a > b),
    "gte": _comparison(lambda a, b: a >= b),
    "lt": _comparison(lambda a, b: a < b),
    "lte": _comparison(lambda a, b: a <= b),
    "in": lambda stored, value: any(_equal(stored, item) for item in value),
    "contains": _contains,
    "exists": lambda stored, value: (stored is not ABSENT) is value,
}


# ── Reading an expression ────────────────────────────────────────────────────
def _pick(field: str) -> Callable[[Facts], object]:
    """Return how to look up a field; dots lead into the metadata."""
    if not field.startswith(METADATA):
        name = "kind" if field == "type" else field
        return lambda facts: ABSENT if facts.get(name) is None else facts[name]
    path = field.removeprefix(METADATA).split(".")

    def follow_path(facts: Facts) -> object:
        value: object = facts.get("metadata")
        for step in path:
            if not isinstance(value, Mapping) or value.get(step) is None:
                return ABSENT
            value = value[step]
        return value

    return follow_path


def _field(raw: object) -> str:
    names = (*TEXTS, *TIMES, "confidence")
    if isinstance(raw, str):
        path = raw.removeprefix(METADATA)
        if raw in names or (path != raw and all(path.split(".")) and len(raw) <= 200):
            return raw
    raise _bad(f"A filter asks for {', '.join(names)} or metadata.<name>.")


def _value(field: str, op: str, leaf: Mapping[str, Any]) -> object:
    if op == "exists":
        must_exist = leaf.get("value", True)
        if not isinstance(must_exist, bool):
            raise _bad("The operator exists takes true, false or nothing.")
        return must_exist
    if "value" not in leaf:
        raise _bad(f"The operator {op} needs a value.")
    if op == "in":
        return _list(field, leaf["value"])
    value = _scalar(field, leaf["value"])
    is_comparison = op in ("gt", "gte", "lt", "lte")
    if is_comparison and _kind_of(value) == "boolean":
        raise _bad(f"The operator {op} does not compare true and false.")
    if op == "contains" and (field in TIMES or field == "confidence"):
        raise _bad(f"{field} does not contain anything.")
    return value


def leaf(raw: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Return a leaf's field, operator and value, as they are compared."""
    field, op = _field(raw["field"]), raw["op"]
    if op not in OPERATORS:
        raise _bad(f"A filter's operator is one of {', '.join(OPERATORS)}.")
    return field, op, _value(field, op, raw)


class _Reader:
    def __init__(self) -> None:
        self.leaves = 0

    def read(self, raw: object, depth: int = 1) -> Holds:
        if depth > DEPTH:
            raise _bad(f"A filter nests {DEPTH} levels at most.")
        if not isinstance(raw, Mapping):
            raise _bad("A filter is an object: and, or, not, or field, op and value.")
        keys = set(raw)
        if keys == {"not"}:
            inner = self.read(raw["not"], depth + 1)
            return lambda facts: not inner(facts)
        if keys in ({"and"}, {"or"}):
            return self._combination(*next(iter(raw.items())), depth)
        if not {"field", "op"} <= keys <= {"field", "op", "value"}:
            raise _bad("A filter is an object: and, or, not, or field, op and value.")
        return self._leaf(raw)

    def _combination(self, operator: str, raw: object, depth: int) -> Holds:
        if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
            raise _bad(f"{operator} takes a list of filters.")
        if len(raw) > LEAVES:
            raise _bad(f"A filter has {LEAVES} conditions at most.")
        parts = [self.read(part, depth + 1) for part in raw]
        if operator == "and":
            return lambda facts: all(part(facts) for part in parts)
        return lambda facts: any(part(facts) for part in parts)

    def _leaf(self, raw: Mapping[str, Any]) -> Holds:
        self.leaves += 1
        if self.leaves > LEAVES:
            raise _bad(f"A filter has {LEAVES} conditions at most.")
        field, op, value = leaf(raw)
        pick, compare = _pick(field), _COMPARE[op]
        return lambda facts: compare(pick(facts), value)


def read(raw: Mapping[str, Any] | None) -> Holds | None:
    """Return a filter as a predicate, None for none; Invalid ``bad_filter``.

    ``neq`` is the exact opposite of ``eq``: it is true for an absent field, too.
    """
    return None if raw is None else _Reader().read(raw)


def columns(raw: object) -> set[str]:
    """Return the columns of a record that a valid expression names."""
    if isinstance(raw, Mapping):
        if "field" in raw:
            name = str(raw["field"]).split(".")[0]
            return {"kind" if name == "type" else name}
        return set().union(*(columns(part) for part in raw.values()))
    if isinstance(raw, Sequence) and not isinstance(raw, str):
        return set().union(*(columns(part) for part in raw))
    return set()
