"""Causes that people accept with a reason, for a time. They do not change the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from episodic.health import causes as health_causes
from episodic.health import snapshots as health
from episodic.health.causes import Cause
from episodic.models import AcceptedCause, HealthSnapshot
from memory.journal import append as journal
from memory.rules import entries, errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

DAYS: Final = 90
REASON_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class AcceptedLine:
    """An accepted cause with what it costs now; nothing when it is gone."""

    row: AcceptedCause
    cause: Cause | None


def current(workspace_id: str, crew_id: str) -> list[AcceptedCause]:
    """Return what is accepted now in a scope, the soonest to end first."""
    rows = AcceptedCause.objects.filter(
        workspace_id=workspace_id, crew_id=crew_id, until__gt=timezone.now()
    )
    return list(rows.order_by("until", "id"))


def marked(row: HealthSnapshot, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes of a snapshot, each with whether it is accepted."""
    accepted = {(a.metric, a.key) for a in current(row.workspace_id, row.crew_id)}
    return [replace(c, accepted=(c.metric, c.key) in accepted) for c in causes]


def lines(row: HealthSnapshot, causes: Sequence[Cause]) -> tuple[AcceptedLine, ...]:
    """Return what is accepted in a snapshot's scope beside the causes it has now."""
    by_key = {(cause.metric, cause.key): cause for cause in causes}
    return tuple(
        AcceptedLine(item, by_key.get((item.metric, item.key)))
        for item in current(row.workspace_id, row.crew_id)
    )


def accept(
    actor: Actor, crew_id: str | None, metric: str, key: str, reason: str
) -> AcceptedCause:
    """Accept a cause of the newest snapshot for 90 days.

    Raises NotFound for what is no cause there, and Invalid without a reason.
    """
    actor.require("health.recompute")
    row = health.latest(actor, crew_id)
    cause = next(
        (c for c in health_causes.of(row) if (c.metric, c.key) == (metric, key)), None
    )
    if cause is None:
        raise errors.NotFound
    if not cause.can_be_accepted:
        detail = gettext("A repair cures this cause, so it cannot be accepted.")
        raise errors.Conflict(detail, code="curable")
    text = _reason(reason)
    until = timezone.now() + timedelta(days=DAYS)
    with transaction.atomic():
        item, _ = AcceptedCause.objects.update_or_create(
            workspace_id=actor.workspace_id,
            crew_id=row.crew_id,
            metric=metric,
            key=key,
            defaults={
                "reason": text,
                "accepted_by": actor.label,
                "accepted_at": timezone.now(),
                "until": until,
            },
        )
        _record(item, "memory.health_cause_accepted", "accepted", actor, until)
    return item


def _reason(text: str) -> str:
    """Return a reason without its outer spacing; raise Invalid without one."""
    text = text.strip()
    if not text or not entries.is_storable(text):
        detail = gettext("Accepting a cause needs a reason.")
        raise errors.Invalid(detail, code="reason_required")
    if len(text) > REASON_CHARS:
        raise errors.TooLarge(
            what=pgettext("too large", "reason"), limit=REASON_CHARS, size=len(text)
        )
    return text


def revoke(actor: Actor, item_id: str) -> AcceptedCause:
    """Take an acceptance back, so that the cause is listed as before."""
    actor.require("health.recompute")
    with transaction.atomic():
        rows = AcceptedCause.objects.select_for_update()
        item = rows.filter(pk=item_id, workspace_id=actor.workspace_id).first()
        if item is None:
            raise errors.NotFound
        AcceptedCause.objects.filter(pk=item.pk).delete()
        _record(item, "memory.health_cause_reopened", "reopened", actor, None)
    return item


def _record(
    item: AcceptedCause, kind: str, verb: str, actor: Actor, until: datetime | None
) -> None:
    payload = {"metric": item.metric, "cause": item.key, "reason": item.reason}
    if until:
        payload["until"] = journal.stamp(until)
    new = NewEntry(
        entry_type=kind,
        summary=f"A cause of low {item.metric} was {verb}",
        payload=payload,
        crew_id=item.crew_id or None,
    )
    journal.write([new], by=actor)
