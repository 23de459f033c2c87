"""The journal as its page shows it: paged both ways, around an entry, with authors.

The API's list is paged one way and has no totals. A web page also goes back to newer
entries, opens at a linked entry, and says where in the list it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Q, QuerySet

from memory import workspace_tree
from memory.journal import queries
from memory.journal.queries import JournalFilter, Position
from memory.models import JournalEntry, User
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor
from memory.rules.translation import gettext

COUNT_CAP: Final = 10_000
# New entries are counted every few seconds.
ARRIVED_CAP: Final = 100
MAX_TYPES: Final = 300
# How many newer entries are shown above a linked entry.
ABOVE: Final = 3

Rows = QuerySet[JournalEntry]


@dataclass(frozen=True, slots=True)
class Tally:
    """A count up to a cap; with ``is_capped`` the real number is larger."""

    number: int
    is_capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a page begins: a cursor of either direction, an entry, or the newest."""

    older: str = ""
    newer: str = ""
    around: JournalEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One page of the journal, newest first, and the cursors to both sides.

    ``before`` is how many matching entries are newer than the first one shown.
    """

    entries: list[JournalEntry]
    newer: str | None
    older: str | None
    before: Tally
    total: Tally


@dataclass(frozen=True, slots=True)
class Length:
    """How long a workspace's journal is, and when it began."""

    count: int
    since: datetime | None


def _newer(rows: Rows, at: Position) -> Rows:
    return rows.filter(ts__gte=at[0]).filter(Q(ts__gt=at[0]) | Q(seq__gt=at[1]))


def _tally(rows: Rows, cap: int = COUNT_CAP) -> Tally:
    # Of a column that the indexes of lists have: who may see restricted entries reads
    # no row.
    count = rows.order_by().values("ts")[: cap + 1].count()
    return Tally(min(count, cap), is_capped=count > cap)


def _newest(rows: Rows, limit: int) -> list[JournalEntry]:
    return list(rows.order_by("-ts", "-seq")[:limit])


def _oldest(rows: Rows, limit: int) -> list[JournalEntry]:
    """Return the entries just above a position, newest first again."""
    return list(rows.order_by("ts", "seq")[:limit])[::-1]


def _around(rows: Rows, entry: JournalEntry, limit: int) -> list[JournalEntry]:
    """Return the page an entry is on: the newest one when it fits there."""
    newest = _newest(rows, limit)
    if any(row.pk == entry.pk for row in newest):
        return newest
    if not rows.filter(pk=entry.pk).exists():
        return newest
    at = entry.ts, entry.seq
    above = _oldest(_newer(rows, at), ABOVE)
    return [*above, entry, *_newest(queries.older(rows, at), limit - len(above) - 1)]


def _page(
    rows: Rows, actor: Actor, filters: JournalFilter, start: Start, limit: int
) -> list[JournalEntry]:
    if start.newer:
        at = queries.read_cursor(start.newer, actor, filters)
        entries = _oldest(_newer(rows, at), limit)
        # With fewer rows above than fit, the newest page is returned, full.
        return entries if len(entries) == limit else _newest(rows, limit)
    if start.older:
        at = queries.read_cursor(start.older, actor, filters)
        return _newest(queries.older(rows, at), limit)
    if start.around is not None:
        return _around(rows, start.around, limit)
    return _newest(rows, limit)


def stretch(
    actor: Actor, filters: JournalFilter, start: Start, *, limit: int
) -> Stretch:
    """Return a page of the entries that match; Invalid for another list's cursor."""
    rows = queries.filtered(actor, filters)
    entries = _page(rows, actor, filters, start, limit)
    if not entries:
        return Stretch(
            entries=[], newer=None, older=None, before=Tally(0), total=_tally(rows)
        )
    first, last = entries[0], entries[-1]
    before = _tally(_newer(rows, (first.ts, first.seq)))
    has_older = queries.older(rows, (last.ts, last.seq)).exists()
    return Stretch(
        entries=entries,
        newer=queries.cursor_at(first, filters) if before.number else None,
        older=queries.cursor_at(last, filters) if has_older else None,
        before=before,
        total=_tally(rows),
    )


def hidden(actor: Actor, filters: JournalFilter) -> Tally:
    """Return how many entries match on the other side of ``has_agent``."""
    if filters.has_agent is None:
        return Tally(0)
    other = replace(filters, has_agent=not filters.has_agent)
    return _tally(queries.filtered(actor, other))


def arrived(actor: Actor, filters: JournalFilter, after: int) -> Tally:
    """Return how many entries that match were appended after a number of the chain."""
    rows = queries.filtered(actor, filters).filter(seq__gt=after)
    return _tally(rows, ARRIVED_CAP)


def length(actor: Actor) -> Length:
    """Return the chain's length, and the time of the oldest entry the actor may see."""
    actor.require("journal.read")
    rows = queries.visible_entries(actor).order_by("ts")
    since = rows.values_list("ts", flat=True).first()
    return Length(queries.chain_length(actor.workspace_id), since)


def authors(actor: Actor, entries: Sequence[JournalEntry]) -> dict[str, str]:
    """Return entry id → its author for display: slug, e-mail, or the component's name.

    A person who is no longer a member is not named.
    """
    slugs = workspace_tree.agent_slugs(entries)
    user_ids = {e.actor_id for e in entries if e.actor_type == ActorType.USER}
    people: dict[str, str] = {}
    if user_ids:
        members = User.objects.filter(
            pk__in=user_ids, memberships__workspace_id=actor.workspace_id
        )
        people = dict(members.values_list("pk", "email"))
    names, former = {}, gettext("a former member")
    for entry in entries:
        names[entry.id] = entry.actor_id
        if entry.agent_id:
            names[entry.id] = slugs.get(entry.agent_id, entry.agent_id)
        elif entry.actor_type == ActorType.USER:
            names[entry.id] = people.get(entry.actor_id, former)
    return names


def subjects(row: JournalEntry) -> list[str]:
    """Return the subjects of an entry, spelled as its writer spelled them."""
    return sorted(row.mentions.values_list("alias", flat=True))


def entry_types(actor: Actor) -> list[str]:
    """Return the entry types of the actor's workspace, for a filter's choices.

    One index lookup per type: DISTINCT would read the whole journal.
    """
    actor.require("journal.read")
    smallest = "SELECT min(entry_type) FROM journal_entries WHERE workspace_id = %s"
    sql = (
        f"WITH RECURSIVE types(name) AS ({smallest} UNION ALL"  # noqa: S608
        f" SELECT ({smallest} AND entry_type > types.name) FROM types"
        " WHERE types.name IS NOT NULL)"
        " SELECT name FROM types WHERE name IS NOT NULL LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [actor.workspace_id, actor.workspace_id, MAX_TYPES])
        return [row[0] for row in cursor.fetchall()]
