"""The content of the journal's page: the list by days, and one entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date
from functools import partial
from itertools import groupby
from typing import Final

from django.http import QueryDict
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from memory.accounts import saved_views
from memory.journal import queries, timeline
from memory.journal.queries import EntryPlace
from memory.journal.timeline import Start, Stretch, Tally
from memory.models import Agent, JournalEntry, PriorityChange, SavedView, ViewPage
from memory.ports import ranker
from memory.ports.ranker import EmbeddingState
from memory.rules import errors
from memory.rules.permissions import Actor, AgentRole
from memory.web import pages
from memory.web.journal_forms import Chip, JournalForm, PriorityForm, Side

PAGE: Final = 40


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
    """A page of the list, its position, and links to the next pages, None at an end.

    ``hidden`` is how many entries match that the switch leaves out, ``end`` the number
    of the chain's last entry before the list was read.
    """

    days: list[Day]
    stretch: Stretch
    newest: str | None
    newer: str | None
    older: str | None
    hidden: Tally
    end: int

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
    saved: list[SavedView]
    listing: Listing | None
    chips: list[Chip]
    sides: list[Side]
    detail: Detail | None
    query: str
    address: str
    fault: str

    @property
    def status(self) -> int:
        """The HTTP status: 422 for an invalid filter or priority form."""
        faulty = self.listing is None or (self.detail and self.detail.form.errors)
        return 422 if faulty else 200


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
            href=pages.address("memory:entry", entry.id, query=query),
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
    start = Start(
        older=str(data.get("cursor") or ""),
        newer=str(data.get("newer") or ""),
        around=entry,
    )
    end = queries.chain_length(actor.workspace_id)
    stretch = timeline.stretch(actor, journal_filter, start, limit=PAGE)
    rows = _rows(actor, stretch, entry, current_query(form, data))
    by_day = groupby(rows, key=lambda row: row.entry.ts.astimezone(UTC).date())
    address = partial(pages.address, "memory:journal", query=form.query)
    newer, older = stretch.newer or "", stretch.older or ""
    return Listing(
        days=[Day(day, list(group)) for day, group in by_day],
        stretch=stretch,
        newest=address() if newer else None,
        newer=address(newer=newer) if newer else None,
        older=address(cursor=older) if older else None,
        hidden=timeline.hidden(actor, journal_filter),
        end=end,
    )


def current_query(form: JournalForm, data: QueryDict) -> str:
    """Return the filters and the position in the list as a query string."""
    query_params = QueryDict(form.query, mutable=True)
    for name in ("cursor", "newer"):
        if data.get(name):
            query_params[name] = str(data[name])
    return query_params.urlencode()


def _detail(
    actor: Actor,
    entry: JournalEntry,
    agents: list[Agent],
    priority: PriorityForm | None,
    back: str,
) -> Detail:
    state = ranker.ranker().states([entry])[entry.id]
    indexed_at = parse_datetime(state.indexed_at or "")
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
        delay=(indexed_at - entry.recorded_at).total_seconds() if indexed_at else None,
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
    back = pages.address("memory:journal", query=query)
    detail = _detail(actor, entry, form.agents, priority, back) if entry else None
    base = reverse("memory:journal")
    chips, sides = form.chips(base), form.sides(base)
    saved = saved_views.saved(actor, ViewPage.JOURNAL)
    return JournalPage(form, saved, listing, chips, sides, detail, query, back, fault)
