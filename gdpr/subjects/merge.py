"""Two subjects turn out to be one person."""

from __future__ import annotations

from django.db import transaction

from gdpr import cache_version, suppression
from gdpr.models import Case, Consent, Hold, Lifting, Subject, SubjectLink
from gdpr.subjects import restriction
from gdpr.subjects.registry import alive, fault, record
from memory.rules.permissions import Actor


def merge(subject_id: str, into_id: str, *, by: Actor) -> Subject:
    """Make two subjects one: aliases, links, cases and holds move to ``into_id``."""
    by.require("gdpr.manage")
    if subject_id == into_id:
        raise fault("A subject cannot be merged into itself.", "same", "into")
    with transaction.atomic():
        home = by.workspace_id
        goes, stays = alive(home, subject_id), alive(home, into_id)
        of_subject = {"workspace_id": home, "subject": goes}
        _move_aliases(goes, stays)
        links = SubjectLink.objects.filter(workspace_id=home, subject=stays)
        for place, row_id in list(links.values_list("place", "row_id")):
            SubjectLink.objects.filter(
                **of_subject, place=place, row_id=row_id
            ).delete()
        SubjectLink.objects.filter(**of_subject).update(subject=stays)
        Case.objects.filter(**of_subject).update(subject=stays, subject_ref=stays.pk)
        Hold.objects.filter(**of_subject).update(subject=stays)
        Lifting.objects.filter(**of_subject).update(subject=stays)
        _move_dismissals(goes, stays)
        _stricter(goes, stays)
        if stays.restricted_at is not None:
            restriction.keep_out(stays)
            # What nobody linked yet, the sweep finds under the names of both.
            stays.aliases.update(swept_at=None)
        goes.merged_into, goes.display_name = stays, ""
        goes.consent_note = ""
        goes.save(update_fields=["merged_into", "display_name", "consent_note"])
        cache_version.changed(home)
        record("merged", stays, by, merged=goes.pk)
    return stays


def _move_aliases(goes: Subject, stays: Subject) -> None:
    alias_keys = set(stays.aliases.values_list("kind", "folded"))
    for alias in goes.aliases.all():
        if (alias.kind, alias.folded) in alias_keys:
            alias.delete()
        else:
            alias.subject = stays
            alias.save(update_fields=["subject"])


def _move_dismissals(goes: Subject, stays: Subject) -> None:
    digests = stays.dismissals.values_list("digest", flat=True)
    goes.dismissals.filter(digest__in=list(digests)).delete()
    goes.dismissals.update(subject=stays)


def _stricter(goes: Subject, stays: Subject) -> None:
    """Let what protects one of two people protect the one they are."""
    stays.opted_out_at = stays.opted_out_at or goes.opted_out_at
    stays.restricted_at = stays.restricted_at or goes.restricted_at
    if goes.consent == Consent.WITHDRAWN or not stays.display_name:
        stays.display_name = stays.display_name or goes.display_name
        if goes.consent == Consent.WITHDRAWN:
            stays.consent, stays.consent_at = goes.consent, goes.consent_at
    stays.save()
    if stays.opted_out_at is not None:
        suppression.suppress(stays)
