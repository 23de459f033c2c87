"""Merging two subjects that are one person."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext

from gdpr import cache_version, suppression
from gdpr.models import Case, Consent, Hold, Lifting, Subject, SubjectLink
from gdpr.subjects import restriction
from gdpr.subjects.registry import field_error, locked_subject, record
from memory.rules.permissions import Actor


def merge(subject_id: str, into_id: str, *, by: Actor) -> Subject:
    """Merge two subjects: aliases, links, cases and holds move to ``into_id``."""
    by.require("gdpr.manage")
    if subject_id == into_id:
        detail = gettext("A subject cannot be merged into itself.")
        raise field_error(detail, "same", "into")
    with transaction.atomic():
        workspace_id = by.workspace_id
        source, target = (
            locked_subject(workspace_id, subject_id),
            locked_subject(workspace_id, into_id),
        )
        of_subject = {"workspace_id": workspace_id, "subject": source}
        _move_aliases(source, target)
        links = SubjectLink.objects.filter(workspace_id=workspace_id, subject=target)
        for place, row_id in list(links.values_list("place", "row_id")):
            SubjectLink.objects.filter(
                **of_subject, place=place, row_id=row_id
            ).delete()
        SubjectLink.objects.filter(**of_subject).update(subject=target)
        Case.objects.filter(**of_subject).update(subject=target, subject_ref=target.pk)
        Hold.objects.filter(**of_subject).update(subject=target)
        Lifting.objects.filter(**of_subject).update(subject=target)
        digests = list(target.dismissals.values_list("digest", flat=True))
        source.dismissals.filter(digest__in=digests).delete()
        source.dismissals.update(subject=target)
        _keep_stricter_protection(source, target)
        if target.restricted_at is not None:
            restriction.restrict_linked(target)
            # The sweep finds rows that are not linked yet, by the names of both.
            target.aliases.update(swept_at=None)
        source.merged_into, source.display_name = target, ""
        source.consent_note = ""
        source.save(update_fields=["merged_into", "display_name", "consent_note"])
        cache_version.bump(workspace_id)
        record("merged", target, by, merged=source.pk)
    return target


def _move_aliases(source: Subject, target: Subject) -> None:
    alias_keys = set(target.aliases.values_list("kind", "folded"))
    for alias in source.aliases.all():
        if (alias.kind, alias.folded) in alias_keys:
            alias.delete()
        else:
            alias.subject = target
            alias.save(update_fields=["subject"])


def _keep_stricter_protection(source: Subject, target: Subject) -> None:
    """Apply the opt-out, restriction and withdrawn consent of both to the target."""
    target.opted_out_at = target.opted_out_at or source.opted_out_at
    target.restricted_at = target.restricted_at or source.restricted_at
    if source.consent == Consent.WITHDRAWN or not target.display_name:
        target.display_name = target.display_name or source.display_name
        if source.consent == Consent.WITHDRAWN:
            target.consent, target.consent_at = source.consent, source.consent_at
    target.save()
    if target.opted_out_at is not None:
        suppression.suppress(target)
