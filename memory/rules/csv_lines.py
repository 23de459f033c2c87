"""Lines of a CSV file, in which no cell is a formula.

A spreadsheet runs a cell that begins like a formula: such a text gets an apostrophe in
front, which the spreadsheet does not show.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

# What a spreadsheet would take for a formula, were it at the start of a cell.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
CONTENT_TYPE: Final = "text/csv; charset=utf-8"


class Verbatim(str):
    """A text that the program wrote and that begins as it has to: JSON."""

    __slots__ = ()


class _Echo:
    """A file that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def cell(value: Any) -> str:
    """Return a value as the text of a cell; None is an empty one."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, Verbatim):
        return text
    return f"'{text}" if text.startswith(FORMULA) else text


def lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the line of the columns' names, then one of each row."""
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([cell(value) for value in row])
