"""The journal as its page shows it: paged both ways, around an entry, with authors.

The API's list is paged one way and has no totals. A web page also goes back to newer
entries, opens at a linked entry, and says where in the list it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from memory import pagination, workspace_tree
from memory.journal import append as journal
from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry, User
from memory.rules import errors
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor

COUNT_CAP: Final = 10_000
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


Position = tuple[datetime, int]


def _position(row: JournalEntry) -> Position:
    return row.ts, row.seq


def _older(rows: Rows, at: Position) -> Rows:
    return rows.filter(Q(ts__lt=at[0]) | Q(ts=at[0], seq__lt=at[1]))


def _newer(rows: Rows, at: Position) -> Rows:
    return rows.filter(Q(ts__gt=at[0]) | Q(ts=at[0], seq__gt=at[1]))


def _read(cursor: str, actor: Actor, filters: JournalFilter) -> Position:
    ts, seq = pagination.read(cursor, actor.workspace_id, filters.digest)
    moment = parse_datetime(str(ts))
    if moment is None:
        raise errors.Invalid("The cursor is damaged.", code="bad_cursor")
    return moment, int(seq)


def _cursor(row: JournalEntry, filters: JournalFilter) -> str:
    position: list[str | int] = [journal.stamp(row.ts), row.seq]
    return pagination.make(row.workspace_id, filters.digest, position)


def _tally(rows: Rows) -> Tally:
    count = rows.order_by()[: COUNT_CAP + 1].count()
    return Tally(min(count, COUNT_CAP), is_capped=count > COUNT_CAP)


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
    at = _position(entry)
    above = _oldest(_newer(rows, at), ABOVE)
    return [*above, entry, *_newest(_older(rows, at), limit - len(above) - 1)]


def _page(
    rows: Rows, actor: Actor, filters: JournalFilter, start: Start, limit: int
) -> list[JournalEntry]:
    if start.newer:
        entries = _oldest(_newer(rows, _read(start.newer, actor, filters)), limit)
        # With fewer rows above than fit, the newest page is returned, full.
        return entries if len(entries) == limit else _newest(rows, limit)
    if start.older:
        return _newest(_older(rows, _read(start.older, actor, filters)), limit)
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
    before = _tally(_newer(rows, _position(first)))
    has_older = _older(rows, _position(last)).exists()
    return Stretch(
        entries=entries,
        newer=_cursor(first, filters) if before.number else None,
        older=_cursor(last, filters) if has_older else None,
        before=before,
        total=_tally(rows),
    )


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
    return {e.id: _author(e, slugs, people) for e in entries}


def _author(entry: JournalEntry, slugs: dict[str, str], people: dict[str, str]) -> str:
    if entry.agent_id:
        return slugs.get(entry.agent_id, entry.agent_id)
    if entry.actor_type == ActorType.USER:
        return people.get(entry.actor_id, "a former member")
    return entry.actor_id


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
