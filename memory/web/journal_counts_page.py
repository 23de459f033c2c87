"""The journal's counts as their page shows them: bars over time, links that narrow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.http import QueryDict

from memory.journal import facets
from memory.journal.facets import Facets
from memory.journal.histogram import Bar
from memory.rules.entries import Severity
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.journal_forms import JournalForm

# Values of one facet that are listed; the rest are counted.
TOP: Final = 8
BAR_WIDTH: Final = 10
HEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a bar that one severity has, in the drawing's units."""

    severity: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """A bar, where it is drawn, and the list narrowed to its span."""

    bar: Bar
    x: int
    parts: list[Part]
    href: str


@dataclass(frozen=True, slots=True)
class Value:
    words: str
    entries: int
    href: str


@dataclass(frozen=True, slots=True)
class Facet:
    """One filter, the most frequent values within the list, and how many more."""

    label: str
    values: list[Value]
    more: int


@dataclass(frozen=True, slots=True)
class CountsPage:
    """``counted`` is None while a filter is invalid; the list shows its fault."""

    counted: Facets | None
    columns: list[Column]
    facets: list[Facet]
    back: str

    @property
    def status(self) -> int:
        """The HTTP status: 422 for an invalid filter."""
        return 422 if self.counted is None else 200

    @property
    def width(self) -> int:
        """The width of the drawing."""
        return BAR_WIDTH * len(self.columns)

    @property
    def peak(self) -> int:
        """The entries of the highest bar."""
        return max((column.bar.total for column in self.columns), default=0)


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _columns(bars: list[Bar], query: str) -> list[Column]:
    peak = max((bar.total for bar in bars), default=0) or 1
    columns = []
    for index, bar in enumerate(bars):
        parts, top = [], float(HEIGHT)
        # The gravest stands at the foot, where bars are compared best.
        for severity in reversed(Severity):
            height = HEIGHT * bar.severities[severity.value] / peak
            top -= height
            if height:
                parts.append(Part(severity.value, top, height))
        span = {"since": _stamp(bar.start), "until": _stamp(bar.last)}
        columns.append(Column(bar, index * BAR_WIDTH, parts, _narrowed(query, **span)))
    return columns


def _narrowed(query: str, **values: str) -> str:
    """Return the URL of the list with some filters set to other values."""
    params = QueryDict(query, mutable=True)
    for name, value in values.items():
        params[name] = value
    return pages.address("memory:journal", query=params.urlencode())


def _facets(form: JournalForm, counted: Facets) -> list[Facet]:
    lists = []
    for name, counts in counted.counts.items():
        words = form.words_of(name)
        values = [
            Value(words.get(key, key), entries, _narrowed(form.query, **{name: key}))
            for key, entries in list(counts.items())[:TOP]
        ]
        if values:
            label = str(form.fields[name].label)
            lists.append(Facet(label, values, len(counts) - len(values)))
    return lists


def build(actor: Actor, data: QueryDict) -> CountsPage:
    """Return the counts for the list's query string."""
    form = JournalForm(data, by=actor)
    filters = form.journal_filter()
    back = pages.address("memory:journal", query=form.query)
    if filters is None:
        return CountsPage(None, [], [], back)
    if filters.since and filters.until and filters.since > filters.until:
        return CountsPage(None, [], [], back)
    counted = facets.facets(actor, filters)
    columns = _columns(counted.bars, form.query)
    return CountsPage(counted, columns, _facets(form, counted), back)
