"""Read records: one, a page, and the records that one superseded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Model, Q, QuerySet

from memory import lookup, pagination
from memory.files.paths import Owner
from memory.models import Record, RecordEntry, RecordStatus
from memory.records import version_history
from memory.records.access import current_records, equal, owner_for, reach, select
from memory.records.redaction import is_safe, unsafe_ids
from memory.records.similarity import similar_records
from memory.records.types import Action, Criteria, Order, Page, Saved
from memory.rules import errors, filters
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope

LIMIT: Final = 500
# How many rows ``every`` reads at once.
PART: Final = 200
CHUNK: Final = 250
# Rows that one page reads at most: with a sparse filter pages are short.
SCAN_LIMIT: Final = 5_000
COUNT_LIMIT: Final = 50_000
# The largest OFFSET that both databases take.
MAX_OFFSET: Final = 2**62
ROWS: Final = {Order.NEWEST: ("updated_at", "id"), Order.OLDEST: ("created_at", "id")}
LINKS: Final = {
    Order.NEWEST: ("valid_from", "record_id"),
    Order.OLDEST: ("record__created_at", "record_id"),
}
# The largest number of ids to exclude in one query.
MAX_HIDDEN: Final = 5_000
Place = tuple[datetime, str]
Row = TypeVar("Row", bound=Model)


class RowsToSkip(NamedTuple):
    """The OFFSET of a query, and the hidden ids that it must not count."""

    number: int = 0
    hidden: frozenset[str] = frozenset()


NO_ROWS: Final = RowsToSkip()


# ── One ──────────────────────────────────────────────────────────────────────
def get(
    record_id: str,
    *,
    owner: Owner | None,
    by: Actor,
    statuses: tuple[str, ...] = (RecordStatus.CURRENT.value,),
) -> Record:
    """Return one record that an owner may read.

    Raises NotFound for one that is missing, another owner's, forgotten or expired; for
    an agent also for an unsafe one.
    """
    if by.is_agent:
        rows = current_records(owner or owner_for(by), by=by)
        record = lookup.required(rows, pk=record_id)
        if not is_safe(record):
            raise errors.NotFound
        return record
    is_current = statuses == (RecordStatus.CURRENT.value,)
    rows = current_records(owner, by=by) if is_current else reach(owner, by=by)
    return lookup.required(rows, pk=record_id, status__in=statuses)


def repeated_answer(record_id: str, action: Action, *, by: Actor) -> Saved:
    """Return the answer to a repeated request: the record as it is now."""
    rows = Record.objects.filter(workspace_id=by.workspace_id)
    row = rows.select_related("crew__workspace", "agent").get(pk=record_id)
    return Saved(row, action, similar_records(row) if row.content else [])


def by_external(
    external_id: str, *, owner: Owner | None, scope: Scope, by: Actor
) -> Record | None:
    """Return the current record of an external id in exactly this scope."""
    if not external_id:
        return None
    rows = current_records(owner, by=by).filter(
        scope_key=scope.key, external_id=external_id
    )
    if owner is not None:
        rows = rows.filter(agent_id=owner.agent_id)
    return rows.first()


# ── Lists ────────────────────────────────────────────────────────────────────
def facts(record: Record) -> dict[str, Any]:
    """Return the fields of a record that a filter can test."""
    names = filters.COLUMNS
    return facts_of(names, [getattr(record, name, None) for name in names])


def facts_of(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return columns and values for a filter; an empty text counts as None."""
    pairs = zip(names, values, strict=True)
    return {key: None if value == "" else value for key, value in pairs}


def columns_for_filter(criteria: Criteria) -> tuple[list[str], filters.Holds | None]:
    """Return the columns that a filter needs, and the compiled filter or None."""
    holds = filters.read(criteria.filter)
    return ([] if holds is None else sorted(filters.columns(criteria.filter))), holds


def _in_order(
    rows: QuerySet[Row],
    order: Order,
    names: tuple[str, str],
    after: Place | None,
    skip: int = 0,
) -> Iterator[tuple[Row, Place]]:
    """Yield rows in order, each with its place, reading a chunk at a time.

    ``skip`` is the OFFSET of the first chunk.
    """
    when, key = names
    down = order is Order.NEWEST
    sign = "lt" if down else "gt"
    while True:
        part = rows
        if after is not None:
            at_same_time = Q(**{when: after[0], f"{key}__gt": after[1]})
            part = part.filter(Q(**{f"{when}__{sign}": after[0]}) | at_same_time)
        part = part.order_by(f"-{when}" if down else when, key)
        chunk, skip = list(part[skip : skip + CHUNK]), 0
        for row in chunk:
            after = _place(row, names)
            yield row, after
        if len(chunk) < CHUNK:
            return


def _place(row: Model, names: tuple[str, str]) -> Place:
    moment: Any = row
    for step in names[0].split("__"):
        moment = getattr(moment, step)
    return moment, str(getattr(row, names[1]))


