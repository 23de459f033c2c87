"""What goes at night: letters after their days, addresses after the closing letter."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from gdpr.cases import legal_holds, privacy_settings
from gdpr.cases.correspondence import AFTER_CLOSING
from gdpr.data_map.letters import LETTERS
from gdpr.letters.occasions import CLOSING
from gdpr.models import Correspondence, Letter
from memory.journal import append as journal
from memory.rules import permissions
from memory.rules.entries import NewEntry

# A letter that is being mailed is left alone.
_CLAIMED: Final = timedelta(days=1)


def run(workspace_id: str, now: datetime | None = None) -> dict[str, int]:
    """Erase what is due in a workspace; return how many letters and addresses."""
    moment = now or timezone.now()
    with transaction.atomic():
        counts = {
            "letters": _erase_letters(workspace_id, moment),
            "addresses": _erase_addresses(workspace_id, moment),
        }
        if any(counts.values()):
            _record(workspace_id, counts)
    return counts


def _erase_letters(workspace_id: str, now: datetime) -> int:
    """Erase letters whose days are over, and unsent ones of cases closed long ago."""
    zone = privacy_settings.zone(privacy_settings.of(workspace_id))
    is_over = Q(keep_until__lte=now.astimezone(zone).date())
    is_left = Q(sent_at=None, case__closed_at__lt=now - AFTER_CLOSING) & (
        Q(claimed_at=None) | Q(claimed_at__lt=now - _CLAIMED)
    )
    rows = Letter.objects.filter(is_over | is_left, workspace_id=workspace_id)
    due = rows.values_list("pk", "case__subject_ref")
    ids = _without_holds(workspace_id, due)
    return Letter.objects.filter(pk__in=ids).delete()[0]


def _without_holds(workspace_id: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return the letters of people without a hold on them."""
    by_person: dict[str, list[str]] = {}
    for letter_id, subject_ref in rows:
        by_person.setdefault(subject_ref, []).append(letter_id)
    return [
        letter_id
        for subject_ref, ids in by_person.items()
        if legal_holds.in_force(workspace_id, subject_ref, LETTERS.name) is None
        for letter_id in ids
    ]


def _erase_addresses(workspace_id: str, now: datetime) -> int:
    closing_letters = Letter.objects.filter(
        case_id=OuterRef("case_id"),
        occasion__in=CLOSING,
        sent_at__gte=OuterRef("case__closed_at"),
    )
    rows = Correspondence.objects.filter(
        Exists(closing_letters) | Q(case__closed_at__lt=now - AFTER_CLOSING),
        workspace_id=workspace_id,
        case__closed_at__isnull=False,
    )
    return rows.delete()[0]


def _record(workspace_id: str, counts: dict[str, int]) -> None:
    new = NewEntry(
        entry_type="gdpr.letters_erased",
        summary="Letters and addresses erased after their days",
        payload=counts,
    )
    journal.write([new], by=permissions.system(workspace_id, "gdpr"))
