"""The depth and the number of values of JSON, counted in its bytes before parsing.

``json.loads`` makes a Python object of every value: eight bytes of text become several
hundred of memory. Here only the characters outside of strings are counted, with the
functions of ``bytes``: a few milliseconds for a megabyte, and no object per value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

DEPTH: Final = 64
# How many bytes of a body with too many values are examined for the depth.
_START: Final = 65_536
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS: Final = tuple(
    1 if byte in b"[{" else -1 if byte in b"]}" else 0 for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Structure:
    """The counts; ``values`` is never less than the number of values."""

    depth: int
    values: int


def _outside_strings(raw: bytes) -> bytes:
    """Return the bytes outside of strings.

    An escape outside of a string is no JSON, and a parser stops there: up to the first
    fault both readings agree, and nothing after it is built.
    """
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(raw.split(b'"')[::2])


def _depth(outside: bytes) -> int:
    """Return how deep brackets nest; a parser stops at one that closes nothing."""
    brackets = outside.translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def is_within(raw: bytes, *, values: int, depth: int = DEPTH) -> bool:
    """Whether JSON is neither too deep nor has too many values."""
    structure = measure(raw, depth=depth, values=values)
    return structure.depth <= depth and structure.values <= values


def _too_many(raw: bytes, values: int) -> Structure:
    return Structure(_depth(_outside_strings(raw[:_START])), values + 1)


def measure(raw: bytes, *, depth: int = DEPTH, values: int) -> Structure:
    """Return the depth and the number of values: exact, or past the limit.

    Both may be too high where neither comes near its limit: most bodies hold so few
    brackets and commas, strings included, that nothing more has to be counted.
    More values than ``values`` are reported as one more, with the depth of the start.
    """
    brackets = raw.count(b"[") + raw.count(b"{")
    marks = brackets + raw.count(b",")
    if brackets <= depth and marks < values:
        return Structure(brackets, marks + 1)
    # Two strings a value, a name and its text, and two quotation marks a string.
    if raw.count(b'"') - raw.count(b'\\"') > 4 * (values + 1):
        return _too_many(raw, values)
    outside = _outside_strings(raw)
    brackets = outside.count(b"[") + outside.count(b"{")
    count = brackets + outside.count(b",") + 1
    if count > values:
        return _too_many(raw, values)
    return Structure(brackets if brackets <= depth else _depth(outside), count)
