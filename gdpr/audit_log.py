"""The ledger of acts on personal data: a row before the act, its end after it.

Nothing is destroyed before its row is committed; a row that ended is never opened
again. It names ids, never people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from gdpr.models import ActionKind, ActionStatus, GdprAction
from memory import pagination
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.permissions import Actor

REASON_CHARS: Final = 4_000
OPEN: Final = ActionStatus.IN_PROGRESS
# The number of the run that a row waits for. It is no run yet: a backup with this row
# in it is older than the run, whose erasure has to be replayed.
WAITS: Final = "waits_for_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuery:
    """Filters of the ledger; what is left out means any."""

    subject_id: str = ""
    case_id: str = ""
    action: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the ledger and where the next one begins."""

    items: list[GdprAction]
    next_cursor: str | None


def _of_run(
    case_ref: str, action: ActionKind, scope: dict[str, Any], by: Actor
) -> GdprAction | None:
    """Return the row that a run has, or takes over; locked, inside a transaction."""
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
    """Write the row of an act that is about to begin.

    For a run of a case (``scope["run"]``) the row is written once: a runner that
    follows a dead one finds it. A row with ``scope["waits_for_run"]`` stands for a run
    that may come; the run takes it over.
    """
    told = dict(scope or {})
    if len(reason) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(reason))
    if action is ActionKind.DELETE and not reason.strip():
        detail = "An erasure needs a reason."
        raise errors.Invalid(detail, code="reason_required")
    with transaction.atomic():
        if case_ref and "run" in told:
            row = _of_run(case_ref, action, told, by)
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
            scope=told,
        )


def finish(
    row: GdprAction,
    status: ActionStatus,
    *,
    scope: Mapping[str, Any] | None = None,
    error: str = "",
) -> GdprAction:
    """Tell how an act ended; what ended before keeps its end."""
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


def give_up(workspace_id: str, case_ref: str) -> None:
    """End the rows of a case that wait for a run: it will not come."""
    rows = GdprAction.objects.filter(workspace_id=workspace_id, case_ref=case_ref)
    for row in rows.filter(status=OPEN, scope__has_key=WAITS):
        finish(row, ActionStatus.FAILED, error="The case was refused; nothing was run.")


def action(actor: Actor, action_id: str) -> GdprAction:
    """Return a row of the actor's workspace."""
    actor.require("gdpr.read")
    rows = GdprAction.objects.filter(workspace_id=actor.workspace_id, pk=action_id)
    found = rows.first()
    if found is None:
        raise errors.NotFound
    return found


def listed(
    actor: Actor, query: LedgerQuery, *, limit: int = 50, cursor: str | None = None
) -> Page:
    """Return a page of the ledger, the newest first."""
    actor.require("gdpr.read")
    rows = GdprAction.objects.filter(workspace_id=actor.workspace_id)
    named = {
        "subject_ref": query.subject_id,
        "case_ref": query.case_id,
        "action": query.action,
        "status": query.status,
    }
    rows = rows.filter(**{name: value for name, value in named.items() if value})
    question = pagination.digest(["ledger", asdict(query)])
    if cursor:
        at, last = pagination.read(cursor, actor.workspace_id, question)
        moment = datetime.fromisoformat(str(at))
        rows = rows.filter(
            Q(initiated_at__lt=moment) | Q(initiated_at=moment, pk__lt=str(last))
        )
    items = list(rows.order_by("-initiated_at", "-id")[: limit + 1])
    more, items = len(items) > limit, items[:limit]
    if not more:
        return Page(items, None)
    edge: list[str | int] = [items[-1].initiated_at.isoformat(), items[-1].pk]
    return Page(items, pagination.make(actor.workspace_id, question, edge))


def stamped(row: GdprAction) -> dict[str, Any]:
    """Return a row as the API and exports tell it."""
    done = row.completed_at
    return {
        "id": row.id,
        "subject_id": row.subject_ref,
        "case_id": row.case_ref or None,
        "action": row.action,
        "status": row.status,
        "actor_id": row.actor_id,
        "actor": row.actor_label or None,
        "scope": row.scope,
        "reason": row.reason or None,
        "error": row.error or None,
        "initiated_at": journal.stamp(row.initiated_at),
        "completed_at": journal.stamp(done) if done else None,
    }
