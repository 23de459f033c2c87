"""The audit log of actions on personal data: a row before the action, its end after it.

Nothing is erased before its row is committed, and a finished row never changes. Rows
hold ids, never names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr import pagination
from gdpr.models import ActionKind, ActionStatus, GdprAction
from gdpr.pagination import Page, PageQuery
from memory.rules import errors
from memory.rules.permissions import Actor

REASON_CHARS: Final = 4_000
# The stored error of an action that a refusal ended.
REFUSED: Final = gettext_noop("The case was refused; nothing was run.")
OPEN: Final = ActionStatus.IN_PROGRESS
# Key of the scope: the number of the run that a row waits for. The run has not begun: a
# backup that contains the row is older than the run, whose erasure must be replayed.
WAITS: Final = "waits_for_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogQuery:
    """Filters of the audit log; an empty one matches all."""

    subject_id: str = ""
    case_id: str = ""
    action: str = ""
    status: str = ""


def _of_run(
    case_ref: str, action: ActionKind, scope: dict[str, Any], by: Actor
) -> GdprAction | None:
    """Return the locked row of a run, or the waiting row that it takes over."""
    rows = GdprAction.objects.select_for_update().filter(
        workspace_id=by.workspace_id, case_ref=case_ref, action=action
    )
    for row in rows:
        if row.scope.get("run") == scope["run"]:
            return row
        if row.scope.get(WAITS) == scope["run"] and row.status == OPEN:
            row.scope = scope
            row.save(update_fields=["scope"])
            return row
    return None


def begin(
    subject_ref: str,
    action: ActionKind,
    *,
    by: Actor,
    case_ref: str = "",
    reason: str = "",
    scope: Mapping[str, Any] | None = None,
) -> GdprAction:
    """Write the row of an action that is about to begin.

    For a run of a case (``scope["run"]``) the row is written once: a runner that
    replaces a crashed one reuses it. A row with ``scope["waits_for_run"]`` stands for a
    run that may come; the run takes it over.
    """
    details = dict(scope or {})
    if len(reason) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(reason))
    if action is ActionKind.DELETE and not reason.strip():
        detail = gettext("An erasure needs a reason.")
        raise errors.Invalid(detail, code="reason_required")
    with transaction.atomic():
        if case_ref and "run" in details:
            row = _of_run(case_ref, action, details, by)
            if row is not None:
                return row
        return GdprAction.objects.create(
            workspace_id=by.workspace_id,
            subject_ref=subject_ref,
            case_ref=case_ref,
            actor_id=by.id,
            actor_label=by.label,
            action=action,
            reason=reason.strip(),
            scope=details,
        )


def finish(
    row: GdprAction,
    status: ActionStatus,
    *,
    scope: Mapping[str, Any] | None = None,
    error: str = "",
) -> GdprAction:
    """Record how an action ended; a finished row stays as it is."""
    with transaction.atomic():
        live = GdprAction.objects.select_for_update().get(
            workspace_id=row.workspace_id, pk=row.pk
        )
        if live.status != OPEN:
            return live
        live.status, live.error = status, error[:400]
        live.scope = {**live.scope, **(scope or {})}
        live.completed_at = timezone.now()
        live.save()
    return live


def note(
    subject_ref: str,
    action: ActionKind,
    *,
    by: Actor,
    case_ref: str = "",
    reason: str = "",
    scope: Mapping[str, Any],
) -> GdprAction:
    """Write the row of an action that is over as soon as it begins."""
    row = begin(
        subject_ref, action, by=by, case_ref=case_ref, reason=reason, scope=scope
    )
    return finish(row, ActionStatus.COMPLETED)


def of_next_run(workspace_id: str, case_ref: str) -> GdprAction | None:
    """Return the row of a case that waits for a run, None where there is none."""
    rows = GdprAction.objects.filter(workspace_id=workspace_id, case_ref=case_ref)
    return rows.filter(status=OPEN, scope__has_key=WAITS).first()


def fail_waiting(workspace_id: str, case_ref: str) -> None:
    """Mark the rows of a refused case that wait for a run as failed."""
    rows = GdprAction.objects.filter(workspace_id=workspace_id, case_ref=case_ref)
    for row in rows.filter(status=OPEN, scope__has_key=WAITS):
        finish(row, ActionStatus.FAILED, error=REFUSED)


def action(actor: Actor, action_id: str) -> GdprAction:
    """Return a row of the actor's workspace, or raise NotFound."""
    actor.require("gdpr.read")
    rows = GdprAction.objects.filter(workspace_id=actor.workspace_id, pk=action_id)
    row = rows.first()
    if row is None:
        raise errors.NotFound
    return row


def list_actions(
    actor: Actor, query: AuditLogQuery, *, limit: int = 50, cursor: str | None = None
) -> Page[GdprAction]:
    """Return a page of the audit log, the newest first."""
    actor.require("gdpr.read")
    rows = GdprAction.objects.filter(workspace_id=actor.workspace_id)
    filters = {
        "subject_ref": query.subject_id,
        "case_ref": query.case_id,
        "action": query.action,
        "status": query.status,
    }
    rows = rows.filter(**{name: value for name, value in filters.items() if value})
    page_query = PageQuery(limit=limit, cursor=cursor)
    question = ["ledger", asdict(query)]
    return pagination.newest(
        rows, "initiated_at", page_query, question, actor.workspace_id
    )
