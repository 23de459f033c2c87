"""Consent and opting out."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from gdpr import cache_version, suppression
from gdpr.models import Consent, Subject, Suppression
from gdpr.subjects.registry import (
    NOTE_CHARS,
    clean_text,
    field_error,
    locked_subject,
    record,
)
from memory.rules.permissions import Actor


def note(
    subject_id: str,
    consent: str,
    consent_note: str = "",
    *,
    opted_out: bool | None = None,
    by: Actor,
) -> Subject:
    """Record a person's consent; opting out suppresses their names.

    ``opted_out`` None changes nothing; False ends their own opting out, never a
    suppression by an erasure.
    """
    by.require("gdpr.manage")
    if consent not in Consent.values:
        choices = ", ".join(Consent.values)
        raise field_error(f"consent is one of {choices}.", "bad_consent", "consent")
    with transaction.atomic():
        subject = locked_subject(by.workspace_id, subject_id)
        subject.consent, subject.consent_at = consent, timezone.now()
        subject.consent_note = clean_text(consent_note, NOTE_CHARS, "note")
        if opted_out is True:
            subject.opted_out_at = subject.opted_out_at or timezone.now()
            suppression.suppress(subject)
        elif opted_out is False and subject.opted_out_at is not None:
            subject.opted_out_at = None
            _opt_in(subject, by)
        subject.save()
        payload = {"consent": consent, "opted_out": subject.opted_out_at is not None}
        record("consent", subject, by, **payload)
    return subject


def opt_out(subject: Subject, *, by: Actor) -> None:
    """Opt a person out who objected; safe to repeat, also after a crash."""
    by.require("gdpr.manage", subject.workspace_id)
    with transaction.atomic():
        rows = Subject.objects.select_for_update()
        live = rows.get(workspace_id=subject.workspace_id, pk=subject.pk)
        if live.opted_out_at is None:
            live.opted_out_at = timezone.now()
            live.save(update_fields=["opted_out_at"])
            suppression.suppress(live)
            record("consent", live, by, consent=live.consent, opted_out=True)


def _opt_in(subject: Subject, by: Actor) -> None:
    rows = Suppression.objects.filter(
        workspace_id=subject.workspace_id,
        subject_ref=subject.pk,
        case_ref="",
        lifted_at=None,
    )
    reason = "The person opted in again."
    cache_version.bump(subject.workspace_id)
    rows.update(lifted_at=timezone.now(), lifted_by=by.label, lift_reason=reason)
