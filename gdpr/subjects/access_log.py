"""Records in the audit log who viewed a person's names and samples."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.utils import timezone

from gdpr import audit_log
from gdpr.models import ActionKind, Case, GdprAction, Subject
from gdpr.subjects import registry as subjects
from memory.rules.permissions import Actor

NAMES: Final = "names and samples"
SAMPLES: Final = "samples of the plan"
# A polling program is recorded at most once in this time.
REPEAT_AFTER: Final = timedelta(minutes=15)


def _note(subject_ref: str, view: str, by: Actor, case_ref: str = "") -> GdprAction:
    return audit_log.note(
        subject_ref, ActionKind.VIEW, by=by, case_ref=case_ref, scope={"what": view}
    )


def record_names_view(subject_id: str, *, by: Actor) -> GdprAction:
    """Record that somebody views a person's names and samples.

    The audit log says who viewed whose data and when; never the data.
    """
    by.require("gdpr.manage")
    return _note(subjects.get(by, subject_id).pk, NAMES, by)


def record_samples_view(case: Case, *, by: Actor) -> GdprAction:
    """Record that somebody views the samples in a case's plan."""
    by.require("gdpr.manage", case.workspace_id)
    return _note(case.subject_ref, SAMPLES, by, case.id)


# ── Programs ─────────────────────────────────────────────────────────────────
def _note_once(subject_ref: str, view: str, by: Actor, case_ref: str = "") -> None:
    """Record a view, unless the same one was recorded within ``REPEAT_AFTER``."""
    rows = GdprAction.objects.filter(
        workspace_id=by.workspace_id,
        subject_ref=subject_ref,
        case_ref=case_ref,
        actor_id=by.id,
        action=ActionKind.VIEW,
        initiated_at__gt=timezone.now() - REPEAT_AFTER,
    )
    if view not in {row.scope.get("what") for row in rows}:
        _note(subject_ref, view, by, case_ref)


def record_names_read(subject: Subject, *, by: Actor) -> None:
    """Record that a program read a person's names and samples."""
    by.require("gdpr.read", subject.workspace_id)
    _note_once(subject.pk, NAMES, by)


def record_samples_read(case: Case, *, by: Actor) -> None:
    """Record that a program read the samples of a case's plan."""
    by.require("gdpr.read", case.workspace_id)
    _note_once(case.subject_ref, SAMPLES, by, case.id)
