"""The rows that are due under a rule of retention, and the reasons why some stay.

Only texts that agents and programs wrote are ever due. What the journal says about
itself, about keys, members and settings, and about personal data stays: it accounts
for who did what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from gdpr import linking
from gdpr.models import (
    OPEN,
    Alias,
    Case,
    CaseKind,
    Hold,
    RetentionPlace,
    RetentionRule,
    SubjectLink,
)
from memory.models import (
    ArchivedEntry,
    JournalEntry,
    Record,
    RecordEntry,
    RecordStatus,
)
from memory.ports import legal_holds
from memory.records import chain
from memory.rules.entries import Priority

BATCH: Final = 50
PAGE: Final = 1_000
# The places whose links name the entries that hold a person's words.
_LINKED: Final = (linking.JOURNAL, "archive")
# A type that begins so is the journal's own account of what people and jobs did.
ACCOUNTS: Final = (
    "gateway_key.", "gateway_setup.", "gdpr.", "installation.", "invitation.", "key.",
    "memory.", "memory_gateway.", "provider.", "scanner.", "system.", "webhook.",
    "workspace.",
)  # fmt: skip
# Why a row that is old enough stays.
REASONS: Final = {
    "priority": gettext_noop("An operator gave them a priority"),
    "hold": gettext_noop("A legal hold keeps them"),
    "restricted": gettext_noop("They are about a restricted person"),
    "open_case": gettext_noop("They are about a person with an open request"),
}
# An erasure takes its rows anyway; any other request needs them until it is closed.
_WAITING: Final = tuple(kind for kind in CaseKind if kind is not CaseKind.ERASURE)


@dataclass(slots=True)
class DryRun:
    """What a rule would erase now.

    ``kinds`` is kind → rows due; ``stays`` is a key of ``REASONS`` → rows that stay.
    ``oldest`` and ``newest`` are the times of the rows that are old enough.
    """

    oldest: datetime | None = None
    newest: datetime | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    stays: Counter[str] = field(default_factory=Counter)

    @property
    def due(self) -> int:
        return self.kinds.total()


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is old enough; ``place`` is journal, archive or records."""

    place: str
    id: str
    kind: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one table that are old enough, with its columns of kind and time."""

    place: str
    rows: QuerySet[Any]
    kind: str
    at: str


def cutoff(rule: RetentionRule, at: datetime | None = None) -> datetime:
    """Return the moment before which a row is old enough."""
    return (at or timezone.now()) - timedelta(days=rule.days)


def _matches(kind: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return kind.startswith(pattern[:-1])
    return kind == pattern


def is_account(entry_type: str) -> bool:
    """Whether entries of a type are kept as an account, whatever a rule says."""
    return entry_type.startswith(ACCOUNTS)


# ── Old enough ───────────────────────────────────────────────────────────────
def _entries(rule: RetentionRule, at: datetime) -> QuerySet[JournalEntry]:
    rows = JournalEntry.objects.filter(workspace_id=rule.workspace_id)
    # By name: SQLite's LIKE ignores case, and would not use the index.
    present = rows.order_by().values_list("entry_type", flat=True).distinct()
    types = [t for t in present if _matches(t, rule.kind) and not is_account(t)]
    return rows.filter(entry_type__in=types, ts__lt=at, erased_at=None)


def _archived(rule: RetentionRule, at: datetime) -> QuerySet[ArchivedEntry]:
    rows = ArchivedEntry.objects.filter(workspace_id=rule.workspace_id)
    present = rows.order_by().values_list("entry_type", flat=True).distinct()
    types = [t for t in present if _matches(t, rule.kind) and not is_account(t)]
    empty = Q(summary="", payload_text="{}", subjects="")
    return rows.filter(entry_type__in=types, ts__lt=at).exclude(empty)


def _records(rule: RetentionRule, at: datetime) -> QuerySet[Record]:
    rows = Record.objects.filter(workspace_id=rule.workspace_id)
    present = rows.order_by().values_list("kind", flat=True).distinct()
    kinds = [kind for kind in present if _matches(kind, rule.kind)]
    rows = rows.filter(kind__in=kinds, updated_at__lt=at)
    return rows.exclude(status=RecordStatus.FORGOTTEN)


def sources(rule: RetentionRule, at: datetime) -> list[Source]:
    """Return what is old enough by a rule, one source for each table."""
    if rule.place == RetentionPlace.RECORDS:
        return [Source("records", _records(rule, at), "kind", "updated_at")]
    return [
        Source("journal", _entries(rule, at), "entry_type", "ts"),
        Source("archive", _archived(rule, at), "entry_type", "ts"),
    ]


def batches(source: Source) -> Iterator[list[Row]]:
    """Yield the rows of a source, the oldest first, page by page as they are then."""
    ordered_rows = source.rows.order_by(source.at, "pk")
    ordered_rows = ordered_rows.values_list("pk", source.kind, source.at)
    page = ordered_rows[:PAGE]
    while plain := list(page):
        rows = [Row(source.place, *values) for values in plain]
        yield from (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
        last = rows[-1]
        later = Q(**{f"{source.at}__gt": last.at})
        same_time = Q(**{source.at: last.at, "pk__gt": last.id})
        page = ordered_rows.filter(later | same_time)[:PAGE]


# ── What stays ───────────────────────────────────────────────────────────────
def split(workspace_id: str, rows: Sequence[Row]) -> tuple[list[Row], Counter[str]]:
    """Return the rows of a batch to erase, and why how many others stay.

    Asks anew for each batch, so that a hold placed during a run counts.
    """
    place = rows[0].place
    row_ids = _by_entry(workspace_id, rows)
    entry_ids = list(row_ids)
    held_place = legal_holds.RECORDS if place == "records" else place
    withheld_ids = {
        "open_case": _of_waiting_people(workspace_id, entry_ids),
        "restricted": _restricted(workspace_id, entry_ids),
        "hold": legal_holds.held_ids(workspace_id, entry_ids, held_place),
        "priority": _marked(workspace_id, entry_ids),
    }
    reasons = {
        row_ids[entry_id]: reason
        for reason, ids in withheld_ids.items()
        for entry_id in ids
    }
    due = [row for row in rows if row.id not in reasons]
    return due, Counter(reasons.values())


def _by_entry(workspace_id: str, rows: Sequence[Row]) -> dict[str, str]:
    """Return entry id → row id of the entries that hold the words of some rows."""
    ids = [row.id for row in rows]
    if rows[0].place != "records":
        return dict(zip(ids, ids, strict=True))
    links = RecordEntry.objects.filter(
        workspace_id=workspace_id, record_id__in=ids, entry__entry_type__in=chain.TYPES
    )
    return dict(links.values_list("entry_id", "record_id"))


def _waiting_cases(workspace_id: str) -> QuerySet[Case]:
    return Case.objects.filter(
        workspace_id=workspace_id, state__in=OPEN, kind__in=_WAITING
    )


def unsearched_aliases(workspace_id: str) -> QuerySet[Alias]:
    """Return the names of people with an open request that are not searched for yet.

    Until they are, nothing says which rows are about them.
    """
    people = _waiting_cases(workspace_id).values("subject_id")
    rows = Alias.objects.filter(workspace_id=workspace_id, subject_id__in=people)
    return rows.filter(swept_at=None).select_related("subject")


def _of_waiting_people(workspace_id: str, entry_ids: Sequence[str]) -> set[str]:
    """Return the entries linked to people whose open request needs them."""
    people = _waiting_cases(workspace_id).values("subject_id")
    links = SubjectLink.objects.filter(
        workspace_id=workspace_id,
        place__in=_LINKED,
        row_id__in=entry_ids,
        subject_id__in=people,
    )
    return set(links.values_list("row_id", flat=True))


def _restricted(workspace_id: str, entry_ids: Sequence[str]) -> set[str]:
    scope = {"workspace_id": workspace_id, "pk__in": entry_ids}
    live = JournalEntry.objects.filter(**scope).exclude(restricted_at=None)
    archived = ArchivedEntry.objects.filter(**scope).exclude(restricted_at=None)
    return {*live.values_list("pk", flat=True), *archived.values_list("pk", flat=True)}


def _marked(workspace_id: str, entry_ids: Sequence[str]) -> set[str]:
    rows = JournalEntry.objects.filter(workspace_id=workspace_id, pk__in=entry_ids)
    marked = rows.exclude(priority=Priority.NORMAL.value)
    return set(marked.values_list("pk", flat=True))


# ── The dry run ──────────────────────────────────────────────────────────────
def _perhaps_kept(source: Source, workspace_id: str) -> QuerySet[Any]:
    """Return the rows of a source that some reason may keep; all others are due."""
    if source.place == "records":
        return source.rows
    people = Q(subject_id__in=_waiting_cases(workspace_id).values("subject_id"))
    holds = Hold.objects.filter(workspace_id=workspace_id, released_at=None)
    people |= Q(subject_id__in=holds.values("subject_id"))
    links = SubjectLink.objects.filter(
        people, workspace_id=workspace_id, place__in=_LINKED
    )
    linked = Q(pk__in=links.values("row_id"))
    return source.rows.filter(
        linked | Q(restricted_at__isnull=False) | ~Q(priority=Priority.NORMAL.value)
    )


def _count(source: Source, workspace_id: str, result: DryRun) -> None:
    """Add what a source has to a dry run."""
    grouped = source.rows.order_by().values_list(source.kind)
    for kind, count, oldest, newest in grouped.annotate(
        Count("pk"), Min(source.at), Max(source.at)
    ):
        result.kinds[kind] += count
        result.oldest = min(oldest, result.oldest or oldest)
        result.newest = max(newest, result.newest or newest)
    perhaps = replace(source, rows=_perhaps_kept(source, workspace_id))
    for batch in batches(perhaps):
        due, stays = split(workspace_id, batch)
        result.stays.update(stays)
        result.kinds.subtract(row.kind for row in batch)
        result.kinds.update(row.kind for row in due)


def dry_run(rule: RetentionRule, at: datetime | None = None) -> DryRun:
    """Return what a rule would erase now; nothing is changed."""
    result = DryRun()
    for source in sources(rule, cutoff(rule, at)):
        _count(source, rule.workspace_id, result)
    result.kinds = +result.kinds
    return result
