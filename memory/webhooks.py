"""Signed webhooks: their receivers, their deliveries, and sending them.

A delivery is written in the transaction of its journal entry and sent later by a
scheduled job. A worker claims it with a conditional UPDATE that counts the attempt and
moves the next one past the ``LEASE``, so that two workers never send it at the same
time, and a delivery whose worker died becomes due again. Only events whose entries hold
no text of people are offered: a body outlives an erasure for ``RETENTION``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import httpx
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Case, Prefetch, When
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_noop

from memory import http_out, lookup
from memory.jobs import time_box
from memory.journal import append as journal
from memory.measurements import recorded
from memory.models import (
    DeliveryStatus,
    JournalEntry,
    Webhook,
    WebhookDelivery,
    Workspace,
)
from memory.models.webhooks import HEALTH_BAND_CHANGED, delivery_id
from memory.ports import serving, subject_linker
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.stored_sentences import translated

EVENTS: Final = (HEALTH_BAND_CHANGED,)
TEST: Final = "webhook.test"
PERMISSION: Final = "workspace.manage"
MAX_WEBHOOKS: Final = 20
DELIVERIES_SHOWN: Final = 5
BATCH_LIMIT: Final = 50
MAX_ATTEMPTS: Final = 6
BACK_OFF: Final = timedelta(seconds=30)
# How long a claim holds when its worker does not report a result.
LEASE: Final = timedelta(minutes=5)
# One run does not wait longer than this for slow receivers; the rest stays due.
BUDGET_SECONDS: Final = 30.0
RETENTION: Final = timedelta(days=30)
PENDING, DELIVERED = DeliveryStatus.PENDING, DeliveryStatus.SENT
FAILED: Final = DeliveryStatus.FAILED
# Counting of what was given up ends here.
FAILED_COUNTED: Final = 100
# Why a message did not arrive; stored in English.
FAULTS: Final = (
    *http_out.FAULTS,
    gettext_noop("The sender stopped while sending."),
)
# What receivers may use to check a message.
verify = http_out.verify
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The results of the deliveries that were due."""

    sent_count: int = 0
    retried: int = 0
    failed: int = 0


# ── Webhooks ─────────────────────────────────────────────────────────────────
def all_webhooks(actor: Actor) -> list[Webhook]:
    """Return the workspace's webhooks, each with its last deliveries in ``last``."""
    actor.require(PERMISSION)
    # One that was given up waits for a person, however many came after it.
    given_up_first = Case(When(status=FAILED, then=0), default=1)
    rows = WebhookDelivery.objects.order_by(given_up_first, "-created_at", "-id")
    rows = rows.defer("body")
    last = Prefetch("deliveries", queryset=rows[:DELIVERIES_SHOWN], to_attr="last")
    hooks = Webhook.objects.filter(workspace_id=actor.workspace_id)
    return list(hooks.prefetch_related(last))


def webhook(actor: Actor, webhook_id: str) -> Webhook:
    """Return a webhook of the actor's workspace."""
    actor.require(PERMISSION)
    rows = Webhook.objects.filter(workspace_id=actor.workspace_id)
    return lookup.required(rows, pk=webhook_id)


def delivery(actor: Actor, delivery_id: str) -> WebhookDelivery:
    """Return a delivery of the actor's workspace."""
    actor.require(PERMISSION)
    rows = WebhookDelivery.objects.select_related("webhook")
    return lookup.required(rows, workspace_id=actor.workspace_id, pk=delivery_id)


def failed_count(actor: Actor, limit: int = FAILED_COUNTED) -> int:
    """Return how many deliveries were given up, counted up to ``limit``."""
    if not actor.can("workspace.manage"):
        return 0
    rows = WebhookDelivery.objects.filter(
        workspace_id=actor.workspace_id,
        status=FAILED,
        webhook__active=True,
    )
    return rows.order_by()[:limit].count()


def fault_words(stored: str) -> str:
    """Return why a message did not arrive, in the reader's language."""
    return translated(stored, FAULTS)


