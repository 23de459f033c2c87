"""Actions on a case beside its workflow: refuse, extend, assign, comment, attach."""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import audit_log
from gdpr.cases import deadlines, privacy_settings, sealed_names, transitions
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import Kind, clean_text, locked, move
from gdpr.cases.workflow import MAY
from gdpr.models import Case, CaseEvent
from memory.rules import errors
from memory.rules.permissions import Actor

SHA256_CHARS: Final = 64


def refuse(case: Case, reason: str, *, by: Actor) -> Case:
    """Refuse a request; the reason may be shown to the data subject."""
    by.require(MAY, case.workspace_id)
    reason_text = clean_text(reason, "reason")
    with transaction.atomic():
        live = locked(case)
        live.refusal_reason = reason_text
        live.closed_at, live.closed_by = timezone.now(), by.label
        audit_log.fail_waiting(live.workspace_id, live.id)
        # An earlier run kept sealed names for the next run's search: there is none.
        transaction.on_commit(lambda: sealed_names.drop(live))
        return move(live, Verb.REFUSE, "Refused", by=by)


def extend(case: Case, months: int, reason: str, *, by: Actor) -> Case:
    """Extend the deadline once, by one or two months, before it runs out."""
    by.require(MAY, case.workspace_id)
    reason_text = clean_text(reason, "reason")
    if not 1 <= months <= deadlines.MAX_EXTRA_MONTHS:
        detail = gettext("A deadline is extended by 1 to {months} months.").format(
            months=deadlines.MAX_EXTRA_MONTHS
        )
        raise errors.Invalid(detail, code="bad_months")
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.EXTEND)
        if live.extended_until is not None:
            detail = gettext(
                "The deadline was extended already; it can be extended once."
            )
            raise errors.Conflict(detail, code="already_extended")
        if timezone.now() > live.due_at:
            detail = gettext(
                "The deadline has run out; it can only be extended before that."
            )
            raise errors.Conflict(detail, code="deadline_passed")
        zone = privacy_settings.zone(privacy_settings.of(live.workspace_id))
        live.extended_until = deadlines.due(live.received_at, zone, months)
        live.extension_reason = reason_text
        return move(live, Verb.EXTEND, f"Extended by {months}", by=by, months=months)


def assign(case: Case, assignee: str, *, by: Actor) -> Case:
    """Set the assignee of a case; an empty one unassigns it."""
    by.require(MAY, case.workspace_id)
    assignee_text = clean_text(assignee, "assignee", 254, need=False)
    with transaction.atomic():
        live = locked(case)
        live.assignee = assignee_text
        return move(
            live, Verb.ASSIGN, "Assigned" if assignee_text else "Unassigned", by=by
        )


def comment(case: Case, text: str, *, by: Actor) -> CaseEvent:
    """Add a comment. A closed case takes none: its texts are erased."""
    by.require(MAY, case.workspace_id)
    comment_text = clean_text(text, "text")
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.NOTE)
        transitions.record(live, "case_noted", by=by)
        return transitions.event(live, Kind.NOTE, comment_text, by=by)


def attach(case: Case, name: str, sha256: str, size: int, *, by: Actor) -> CaseEvent:
    """Record a document by its hash and size; its bytes are not stored."""
    by.require(MAY, case.workspace_id)
    file_name = clean_text(name, "name", 200)
    if len(sha256) != SHA256_CHARS or set(sha256) - set("0123456789abcdef"):
        detail = "sha256 is 64 lower-case hex digits."
        raise errors.Invalid(detail, code="bad_sha256")
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.NOTE)
        transitions.record(live, "case_attached", by=by, details={"sha256": sha256})
        data = {"sha256": sha256, "bytes": size}
        return transitions.event(live, Kind.ATTACHMENT, file_name, by=by, data=data)
