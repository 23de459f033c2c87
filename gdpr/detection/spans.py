"""What is found in a text: where, what kind of thing, and how surely."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What kind of thing names a person."""

    NAME = "name"
    ADDRESS = "address"
    PHONE = "phone"
    EMAIL = "email"
    NUMBER = "number"
    HANDLE = "handle"


class Span(NamedTuple):
    """A piece of a text; ``surely`` is False where a person has to decide."""

    start: int
    end: int
    kind: Kind
    surely: bool


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return spans left to right; of two that overlap the sure, then longer, stays."""
    by_rank = sorted(spans, key=lambda s: (not s.surely, s.start - s.end, s.start))
    result: list[Span] = []
    covered: set[int] = set()
    for span in by_rank:
        places = range(span.start, span.end)
        if covered.isdisjoint(places):
            covered.update(places)
            result.append(span)
    return sorted(result)
