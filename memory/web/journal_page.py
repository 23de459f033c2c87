"""The content of the journal's page: the list by days, and one entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Final

from django.http import QueryDict
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from memory.journal import queries, timeline
from memory.journal.queries import EntryPlace
from memory.journal.timeline import Start, Stretch
from memory.models import Agent, JournalEntry, PriorityChange
from memory.ports import ranker
from memory.ports.ranker import EmbeddingState
from memory.rules import errors
from memory.rules.permissions import Actor, AgentRole
from memory.web.journal_forms import Chip, JournalForm, PriorityForm

PAGE: Final = 25


@dataclass(frozen=True, slots=True)
class Row:
    entry: JournalEntry
    author: str
    embedding: str
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Day:
    """The lines of one day, newest first."""

    day: date
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list, its position, and links to the next pages, None at an end."""

    days: list[Day]
    stretch: Stretch
    newest: str | None
    newer: str | None
    older: str | None

    @property
    def first(self) -> int:
        """The position of the first line in the whole list, from 1."""
        return self.stretch.before.number + 1

    @property
    def last(self) -> int:
        """The position of the last line in the whole list."""
        return self.stretch.before.number + len(self.stretch.entries)


@dataclass(frozen=True, slots=True)
class Detail:
    """One entry with everything that the page shows about it."""

    entry: JournalEntry
    author: str
    agent: Agent | None
    place: EntryPlace
    steps: list[PriorityChange]
    subjects: list[str]
    embedding: EmbeddingState
    delay: float | None
    form: PriorityForm
    back: str

    @property
    def is_lead(self) -> bool:
        """Whether the lead of a crew wrote the entry."""
        return self.agent is not None and self.agent.role == AgentRole.LEAD

    @property
    def was_late(self) -> bool:
        """Whether it was appended more than a minute after its own time."""
        return (self.entry.recorded_at - self.entry.ts).total_seconds() > 60


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Everything on the page; ``listing`` is None while a filter is invalid."""

    form: JournalForm
    listing: Listing | None
    chips: list[Chip]
    detail: Detail | None
    query: str
    address: str
    fault: str

    @property
    def status(self) -> int:
        """The HTTP status: 422 for an invalid filter or priority form."""
        faulty = self.listing is None or (self.detail and self.detail.form.errors)
        return 422 if faulty else 200


def _address(name: str, *args: str, query: str = "", **params: str) -> str:
    """Return the URL of a page with filters and cursors."""
    query_params = QueryDict(query, mutable=True)
    query_params.update({key: value for key, value in params.items() if value})
    path = reverse(f"memory:{name}", args=args)
    return f"{path}?{query_params.urlencode()}" if query_params else path


def _day(row: Row) -> date:
    return row.entry.ts.astimezone(UTC).date()


def _days(rows: list[Row]) -> Iterator[Day]:
    for day, group in groupby(rows, key=_day):
        yield Day(day, list(group))


def _start(data: QueryDict, entry: JournalEntry | None) -> Start:
    return Start(
        older=str(data.get("cursor") or ""),
        newer=str(data.get("newer") or ""),
        around=entry,
    )


def _rows(
    actor: Actor, stretch: Stretch, current: JournalEntry | None, query: str
) -> list[Row]:
    authors = timeline.authors(actor, stretch.entries)
    states = ranker.ranker().states(stretch.entries)
    return [
        Row(
            entry=entry,
            author=authors[entry.id],
            embedding=states[entry.id].state,
            href=_address("entry", entry.id, query=query),
            is_current=current is not None and current.id == entry.id,
        )
        for entry in stretch.entries
    ]


def _listing(
    actor: Actor, form: JournalForm, data: QueryDict, entry: JournalEntry | None
) -> Listing | None:
    journal_filter = form.journal_filter()
    if journal_filter is None:
        return None
    stretch = timeline.stretch(actor, journal_filter, _start(data, entry), limit=PAGE)
    filters = form.query
    newer, older = stretch.newer or "", stretch.older or ""
    return Listing(
        days=list(_days(_rows(actor, stretch, entry, current_query(form, data)))),
        stretch=stretch,
        newest=_address("journal", query=filters) if newer else None,
        newer=_address("journal", query=filters, newer=newer) if newer else None,
        older=_address("journal", query=filters, cursor=older) if older else None,
    )


def current_query(form: JournalForm, data: QueryDict) -> str:
    """Return the filters and the position in the list as a query string."""
    query_params = QueryDict(form.query, mutable=True)
    for name in ("cursor", "newer"):
        if data.get(name):
            query_params[name] = str(data[name])
    return query_params.urlencode()


def _delay(entry: JournalEntry, state: EmbeddingState) -> float | None:
    """Return the seconds from the append to the first embedding."""
    indexed_at: datetime | None = parse_datetime(state.indexed_at or "")
    return (indexed_at - entry.recorded_at).total_seconds() if indexed_at else None


def _detail(
    actor: Actor,
    entry: JournalEntry,
    agents: list[Agent],
    priority: PriorityForm | None,
    back: str,
) -> Detail:
    state = ranker.ranker().states([entry])[entry.id]
    agents_by_id = {agent.id: agent for agent in agents}
    agent = agents_by_id.get(entry.agent_id or "")
    return Detail(
        entry=entry,
        author=agent.slug if agent else timeline.authors(actor, [entry])[entry.id],
        agent=agent,
        place=queries.entry_place(entry),
        steps=queries.priorities(entry),
        subjects=timeline.subjects(entry),
        embedding=state,
        delay=_delay(entry, state),
        form=priority or PriorityForm(initial={"priority": entry.priority}),
        back=back,
    )


def build(
    actor: Actor,
    data: QueryDict,
    entry: JournalEntry | None = None,
    priority: PriorityForm | None = None,
) -> JournalPage:
    """Return the page for a query string, with one entry or none."""
    form = JournalForm(data, by=actor)
    listing, fault = None, ""
    try:
        listing = _listing(actor, form, data, entry)
    except errors.Invalid as error:
        # An invalid range has a field; a stale cursor has none.
        form.show_error(error)
        fault = error.detail if error.problem_code == "bad_cursor" else ""
    query = current_query(form, data) if not fault else form.query
    back = _address("journal", query=query)
    detail = _detail(actor, entry, form.agents, priority, back) if entry else None
    chips = form.chips(reverse("memory:journal"))
    return JournalPage(form, listing, chips, detail, query, back, fault)
