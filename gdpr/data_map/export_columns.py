"""What an export has of a row beside its texts: when, of what kind, by which agent.

Dates, numbers, ids of agents and crews and words of the program, by table. A reader
needs them to know what a text is; a matcher has nothing to find in them.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final

from memory.journal import append as journal

_CASE: Final = ("case_id",)
_OWNER: Final = ("crew_id", "agent_id")
_KEY: Final = ("scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    # What agents remember
    "memory.Record": (
        "kind", "provenance", "status", "version", "confidence", "created_at",
        "updated_at", "expires_at", *_OWNER,
    ),
    "memory.HeldFile": ("tier", "mode", "source", "state", "received_at", *_OWNER),
    "memory.Clearance": ("cleared_at", "held_id"),
    "memory.BlockedSource": ("blocked_at", "source", "held_id"),
    "memory.KnownAttack": ("confirmed_at", "held_id"),
    "memory.ReviewLabel": ("label", "decided_at", "held_id"),
    "memory.ScannerProposal": ("kind", "state", "decided_at"),
    "memory.PriorityChange": ("entry_id", "previous", "priority", "set_at"),
    "memory.ImportLine": ("import_id", "number", "created_at"),
    "memory.IdempotencyRecord": ("created_at",),
    "memory.WebhookDelivery": ("event", "status", "created_at", "sent_at"),
    # What was drawn from it and asked of it
    "episodic.ConsolidationProposal": (
        "state", "confidence", "crew_id", "created_at", "decided_at",
    ),
    "episodic.RecallCheck": ("result", "created_at", "last_run_at"),
    "episodic.RecallCheckRun": ("ran_at",),
    "episodic.LoggedQuestion": ("asked_at", "unanswered", *_OWNER),
    "episodic.HealthSnapshot": ("date", "computed_at", "crew_id"),
    "episodic.AcceptedCause": ("metric", "accepted_at", "until", "crew_id"),
    # Who signs in, and what they set up
    "memory.User": ("language", "date_joined", "last_login", "is_active"),
    "memory.Membership": ("role", "created_at"),
    "memory.Invitation": ("role", "created_at", "mailed"),
    "account.EmailAddress": ("verified", "primary"),
    "memory.AgentKey": ("agent_id", *_KEY),
    "memory.OperatorKey": ("role", *_KEY),
    "memory.GatewayKey": ("agent_id", *_KEY),
    "memory.GatewaySetup": ("agent_id", "mode", "updated_at"),
    "memory.Webhook": ("events", "active", "created_at"),
    "memory.SavedView": ("page", "made_at"),
    "memory.Workspace": ("created_at",),
    "memory.WorkspaceSetting": ("changed_at",),
    "memory.Crew": ("created_at",),
    "memory.Agent": ("role", "crew_id", "created_at"),
    "memory.JobRun": ("name", "state", "started_at", "ended_at"),
    "memory.ProviderRun": ("provider", "started_at"),
    "memory.ProviderPulse": ("provider", "ok", "checked_at"),
    "admin.LogEntry": ("action_time",),
    # Requests
    "gdpr.Case": (
        "kind", "state", "received_at", "due_at", "extended_until", "opened_at",
        "identity_at", "approved_at", "closed_at",
    ),
    "gdpr.CasePlan": (*_CASE, "number", "made_at"),
    "gdpr.CaseEvent": (*_CASE, "kind", "at"),
    "gdpr.RowVerdict": (*_CASE, "verdict", "ground", "decided_at"),
    "gdpr.CaseStep": (*_CASE, "name", "state", "started_at", "finished_at"),
    "gdpr.Hold": ("scope", "placed_at", "review_at", "released_at"),
    "gdpr.GdprAction": (
        "action", "status", "case_ref", "initiated_at", "completed_at",
    ),
    "gdpr.Suppression": ("kind", "since", "lifted_at"),
    "gdpr.Certificate": (*_CASE, "result", "issued_at"),
    "gdpr.ProcessingPurpose": ("confirmed_at",),
    "gdpr.Dismissal": ("decided_at",),
    "gdpr.Lifting": ("restricted_at", "lifted_at"),
    "gdpr.RememberedWord": ("verdict", "decided_at"),
    "gdpr.Letter": (*_CASE, "occasion", "language", "way", "kept_at", "sent_at"),
    "gdpr.Correspondence": ("language", "source", "changed_at"),
    "gdpr.LetterTemplate": ("occasion", "kind", "language", "changed_at"),
    "gdpr.Recipient": (
        *_CASE, "kind", "state", "way", "count", "answer", "added_at", "first_at",
        "last_at", "notified_at",
    ),
    "gdpr.RecipientContact": ("changed_at",),
    "gdpr.IntakeRequest": ("kind", "asked_at"),
    "gdpr.RetentionRule": ("kind", "days", "active", "changed_at"),
}  # fmt: skip


def of(label: str) -> tuple[str, ...]:
    """Return the columns of a table, ``app.Model``; none for an unknown one."""
    return COLUMNS.get(label, ())


def as_json(value: Any) -> Any:
    """Return a moment as the journal writes it and a day as ISO; all else as it is."""
    if isinstance(value, datetime):
        return journal.stamp(value)
    return value.isoformat() if isinstance(value, date) else value