def _rows_at(
    criteria: Criteria, moment: datetime, order: Order, after: Place | None, by: Actor
) -> Iterator[tuple[Record | None, Place]]:
    links: QuerySet[RecordEntry] = version_history.links_at(criteria, moment, by=by)
    for link, place in _in_order(links, order, LINKS[order], after):
        version = version_history.record_at(link)
        is_match = version_history.is_match(version, criteria, moment)
        yield version if is_match else None, place


def scan(
    criteria: Criteria,
    *,
    order: Order = Order.NEWEST,
    after: Place | None = None,
    skip: RowsToSkip = NO_ROWS,
    by: Actor,
) -> Iterator[tuple[Record | None, Place]]:
    """Yield every record read with its place; None for one that does not match.

    ``skip`` is skipped unread, only where SQL alone decides which rows match.
    """
    by.require("records.read")
    holds = filters.read(criteria.filter)
    rows: Iterator[tuple[Record | None, Place]]
    if criteria.as_of is None:
        current = select(criteria, by=by).exclude(pk__in=skip.hidden)
        rows = _in_order(current, order, ROWS[order], after, skip.number)
    else:
        rows = _rows_at(criteria, criteria.as_of, order, after, by)
    for row, place in rows:
        is_match = row is not None and (holds is None or holds(facts(row)))
        yield row if is_match else None, place


def page(
    criteria: Criteria,
    *,
    limit: int = 50,
    cursor: str | None = None,
    offset: int = 0,
    order: Order = Order.NEWEST,
    by: Actor,
) -> Page:
    """Return a page of records, for an agent without unsafe ones."""
    limit = max(1, min(limit, LIMIT))
    owner = criteria.owner
    owner_ids = [owner.crew.id, owner.agent_id] if owner else []
    question = pagination.digest(
        [asdict(replace(criteria, owner=None)), owner_ids, order.value]
    )
    after = None
    if cursor:
        moment, key = pagination.read(cursor, by.workspace_id, question)
        after = pagination.moment(moment), str(key)
    rows: list[Record] = []
    last: Place | None = None
    skip = _rows_to_skip(criteria, offset, by)
    offset = max(0, offset - skip.number)
    passed = 0
    scanned = scan(criteria, order=order, after=after, skip=skip, by=by)
    for number, (row, place) in enumerate(without_unsafe(scanned, by)):
        is_full = len(rows) == limit and row is not None
        if is_full or (number >= SCAN_LIMIT and not offset):
            assert last is not None  # noqa: S101  (limit and SCAN are positive)
            next_cursor = pagination.make(
                by.workspace_id, question, [last[0].isoformat(), last[1]]
            )
            return Page(rows, next_cursor)
        last = place
        if row is not None and passed < offset:
            passed += 1
        elif row is not None:
            rows.append(row)
    return Page(rows, None)


def every(criteria: Criteria, *, by: Actor) -> Iterator[Record]:
    """Yield all records that match, oldest first, fetched a page at a time."""
    cursor: str | None = None
    while True:
        part = page(criteria, limit=PART, cursor=cursor, order=Order.OLDEST, by=by)
        yield from part.rows
        cursor = part.next_cursor
        if cursor is None:
            return


def _rows_to_skip(criteria: Criteria, offset: int, by: Actor) -> RowsToSkip:
    """Return how many rows SQL may skip, and the hidden ones it must not count.

    None where SQL alone does not decide which rows match.
    """
    if offset <= 0 or criteria.filter is not None or criteria.as_of is not None:
        return NO_ROWS
    hidden = hidden_ids(select(criteria, by=by), by)
    if len(hidden) > MAX_HIDDEN:
        return NO_ROWS
    return RowsToSkip(min(offset, MAX_OFFSET), frozenset(hidden))


def hidden_ids(rows: QuerySet[Record], by: Actor) -> set[str]:
    """Return the ids of unsafe records when an agent reads; people see all."""
    return unsafe_ids(rows, COUNT_LIMIT) if by.is_agent else set()


def without_unsafe(
    scanned: Iterator[tuple[Record | None, Place]], by: Actor
) -> Iterator[tuple[Record | None, Place]]:
    """Yield None for unsafe records when an agent reads.

    They count as read, so that one page never reads through all unsafe records.
    """
    for row, place in scanned:
        is_hidden = row is not None and by.is_agent and not is_safe(row)
        yield None if is_hidden else row, place


def sources(record: Record) -> list[Record]:
    # By the index of superseded_by: any other would read the whole workspace.
    rows = Record.objects.filter(
        equal("workspace_id", record.workspace_id, by_id=True),
        superseded_by_id=record.id,
    )
    return list(rows.exclude(status=RecordStatus.FORGOTTEN).order_by("created_at"))


def probe(workspace_id: str) -> None:
    """Read a row, for a health check; raises when the database does not answer."""
    Record.objects.filter(workspace_id=workspace_id).order_by("id").first()
