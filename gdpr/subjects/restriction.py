"""Restriction: data is kept but not used in recall, search, lists and prompts.

Entries are marked, and every query leaves them out; files are masked when they are
read. New entries about the person are marked when they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import linking
from gdpr.models import Lifting, Subject, SubjectLink, Via
from gdpr.subjects import backfill
from memory.journal import append as journal
from memory.journal import compaction, erasure, visibility
from memory.rules import entries, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

REASON_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class RowDecisions:
    """Decisions on rows, place → entry ids: about the subject, or to stay in use."""

    confirmed: Mapping[str, frozenset[str]]
    staying: Mapping[str, frozenset[str]]


def _record(verb: str, subject: Subject, count: int, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"gdpr.{verb}",
        severity=Severity.NOTICE,
        summary=f"Subject {subject.pk}: {verb}, {count:,} entries",
        payload={"subject_id": subject.pk, "entries": count},
    )
    journal.write([new], by=by)


# Compaction moves an entry, not the links to it.
_PLACES: Final = ("journal", "archive")


def _linked(subject: Subject) -> list[str]:
    rows = SubjectLink.objects.filter(
        workspace_id=subject.workspace_id, subject_id=subject.pk, place__in=_PLACES
    )
    return list(dict.fromkeys(rows.order_by("pk").values_list("row_id", flat=True)))


def restrict(
    subject: Subject, *, by: Actor, decisions: RowDecisions | None = None
) -> int:
    """Take all entries about a person out of use; return how many are restricted now.

    The flag is set first, so that entries written meanwhile are marked on writing.
    ``decisions`` are those on single entries. Safe to repeat, also after a crash.
    """
    by.require("gdpr.manage", subject.workspace_id)
    with transaction.atomic():
        live = Subject.objects.select_for_update().get(pk=subject.pk)
        live.restricted_at = live.restricted_at or timezone.now()
        live.save(update_fields=["restricted_at"])
    for alias in live.aliases.select_related("subject").order_by("pk"):
        backfill.sweep_alias(alias)
    if decisions is not None:
        _link_confirmed(live, decisions)
    count = restrict_linked(live)
    if decisions is not None:
        count -= _release_kept(live, decisions)
    subject.restricted_at = live.restricted_at
    _record("restricted", live, count, by)
    return count


def _link_confirmed(subject: Subject, decisions: RowDecisions) -> None:
    """Link the entries that were confirmed to be about the subject."""
    linking.link(
        subject.workspace_id,
        (
            (subject.pk, place, row_id, Via.NAMED)
            for place in _PLACES
            for row_id in sorted(decisions.confirmed.get(place, ()))
        ),
    )


def _release_kept(subject: Subject, decisions: RowDecisions) -> int:
    """Unlink and release the entries that were decided to stay; return how many."""
    linked = set(_linked(subject))
    ids = {
        row_id for place in _PLACES for row_id in decisions.staying.get(place, ())
    } & linked
    count = 0
    for batch in erasure.batches(sorted(ids)):
        rows = SubjectLink.objects.filter(
            workspace_id=subject.workspace_id, subject_id=subject.pk
        )
        rows.filter(place__in=_PLACES, row_id__in=batch).delete()
        free = sorted(set(batch) - _restricted_for_others(subject, batch))
        count += visibility.lift(subject.workspace_id, free)
        count += compaction.lift(subject.workspace_id, free)
    return count


def restrict_linked(subject: Subject) -> int:
    """Take the entries linked to a person out of use; return how many."""
    row_ids = _linked(subject)
    for batch in erasure.batches(row_ids):
        visibility.restrict(subject.workspace_id, batch)
        compaction.restrict(subject.workspace_id, batch)
    return len(row_ids)


def _restricted_for_others(subject: Subject, ids: Sequence[str]) -> set[str]:
    """Return which entries are also linked to another restricted person."""
    rows = SubjectLink.objects.filter(
        workspace_id=subject.workspace_id,
        place__in=_PLACES,
        row_id__in=ids,
        subject__restricted_at__isnull=False,
    )
    other_subjects = rows.exclude(subject_id=subject.pk)
    return set(other_subjects.values_list("row_id", flat=True))


def lift(subject: Subject, reason: str, *, by: Actor) -> int:
    """End a restriction; return how many entries came back into use.

    The reason is stored with the subject, not in the journal: it may name somebody.
    """
    by.require("gdpr.manage", subject.workspace_id)
    if not reason.strip() or not entries.is_storable(reason):
        detail = gettext("Say why the restriction ends.")
        raise errors.Invalid(detail, code="reason_required")
    if len(reason) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(reason))
    with transaction.atomic():
        live = Subject.objects.select_for_update().get(pk=subject.pk)
        Lifting.objects.create(
            workspace_id=live.workspace_id,
            subject=live,
            restricted_at=live.restricted_at,
            lifted_by=by.label,
            reason=reason.strip(),
        )
        live.restricted_at = None
        live.save(update_fields=["restricted_at"])
    count = 0
    for batch in erasure.batches(_linked(live)):
        released_ids = sorted(set(batch) - _restricted_for_others(live, batch))
        count += visibility.lift(live.workspace_id, released_ids)
        count += compaction.lift(live.workspace_id, released_ids)
    subject.restricted_at = None
    _record("restriction_lifted", live, count, by)
    return count
