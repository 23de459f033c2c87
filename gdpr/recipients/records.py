"""The journal entry and the row of the audit log of what happened to a recipient."""

from __future__ import annotations

from gdpr import audit_log
from gdpr.cases import transitions
from gdpr.models import ActionKind, Recipient
from memory.rules.entries import Severity
from memory.rules.permissions import Actor

_WARNINGS = ("notice_failed",)


def note(row: Recipient, event: str, *, by: Actor) -> None:
    """Record an event in the caller's transaction: ids and codes, no name."""
    details = {
        "recipient_id": row.pk,
        "recipient_kind": row.kind,
        "notice": row.state,
        "way": row.way,
        "answer": row.answer,
    }
    severity = Severity.WARN if event in _WARNINGS else Severity.NOTICE
    transitions.record(row.case, event, by=by, severity=severity, details=details)
    audit_log.note(
        row.case.subject_ref,
        ActionKind.NOTIFY,
        by=by,
        case_ref=row.case_id,
        scope={"event": event, **details},
    )