def _record(action: str, hook: Webhook, by: Actor) -> None:
    """Record a change with the host alone: the path may contain a secret."""
    new = NewEntry(
        entry_type=f"webhook.{action}",
        severity=Severity.NOTICE,
        summary=f"Webhook {hook.id} {action}",
        payload={"webhook_id": hook.id, "host": hook.host, "events": hook.events},
    )
    journal.write([new], by=by)


def create(url: str, events: Iterable[str] = EVENTS, *, by: Actor) -> Webhook:
    """Add a webhook; the caller shows its secret once."""
    by.require(PERMISSION)
    target, event_types = http_out.check_url(url), sorted(set(events))
    if not event_types or not set(event_types) <= set(EVENTS):
        raise errors.Invalid(gettext("Choose events from the list."), code="bad_events")
    subject_linker.refuse(by.workspace_id, (target,))
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        existing = Webhook.objects.filter(workspace_id=by.workspace_id)
        if existing.count() >= MAX_WEBHOOKS:
            detail = gettext("A workspace has at most {limit} webhooks.")
            detail = detail.format(limit=MAX_WEBHOOKS)
            raise errors.Conflict(detail, code="too_many_webhooks")
        if existing.filter(url=target).exists():
            detail = gettext("There is a webhook with this address.")
            raise errors.Conflict(detail, code="webhook_exists")
        hook = Webhook.objects.create(
            workspace_id=by.workspace_id,
            url=target,
            events=event_types,
            created_by=by.label,
        )
        _record("added", hook, by)
    return hook


def switch(hook: Webhook, *, active: bool, by: Actor) -> None:
    """Pause or resume a webhook; deliveries that are due wait meanwhile."""
    by.require(PERMISSION, hook.workspace_id)
    with transaction.atomic():
        rows = Webhook.objects.filter(pk=hook.pk, active=not active)
        if rows.update(active=active):
            hook.active = active
            _record("resumed" if active else "paused", hook, by)


def remove(hook: Webhook, *, by: Actor) -> None:
    """Delete a webhook with its secret and its deliveries."""
    by.require(PERMISSION, hook.workspace_id)
    with transaction.atomic():
        deleted, _ = Webhook.objects.filter(pk=hook.pk).delete()
        if deleted:
            _record("removed", hook, by)


# ── Queueing ─────────────────────────────────────────────────────────────────
def _pending(hook: Webhook, fields: dict[str, Any]) -> WebhookDelivery:
    new_id = delivery_id()
    body = {"id": new_id, "workspace_id": hook.workspace_id, **fields}
    return WebhookDelivery(
        id=new_id,
        workspace_id=hook.workspace_id,
        webhook=hook,
        event=fields["event"],
        entry_id=fields["entry_id"] or "",
        body=json.dumps(body, ensure_ascii=False, sort_keys=True),
    )


def queue(entry: JournalEntry) -> int:
    """Write an entry's deliveries in the caller's transaction; return how many."""
    fields = {
        "event": entry.entry_type,
        "entry_id": entry.id,
        "ts": journal.stamp(entry.ts),
        "summary": entry.summary,
        "payload": entry.payload,
    }
    hooks = Webhook.objects.filter(workspace_id=entry.workspace_id, active=True)
    rows = [_pending(hook, fields) for hook in hooks if entry.entry_type in hook.events]
    WebhookDelivery.objects.bulk_create(rows)
    return len(rows)


def queue_test(hook: Webhook, *, by: Actor) -> WebhookDelivery:
    """Queue a test message."""
    by.require(PERMISSION, hook.workspace_id)
    _require_active(hook)
    return queue_message(hook, TEST, "A test of this webhook", {})


def queue_message(
    hook: Webhook, event: str, summary: str, payload: dict[str, Any]
) -> WebhookDelivery:
    """Queue a message that is no journal entry, in the caller's transaction.

    It goes to a webhook whatever events it chose; a paused one keeps it waiting.
    """
    fields: dict[str, Any] = {
        "event": event,
        "entry_id": None,
        "ts": journal.stamp(timezone.now()),
        "summary": summary,
        "payload": payload,
    }
    row = _pending(hook, fields)
    row.save(force_insert=True)
    return row


