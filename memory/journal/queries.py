"""Read single journal entries, lists, counts and pages, bound to what an actor may see.

An entry of another workspace and one that does not exist are the same answer: NotFound.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from django.db.models import CharField, F, Func, Q, QuerySet

from memory import fulltext, lookup, pagination, workspace_tree
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
from memory.rules.translation import gettext

Row = TypeVar("Row", JournalEntry, ArchivedEntry)
# As SQLite is told to leave an index alone.
_UNINDEXED: Final = Func(
    F("workspace_id"), template="+%(expressions)s", output_field=CharField()
)
# The time and the number of an entry.
Position = tuple[datetime, int]


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
    actor_type: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    subject: str | None = None
    include_archive: bool = False
    # Only entries with an agent, only those without one; None is both.
    has_agent: bool | None = None

    @property
    def digest(self) -> str:
        """A digest of the filters, stored in the list's cursors."""
        filters = asdict(self)
        # Cursors that were given out before this filter existed stay valid.
        if self.has_agent is None:
            del filters["has_agent"]
        return pagination.digest(filters)


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
    verdict: str


# ── One entry ────────────────────────────────────────────────────────────────
def entry(actor: Actor, entry_id: str) -> JournalEntry:
    """Return an entry the actor may read."""
    actor.require("journal.read")
    return lookup.required(visible_entries(actor), pk=entry_id)


def archived_entry(actor: Actor, entry_id: str) -> ArchivedEntry:
    """Return the archived row of a compacted entry the actor may read."""
    actor.require("journal.read")
    return lookup.required(_visible(ArchivedEntry.objects.all(), actor), pk=entry_id)


# ── Lists ────────────────────────────────────────────────────────────────────
def _visible(
    rows: QuerySet[Row], actor: Actor, *, by_number: bool = False
) -> QuerySet[Row]:
    """Return those of some rows that an actor may read.

    People read their workspace; an agent reads its own entries and its crew's.
    Restricted entries are visible only with the permission ``gdpr.read``. With
    ``by_number`` SQLite looks rows up by their docids, and by no index of workspaces.
    """
    if by_number:
        rows = rows.alias(home=_UNINDEXED).filter(home=actor.workspace_id)
    else:
        rows = rows.filter(workspace_id=actor.workspace_id)
    if actor.is_agent:
        rows = rows.filter(Q(agent_id=actor.id) | Q(crew_id=actor.crew_id))
    return rows if actor.can("gdpr.read") else rows.filter(restricted_at=None)


def visible_entries(actor: Actor) -> QuerySet[JournalEntry]:
    """Return the entries an actor may read."""
    return _visible(JournalEntry.objects.all(), actor)


def _authorise(actor: Actor, filters: JournalFilter) -> None:
    """Raise NotFound for a crew or agent that the actor may not name."""
    if filters.crew_id is not None:
        workspace_tree.crew(actor, filters.crew_id)
    if filters.agent_id is not None:
        workspace_tree.agent(actor, filters.agent_id)


def _matching(rows: QuerySet[Row], filters: JournalFilter) -> QuerySet[Row]:
    """Apply the filters on columns and times."""
    if filters.since and filters.until and filters.since > filters.until:
        raise errors.Invalid(gettext("since lies after until."), code="bad_range")
    if filters.since:
        rows = rows.filter(ts__gte=filters.since)
    if filters.until:
        rows = rows.filter(ts__lte=filters.until)
    for name in ("crew_id", "agent_id", "mission_id", "trace_id"):
        value = getattr(filters, name)
        if value is not None:
            rows = rows.filter(**{name: value})
    for name in ("entry_type", "severity", "priority", "actor_type"):
        values = getattr(filters, name)
        if values:
            rows = rows.filter(**{f"{name}__in": values})
    if filters.has_agent is not None:
        rows = rows.filter(agent_id__isnull=not filters.has_agent)
    if filters.exclude_entry_type:
        rows = rows.exclude(entry_type__in=filters.exclude_entry_type)
    return rows


def filtered(actor: Actor, filters: JournalFilter) -> QuerySet[JournalEntry]:
    """Return the entries that match; lists, counts and pages all use this."""
    actor.require("journal.read")
    _authorise(actor, filters)
    workspace_id, words = actor.workspace_id, filters.q.strip()
    by_number = bool(words) and fulltext.are_few(workspace_id, words)
    rows = _visible(JournalEntry.objects.all(), actor, by_number=by_number)
    rows = _matching(rows, filters)
    if filters.subject:
        folded = tokenizer.fold(filters.subject)
        rows = rows.filter(mentions__workspace_id=workspace_id, mentions__folded=folded)
    if words:
        matches = fulltext.matching(workspace_id, words)
        rows = rows.none() if matches is None else rows.filter(matches)
        rows = rows.exclude(entry_type__startswith=entries.UNSEARCHED)
        # What matched a moment ago may have been erased since.
        rows = rows.filter(retired_at=None, erased_at=None)
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
    rows = _matching(_visible(rows, actor), filters)
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


# ── Pages ────────────────────────────────────────────────────────────────────
def read_cursor(cursor: str, actor: Actor, filters: JournalFilter) -> Position:
    """Return the position in a cursor; Invalid for another list's."""
    ts, seq = pagination.read(cursor, actor.workspace_id, filters.digest)
    return pagination.moment(ts), int(seq)


def cursor_at(row: JournalEntry | ArchivedEntry, filters: JournalFilter) -> str:
    position: list[str | int] = [journal.stamp(row.ts), row.seq]
    return pagination.make(row.workspace_id, filters.digest, position)


def older(rows: QuerySet[Row], at: Position) -> QuerySet[Row]:
    # The first condition bounds what is read from the index.
    return rows.filter(ts__lte=at[0]).filter(Q(ts__lt=at[0]) | Q(seq__lt=at[1]))


def journal_page(
    actor: Actor, filters: JournalFilter, *, limit: int, cursor: str | None = None
) -> JournalPage:
    """Return a page of entries, newest first."""
    live, archive = filtered(actor, filters), archived(actor, filters)
    if cursor:
        at = read_cursor(cursor, actor, filters)
        live, archive = older(live, at), older(archive, at)
    rows: list[JournalEntry | ArchivedEntry] = []
    rows += live.order_by("-ts", "-seq")[: limit + 1]
    rows += archive.order_by("-ts", "-seq")[: limit + 1]
    rows.sort(key=lambda row: (row.ts, row.seq), reverse=True)
    page = rows[:limit]
    return JournalPage(
        [row for row in page if isinstance(row, JournalEntry)],
        cursor_at(page[-1], filters) if len(rows) > limit else None,
        [row for row in page if isinstance(row, ArchivedEntry)],
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
