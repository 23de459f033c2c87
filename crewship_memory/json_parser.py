"""Strict JSON: size, depth, number of values, duplicate keys, NaN.

Size, depth and number of values are checked over the bytes, before anything is built.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ninja.parser import Parser

from crewship_memory import problem_details
from memory.rules import errors, json_structure

if TYPE_CHECKING:
    from django.http import HttpRequest

KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Limit:
    """The bytes of a body, and the JSON values in it."""

    size: int
    values: int = 10_000


SMALL: Final = Limit(256 * KIB)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise errors.Invalid("A JSON object names a key twice.", code="doubled_key")
    return members


def _constant(name: str) -> NoReturn:
    raise errors.Invalid(f"{name} is not JSON.", code="bad_number")


def _number(text: str) -> float:
    """Return a float; one that overflows, like 1e999, is refused."""
    value = float(text)
    if math.isinf(value):
        raise errors.Invalid("A number is too large.", code="bad_number")
    return value


def _check_text(raw: bytes, value: object) -> None:
    """Refuse lone surrogates, which only an escape can carry."""
    if b"\\u" not in raw:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        detail = "A string holds half a surrogate pair."
        raise errors.Invalid(detail, code="bad_text") from None


def _check_structure(raw: bytes, limit: Limit) -> None:
    structure = json_structure.measure(raw, values=limit.values)
    if structure.depth > json_structure.DEPTH:
        raise errors.Invalid("The JSON nests too deep.", code="too_deep")
    if structure.values > limit.values:
        detail = f"The body may hold {limit.values} JSON values; this one has more."
        raise errors.TooLarge(detail, code="too_many_values")


def read(raw: bytes, limit: Limit = SMALL) -> Any:
    """Return the JSON value of a body, or raise BadRequest or TooLarge."""
    if len(raw) > limit.size:
        raise errors.TooLarge(what="The body", limit=limit.size, size=len(raw))
    _check_structure(raw, limit)
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_pairs,
            parse_constant=_constant,
            parse_float=_number,
        )
    except RecursionError:
        raise errors.Invalid("The JSON nests too deep.", code="too_deep") from None
    except ValueError:
        raise problem_details.BadRequest from None
    _check_text(raw, value)
    return value


def check_kind(request: HttpRequest) -> None:
    """Refuse a content type other than JSON."""
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not kind.endswith("+json"):
        raise problem_details.Unsupported


class StrictParser(Parser):
    """Ninja's parser with strict JSON and the limit of the route."""

    def parse_body(self, request: HttpRequest) -> Any:
        check_kind(request)
        return read(request.body, getattr(request, "body_limit", SMALL))
