"""How deep and how large JSON is, counted over its bytes before anything is built.

``json.loads`` makes a Python object of every value: eight bytes of text become several
hundred of memory. Here only the characters outside of strings are counted, with the
functions of ``bytes``: a few milliseconds for a megabyte, and no object per value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

DEPTH: Final = 64
# How much of a body with too many values is looked at for its depth.
_START: Final = 65_536
_OTHERS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS: Final = tuple(
    1 if byte in b"[{" else -1 if byte in b"]}" else 0 for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Structure:
    """What was counted: ``values`` is never less than the number of values."""

    depth: int
    values: int


def _outside_strings(raw: bytes) -> bytes:
    """Return what stands outside of strings.

    An escape outside of a string is no JSON, and a reader stops there: up to the first
    fault both readings agree, and nothing is built of what follows it.
    """
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(raw.split(b'"')[::2])


def _depth(outside: bytes) -> int:
    """Return how deep brackets nest; a reader stops at one that closes nothing."""
    brackets = outside.translate(None, _OTHERS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def is_within(raw: bytes, *, values: int, depth: int = DEPTH) -> bool:
    """Whether JSON may be read: neither too deep nor with too many values."""
    found = measure(raw, depth=depth, values=values)
    return found.depth <= depth and found.values <= values


def _too_many(raw: bytes, values: int) -> Structure:
    return Structure(_depth(_outside_strings(raw[:_START])), values + 1)


def measure(raw: bytes, *, depth: int = DEPTH, values: int) -> Structure:
    """Return the depth and the number of values, exact or at least past its limit.

    Both may be more than there is where neither comes near its limit: most bodies hold
    so few brackets and commas, strings included, that nothing more has to be counted.
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
    found = brackets + outside.count(b",") + 1
    if found > values:
        return _too_many(raw, values)
    return Structure(brackets if brackets <= depth else _depth(outside), found)
