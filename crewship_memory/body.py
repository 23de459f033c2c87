"""Reading a JSON body strictly: size, depth, doubled keys, NaN, half surrogates."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ninja.parser import Parser

from crewship_memory import problems
from memory.rules import entries, errors

if TYPE_CHECKING:
    from django.http import HttpRequest

BODY_BYTES: Final = 16 * 1024 * 1024
DEPTH: Final = 64


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise errors.Invalid("A JSON object names a key twice.", code="doubled_key")
    return found


def _constant(name: str) -> NoReturn:
    raise errors.Invalid(f"{name} is not JSON.", code="bad_number")


def _number(text: str) -> float:
    """Return a number; one that is too large, like 1e999, would become infinity."""
    value = float(text)
    if math.isinf(value):
        raise errors.Invalid("A number is too large.", code="bad_number")
    return value


def _check_text(raw: bytes, value: object) -> None:
    """Refuse half surrogate pairs; only an escape can smuggle one in."""
    if b"\\u" not in raw:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        detail = "A string holds half a surrogate pair."
        raise errors.Invalid(detail, code="bad_text") from None


def read(raw: bytes) -> Any:
    """Return the JSON value of a body, or raise what is wrong with it."""
    if len(raw) > BODY_BYTES:
        raise errors.TooLarge(what="The body", limit=BODY_BYTES, size=len(raw))
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
        raise problems.BadRequest from None
    if entries.depth(value, DEPTH) > DEPTH:
        raise errors.Invalid("The JSON nests too deep.", code="too_deep")
    _check_text(raw, value)
    return value


class StrictParser(Parser):
    """Ninja's parser, strict."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the body's JSON value."""
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind and kind != "application/json" and not kind.endswith("+json"):
            raise problems.Unsupported
        return read(request.body)