def replay(row: WebhookDelivery, *, by: Actor) -> None:
    """Make a delivery due again, with the same id and body and no attempts counted."""
    by.require(PERMISSION, row.workspace_id)
    _require_active(row.webhook)
    finished = WebhookDelivery.objects.filter(pk=row.pk, status__in=(DELIVERED, FAILED))
    updated = finished.update(
        status=PENDING,
        attempts=0,
        next_attempt_at=timezone.now(),
        sent_at=None,
        last_status=None,
        last_error="",
    )
    if not updated:
        detail = gettext("This delivery is on its way; it is tried again by itself.")
        raise errors.Conflict(detail, code="delivery_pending")


def _require_active(hook: Webhook) -> None:
    if not hook.active:
        raise errors.Conflict(gettext("This webhook is paused."), code="webhook_paused")


# ── Sending ──────────────────────────────────────────────────────────────────
def _claim(row: WebhookDelivery, now: datetime) -> bool:
    """Claim a due delivery; of two workers only one succeeds."""
    unclaimed = WebhookDelivery.objects.filter(
        pk=row.pk, status=PENDING, attempts=row.attempts, next_attempt_at__lte=now
    )
    if not unclaimed.update(attempts=row.attempts + 1, next_attempt_at=now + LEASE):
        return False
    row.attempts += 1
    return True


def send(
    row: WebhookDelivery, *, transport: httpx.BaseTransport | None = None
) -> DeliveryStatus | None:
    """Claim and send a delivery; None when it is claimed elsewhere or not due."""
    if not _claim(row, timezone.now()):
        return None
    headers = {"X-Crewship-Event": row.event, "X-Crewship-Delivery": row.id}
    hook = row.webhook
    message = http_out.Message(hook.url, hook.secret, row.body, headers)
    # What is stored of the answer is in English.
    with translation.override(settings.LANGUAGE_CODE):
        answer, now = http_out.post(message, transport), timezone.now()
    status = FAILED if row.attempts >= MAX_ATTEMPTS else PENDING
    if not answer.error:
        status = DELIVERED
    sent_fields = {"sent_at": now} if status == DELIVERED else {}
    claimed = WebhookDelivery.objects.filter(
        pk=row.pk, status=PENDING, attempts=row.attempts
    )
    claimed.update(
        status=status,
        last_status=answer.status,
        last_error=answer.error[:200],
        next_attempt_at=now + BACK_OFF * 2 ** (row.attempts - 1),
        **sent_fields,
    )
    result = "retried" if status == PENDING else status.value
    recorded.webhook_sent(result)
    if status == FAILED:
        log.warning("webhook_given_up", webhook=row.webhook_id, delivery=row.pk)
    return status


def _clean_up(now: datetime) -> int:
    """Fail deliveries whose last attempt died, and delete old finished ones."""
    rows = WebhookDelivery.objects.order_by()
    rows.filter(created_at__lt=now - RETENTION).exclude(status=PENDING).delete()
    dead = rows.filter(
        status=PENDING, attempts__gte=MAX_ATTEMPTS, next_attempt_at__lte=now
    )
    return dead.update(status=FAILED, last_error="The sender stopped while sending.")


def deliver_due(
    limit: int = BATCH_LIMIT, transport: httpx.BaseTransport | None = None
) -> Sweep:
    """Send due deliveries, oldest first, until the limit or the time is reached."""
    now, end = timezone.now(), time.monotonic() + BUDGET_SECONDS
    given_up = _clean_up(now)
    due = WebhookDelivery.objects.select_related("webhook").filter(
        status=PENDING, next_attempt_at__lte=now, webhook__active=True
    )
    statuses: list[DeliveryStatus | None] = []
    for row in list(due.order_by("next_attempt_at", "id")[:limit]):
        if time.monotonic() > end or time_box.is_over():
            break
        # The text may be of somebody who has to be erased again first.
        if serving.refusal(row.webhook.workspace_id) is None:
            statuses.append(send(row, transport=transport))
    return Sweep(
        sent_count=statuses.count(DELIVERED),
        retried=statuses.count(PENDING),
        failed=statuses.count(FAILED) + given_up,
    )
