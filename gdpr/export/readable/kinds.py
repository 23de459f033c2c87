"""What the sentence of a kind of row is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Formatter
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quote:
    """A text as it was written; ``column`` and ``at`` say what it is and of when.

    ``folded`` quotes are shown on demand: former versions of a text.
    """

    text: str
    column: str = ""
    number: int = 0
    at: str = ""
    by: str = ""
    source: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of row: the first message whose values the row has is its sentence.

    A message's values are columns, ``{when}`` the moment of ``at``, ``{agent}`` and
    ``{crew}`` names, ``{kind_word}`` an enum's word of that column. ``variants`` are
    other messages by the value of ``variant_column``. ``quotes`` are columns that are
    shown whole under the sentence; ``quotes_of`` is for texts within columns, and
    ``uses`` are the columns that it shows. A row with several ``moments`` has in the
    calendar a ``line`` for each. ``machine`` are columns that only programs need.
    """

    messages: tuple[str, ...]
    at: str = ""
    quotes: tuple[str, ...] = ()
    variant_column: str = ""
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quotes_of: Callable[[Row], list[Quote]] | None = None
    uses: frozenset[str] = frozenset()
    moments: Callable[[Row], list[str]] | None = None
    line: str = ""
    machine: frozenset[str] = frozenset()


@cache
def names_in(message: str) -> tuple[str, ...]:
    """Return the names of a message's values."""
    return tuple(name for _, name, _, _ in Formatter().parse(message) if name)
