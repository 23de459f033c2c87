"""Read single journal entries, lists, counts and pages, bound to what an actor may see.

An entry of another workspace and one that does not exist are the same answer: NotFound.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TypeVar

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from memory import fulltext, pagination, workspace_tree
from memory.journal import append as journal
from memory.journal import integrity
from memory.models import (
    ArchivedEntry,
    ChainHead,
    JournalEntry,
    PriorityChange,
)
from memory.rules import entries, errors, tokenizer
from memory.rules.permissions import Actor

Row = TypeVar("Row", JournalEntry, ArchivedEntry)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFilter:
    """The filters of a list; an empty one matches all. Ids are checked, not trusted."""

    q: str = ""
    crew_id: str | None = None
    agent_id: str | None = None
    mission_id: str | None = None
    trace_id: str | None = None
    entry_type: tuple[str, ...] = ()
    exclude_entry_type: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    priority: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    subject: str | None = None
    include_archive: bool = False

    @property
    def digest(self) -> str:
        """A digest of the filters, stored in the list's cursors."""
        return pagination.digest(asdict(self))


@dataclass(frozen=True, slots=True)
class JournalPage:
    """One page of entries, newest first; ``next_cursor`` is None on the last.

    ``archived`` are the compacted entries of the same time span, present only with
    ``include_archive``.
    """

    entries: list[JournalEntry]
    next_cursor: str | None
    archived: list[ArchivedEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """An entry's neighbours in the chain, and whether its hash reproduces."""

    previous: JournalEntry | None
    following: JournalEntry | None
    verdict: str = field(default="unknown")


# ── One entry ────────────────────────────────────────────────────────────────
def entry(actor: Actor, entry_id: str) -> JournalEntry:
    """Return an entry the actor may read."""
    actor.require("journal.read")
    row = visible_entries(actor).filter(pk=entry_id).first()
    if row is None:
        raise errors.NotFound
    return row


def archived_entry(actor: Actor, entry_id: str) -> ArchivedEntry:
    """Return the archived row of a compacted entry the actor may read."""
    actor.require("journal.read")
    rows = _readable(ArchivedEntry.objects.all(), actor)
    if not actor.can("gdpr.read"):
        rows = rows.filter(restricted_at=None)
    row = rows.filter(pk=entry_id).first()
    if row is None:
        raise errors.NotFound
    return row


# ── Lists ────────────────────────────────────────────────────────────────────
def _readable(rows: QuerySet[Row], actor: Actor) -> QuerySet[Row]:
    """Return those of some rows that an actor may read.

    People read their workspace; an agent reads its own entries and its crew's.
    """
    rows = rows.filter(workspace_id=actor.workspace_id)
    if actor.is_agent:
        rows = rows.filter(Q(agent_id=actor.id) | Q(crew_id=actor.crew_id))
    return rows


def visible_entries(actor: Actor) -> QuerySet[JournalEntry]:
    """Return the entries an actor may read.

    Restricted entries are visible only with the permission ``gdpr.read``.
    """
    rows = _readable(JournalEntry.objects.all(), actor)
    return rows if actor.can("gdpr.read") else rows.filter(restricted_at=None)


def _authorise(actor: Actor, filters: JournalFilter) -> None:
    """Raise NotFound for a crew or agent that the actor may not name."""
    if filters.crew_id is not None:
        workspace_tree.crew(actor, filters.crew_id)
    if filters.agent_id is not None:
        workspace_tree.agent(actor, filters.agent_id)


def _times(rows: QuerySet[Row], filters: JournalFilter) -> QuerySet[Row]:
    if filters.since and filters.until and filters.since > filters.until:
        raise errors.Invalid("since lies after until.", code="bad_range")
    if filters.since:
        rows = rows.filter(ts__gte=filters.since)
    if filters.until:
        rows = rows.filter(ts__lte=filters.until)
    return rows


def _matching(rows: QuerySet[Row], filters: JournalFilter) -> QuerySet[Row]:
    """Apply the filters on columns and times."""
    rows = _times(rows, filters)
    for name in ("crew_id", "agent_id", "mission_id", "trace_id"):
        value = getattr(filters, name)
        if value is not None:
            rows = rows.filter(**{name: value})
    for name in ("entry_type", "severity", "priority"):
        values = getattr(filters, name)
        if values:
            rows = rows.filter(**{f"{name}__in": values})
    if filters.exclude_entry_type:
        rows = rows.exclude(entry_type__in=filters.exclude_entry_type)
    return rows


def filtered(actor: Actor, filters: JournalFilter) -> QuerySet[JournalEntry]:
    """Return the entries that match; lists, counts and pages all use this."""
    actor.require("journal.read")
    _authorise(actor, filters)
    rows = _matching(visible_entries(actor), filters)
    if filters.subject:
        folded = tokenizer.fold(filters.subject)
        rows = rows.filter(
            mentions__workspace_id=actor.workspace_id, mentions__folded=folded
        )
    if filters.q.strip():
        docids = fulltext.matching(actor.workspace_id, filters.q)
        rows = rows.none() if docids is None else rows.filter(docid__in=docids)
        rows = rows.exclude(entry_type__startswith=entries.UNSEARCHED)
        rows = rows.filter(retired_at=None)
    return rows


def archived(actor: Actor, filters: JournalFilter) -> QuerySet[ArchivedEntry]:
    """Return the archived entries that match, none without ``include_archive``.

    The archive has no word index: words are matched as substrings of the short texts.
    """
    rows = ArchivedEntry.objects.all()
    if not filters.include_archive:
        return rows.none()
    actor.require("journal.read")
    _authorise(actor, filters)
    rows = _matching(_readable(rows, actor), filters)
    if not actor.can("gdpr.read"):
        rows = rows.filter(restricted_at=None)
    if filters.subject:
        rows = rows.filter(subjects__contains=f"\n{tokenizer.fold(filters.subject)}\n")
    if filters.q.strip():
        quoted, single = tokenizer.phrases(filters.q)
        terms = [*(" ".join(p) for p in quoted), *tokenizer.without_stop_words(single)]
        if not terms:
            return rows.none()
        for word in terms[: fulltext.MAX_TERMS]:
            rows = rows.filter(
                Q(summary__icontains=word) | Q(payload_text__icontains=word)
            )
    return rows


def count(actor: Actor, filters: JournalFilter) -> int:
    """Return how many entries match, archived ones too with ``include_archive``."""
    total = filtered(actor, filters).count()
    return total + (archived(actor, filters).count() if filters.include_archive else 0)


def _older(
    rows: QuerySet[Row], cursor: str, workspace_id: str, digest: str
) -> QuerySet[Row]:
    """Return the rows older than a cursor; it holds the time and number of a row."""
    ts, seq = pagination.read(cursor, workspace_id, digest)
    moment = parse_datetime(str(ts))
    return rows.filter(Q(ts__lt=moment) | Q(ts=moment, seq__lt=seq))


def journal_page(
    actor: Actor, filters: JournalFilter, *, limit: int, cursor: str | None = None
) -> JournalPage:
    """Return a page of entries, newest first."""
    live, archive = filtered(actor, filters), archived(actor, filters)
    workspace_id, digest = actor.workspace_id, filters.digest
    if cursor:
        live = _older(live, cursor, workspace_id, digest)
        archive = _older(archive, cursor, workspace_id, digest)
    rows: list[JournalEntry | ArchivedEntry] = []
    rows += live.order_by("-ts", "-seq")[: limit + 1]
    rows += archive.order_by("-ts", "-seq")[: limit + 1]
    rows.sort(key=lambda row: (row.ts, row.seq), reverse=True)
    page, next_cursor = rows[:limit], None
    if len(rows) > limit:
        last = page[-1]
        position: list[str | int] = [journal.stamp(last.ts), last.seq]
        next_cursor = pagination.make(workspace_id, digest, position)
    live_rows = [row for row in page if isinstance(row, JournalEntry)]
    return JournalPage(
        live_rows, next_cursor, [r for r in page if isinstance(r, ArchivedEntry)]
    )


def entry_place(row: JournalEntry) -> EntryPlace:
    """Return the neighbours of an entry in the chain, and the verdict on its hash."""
    rows = JournalEntry.objects.filter(workspace_id=row.workspace_id)
    before = rows.filter(seq__lt=row.seq).order_by("-seq").first()
    after = rows.filter(seq__gt=row.seq).order_by("seq").first()
    return EntryPlace(before, after, integrity.of(row, before))


def priorities(row: JournalEntry) -> list[PriorityChange]:
    """Return the ledger of an entry's priority, oldest first."""
    return list(row.priorities.order_by("number"))


def chain_length(workspace_id: str) -> int:
    """Return the last number of a workspace's chain."""
    head = ChainHead.objects.filter(pk=workspace_id).first()
    return head.seq if head else 0
