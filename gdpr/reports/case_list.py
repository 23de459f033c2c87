"""The list of cases as CSV: what the filters show, without a name of a subject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from gdpr.cases import privacy_settings, queries
from gdpr.cases.queries import CaseQuery
from gdpr.models import Case
from gdpr.reports import masking
from memory.journal import append as journal
from memory.rules import csv_lines
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

COLUMNS: Final = (
    "id", "kind", "state", "subject_id", "received", "due", "days_left", "urgency",
    "extended", "assignee", "ticket", "closed", "run",
)  # fmt: skip
# The person of a filter is in no entry: an export must not become a trace of one.
FILTERS: Final = ("state", "kind", "due")


def csv(actor: Actor, query: CaseQuery) -> Iterator[str]:
    """Return every case that matches; the journal records that it was taken.

    Registered names in tickets are masked.
    """
    actor.require("gdpr.read")
    used_filters = {name: value for name, value in asdict(query).items() if value}
    payload = {name: used_filters[name] for name in FILTERS if name in used_filters}
    new = NewEntry(
        entry_type="gdpr.cases_exported",
        summary="The list of cases was exported as csv",
        payload={"filter": payload},
    )
    journal.write([new], by=actor)
    return csv_lines.lines(COLUMNS, _cells(actor, query))


def _pages(actor: Actor, query: CaseQuery) -> Iterator[Case]:
    cursor = None
    while True:
        page = queries.page(actor, query, limit=queries.MAX_LIMIT, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _cells(actor: Actor, query: CaseQuery) -> Iterator[list[Any]]:
    rules = privacy_settings.of(actor.workspace_id)
    zone = privacy_settings.zone(rules)
    masked = masking.words(actor.workspace_id)
    for case in _pages(actor, query):
        due = queries.deadline(case, rules)
        closed = case.closed_at.astimezone(zone).date() if case.closed_at else None
        yield [
            case.pk,
            case.kind,
            case.state,
            case.subject_ref,
            case.received_at.astimezone(zone).date(),
            due.due_at.astimezone(zone).date(),
            # A number, also below zero: not a formula.
            csv_lines.Verbatim(due.days_left),
            due.urgency,
            "yes" if case.extended_until else "no",
            case.assignee,
            masked(case.ticket),
            closed,
            case.run,
        ]
