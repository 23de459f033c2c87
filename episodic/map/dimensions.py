"""What points are coloured and filtered by: each dimension and its values.

A dimension gives every point the number of one of its values. The pages, the legend,
the filters of the list and the data of the picture are all derived from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from django.utils.translation import gettext, gettext_noop
from numpy.typing import NDArray

from episodic.map.points import NO_CREW, Points

# The largest crews have a colour each.
CREWS: Final = 8
OTHER_CREWS: Final = "other"
NO_CREWS: Final = "none"
# Two entries this near say the same.
COPY_COSINE: Final = 0.95
DAY: Final = 86_400_000
Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension: its name in an address, and its words."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension over some points.

    ``colours`` says which row of colours it is drawn in: ``kind`` for values without
    an order, ``scale`` for values with one, ``mark`` where the first value stands out.
    """

    name: str
    title: str
    colours: str
    values: tuple[Value, ...]
    codes: Codes

    def code(self, name: str) -> int | None:
        """Return the number of a value by its name in an address."""
        names = [value.name for value in self.values]
        return names.index(name) if name in names else None

    def counts(self, among: NDArray[np.bool_]) -> list[int]:
        """Return how many of some points have each value."""
        counts = np.bincount(self.codes[among], minlength=len(self.values))
        return [int(count) for count in counts]


@dataclass(frozen=True, slots=True)
class _Declared:
    name: str
    title: str
    colours: str
    values: tuple[Value, ...]
    codes: Callable[[Points, datetime], NDArray[np.int64]]


def _age(points: Points, now: datetime) -> NDArray[np.int64]:
    days = (now.timestamp() * 1000 - points["ts"]) / DAY
    return np.digitize(days, [1, 7, 30, 90])


DECLARED: Final = (
    _Declared(
        "age", gettext_noop("Age"), "scale",
        (
            Value("day", gettext_noop("written in the last day")),
            Value("week", gettext_noop("1 to 7 days old")),
            Value("month", gettext_noop("7 to 30 days old")),
            Value("quarter", gettext_noop("30 to 90 days old")),
            Value("older", gettext_noop("older than 90 days")),
        ),
        _age,
    ),
    _Declared(
        "importance", gettext_noop("Importance"), "scale",
        (
            Value("high", gettext_noop("0.75 or more")),
            Value("medium", gettext_noop("0.50 to 0.75")),
            Value("low", gettext_noop("0.25 to 0.50")),
            Value("least", gettext_noop("below 0.25")),
        ),
        lambda points, _: 3 - np.digitize(points["importance"], [0.25, 0.5, 0.75]),
    ),
    _Declared(
        "recalled", gettext_noop("Recalled"), "mark",
        (
            Value("never", gettext_noop("never recalled")),
            Value("few", gettext_noop("recalled 1 to 9 times")),
            Value("often", gettext_noop("recalled 10 times or more")),
        ),
        lambda points, _: np.digitize(points["references"], [1, 10]),
    ),
    _Declared(
        "relations", gettext_noop("Reachability"), "mark",
        (
            Value("none", gettext_noop("isolated: no relation")),
            Value("few", gettext_noop("1 or 2 relations")),
            Value("many", gettext_noop("3 relations or more")),
        ),
        lambda points, _: np.digitize(points["relations"], [1, 3]),
    ),
    _Declared(
        "topic", gettext_noop("Coherence"), "mark",
        (
            Value("apart", gettext_noop("stands apart from every topic")),
            Value("inside", gettext_noop("near others of its topic")),
        ),
        lambda points, _: np.where(points["apart"], 0, 1),
    ),
    _Declared(
        "copies", gettext_noop("Duplicates"), "mark",
        (
            Value("near", gettext_noop("another entry says nearly the same")),
            Value("single", gettext_noop("nothing nearly the same")),
        ),
        lambda points, _: np.where(points["nearest"] >= COPY_COSINE, 0, 1),
    ),
)  # fmt: skip


def of(
    points: Points, crews: Sequence[str], slugs: Mapping[str, str], now: datetime
) -> list[Dimension]:
    """Return the dimensions of some points; ``slugs`` are the crews' by their id."""
    dimensions = [_crews(points, crews, slugs)]
    for declared in DECLARED:
        codes = declared.codes(points, now).astype(np.uint8)
        values = tuple(Value(v.name, gettext(v.words)) for v in declared.values)
        title = gettext(declared.title)
        dimensions.append(
            Dimension(declared.name, title, declared.colours, values, codes)
        )
    return dimensions


def _crews(points: Points, crews: Sequence[str], slugs: Mapping[str, str]) -> Dimension:
    """Return the dimension of crews, the largest first, then the others together."""
    numbers = points["crew"].astype(np.int64)
    sizes = np.bincount(numbers[numbers != NO_CREW], minlength=len(crews))
    largest = [int(number) for number in np.argsort(-sizes, kind="stable")[:CREWS]]
    largest = [number for number in largest if sizes[number]]
    values = [
        Value(crews[number], slugs.get(crews[number], crews[number]))
        for number in largest
    ]
    # By crew number, the last place is for no crew.
    places = np.full(len(crews) + 1, len(values), dtype=np.uint8)
    places[largest] = np.arange(len(largest))
    if sizes.astype(bool).sum() > len(largest):
        values.append(Value(OTHER_CREWS, gettext("other crews")))
    if (numbers == NO_CREW).any():
        places[NO_CREW] = len(values)
        values.append(Value(NO_CREWS, gettext("no crew")))
    return Dimension("crew", gettext("Crew"), "kind", tuple(values), places[numbers])
