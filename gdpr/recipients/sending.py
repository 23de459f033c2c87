"""Sending notices: by a job, after the run is complete, at least once.

A worker claims a notice with a conditional UPDATE that counts the attempt and moves the
next one past the ``LEASE``: two workers never send it at the same time, and one whose
worker died is due again. A webhook's notice becomes a message of its own queue in the
transaction of the claim, and is followed there. The id of the recipient is in every
notice, so that a second arrival shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone, translation
from django.utils.translation import gettext_noop

from gdpr.models import CaseState, NoticeState, NoticeWay, Recipient
from gdpr.processing.safeguards import host_of
from gdpr.recipients import listing, notices, records, ways
from memory import webhooks, workspace_settings
from memory.accounts import mail
from memory.installation import encryption
from memory.jobs import time_box
from memory.models import DeliveryStatus, WebhookDelivery
from memory.ports import serving
from memory.providers import base, remote
from memory.providers.base import Binding
from memory.rules import errors, permissions
from memory.workspace_settings import declarations

BATCH_LIMIT: Final = 50
RELEASED_AT_ONCE: Final = 500
MAX_ATTEMPTS: Final = 8
BACK_OFF: Final = timedelta(minutes=1)
# How long a claim holds when its worker does not report a result.
LEASE: Final = timedelta(minutes=15)
# One run does not wait longer than this for slow receivers; the rest stays due.
BUDGET_SECONDS: Final = 30.0
# How long identifiers for a remote provider are kept when it does not answer.
SEALED_DAYS: Final = 14
# Why a notice did not arrive; stored in English.
NO_WEBHOOK: Final = gettext_noop("The webhook is not here any more.")
NO_WAY: Final = gettext_noop(
    "No address is noted, no mail server is set, or the webhook is paused or removed."
)
OTHER_PROVIDER: Final = gettext_noop("Another remote provider is set now.")
EXPIRED: Final = gettext_noop(
    "The identifiers to forget were kept for as long as they may be."
)
KEY_LOST: Final = gettext_noop("The identifiers to forget cannot be opened any more.")
DIED: Final = gettext_noop("The sender stopped while sending.")
NOT_MAILED: Final = gettext_noop("The mail did not go out: {error}")
FAULTS: Final = (
    NO_WEBHOOK,
    NO_WAY,
    OTHER_PROVIDER,
    EXPIRED,
    KEY_LOST,
    DIED,
    NOT_MAILED,
)
log = structlog.get_logger(__name__)


class NotSent(Exception):
    """Why a notice did not go out; ``is_final`` when trying again is of no use."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


def sweep(limit: int = BATCH_LIMIT) -> dict[str, int]:
    """Release, send and follow the notices that are due; return what was counted."""
    counts = {"released": _release(), "sent": 0, "retried": 0, "failed": 0}
    _follow(counts)
    end = time.monotonic() + BUDGET_SECONDS
    due = Recipient.objects.filter(
        state=NoticeState.QUEUED, delivery_id="", next_attempt_at__lte=timezone.now()
    )
    rows = due.select_related("case").order_by("next_attempt_at", "pk")
    for row in list(rows[:limit]):
        if time.monotonic() > end or time_box.is_over():
            break
        # A restored database may have to erase the person again first.
        if serving.refusal(row.workspace_id) is None:
            outcome = send(row)
            if outcome:
                counts[outcome] += 1
    _drop_sealed()
    return counts


# ── After the run ────────────────────────────────────────────────────────────
def _release() -> int:
    """Queue what waited for a run that is complete; without a way it is for people."""
    rows = Recipient.objects.filter(
        state=NoticeState.WAITING, case__state=CaseState.COMPLETE
    )
    count = 0
    for row in rows.select_related("case").order_by("pk")[:RELEASED_AT_ONCE]:
        count += release(row)
    return count


def release(row: Recipient) -> bool:
    """Queue a notice that waited, or hand it to people; False when it is done."""
    open_ways, now = ways.open_ways(row), timezone.now()
    fields = {
        "state": NoticeState.QUEUED if open_ways else NoticeState.TO_NOTIFY,
        "way": open_ways[0] if open_ways else "",
        "last_error": "" if open_ways else NO_WAY,
        "next_attempt_at": now if open_ways else None,
        "released_at": now,
    }
    unreleased = Recipient.objects.filter(pk=row.pk, state=NoticeState.WAITING)
    return bool(unreleased.update(**fields))


def _drop_sealed() -> int:
    """Delete identifiers that nobody needs any more, or that were kept long enough."""
    oldest = timezone.now() - timedelta(days=SEALED_DAYS)
    rows = Recipient.objects.exclude(sealed="")
    ended_rows = rows.filter(
        state__in=(
            NoticeState.NOTIFIED,
            NoticeState.DELIVERED,
            NoticeState.ANSWERED,
            NoticeState.NOT_POSSIBLE,
        )
    )
    # A case that never ends releases nothing.
    is_old = Q(released_at__lt=oldest) | Q(released_at=None, added_at__lt=oldest)
    return ended_rows.update(sealed="") + rows.filter(is_old).update(sealed="")


# ── Sending ──────────────────────────────────────────────────────────────────
def _claim(row: Recipient, now: datetime) -> bool:
    """Claim a due notice; of two workers only one succeeds."""
    unclaimed = Recipient.objects.filter(
        pk=row.pk,
        state=NoticeState.QUEUED,
        attempts=row.attempts,
        delivery_id="",
        next_attempt_at__lte=now,
    )
    if not unclaimed.update(attempts=F("attempts") + 1, next_attempt_at=now + LEASE):
        return False
    row.attempts += 1
    return True


def send(row: Recipient) -> str:
    """Claim and send a notice; return sent, retried, failed, or "" when not claimed."""
    if row.way == NoticeWay.WEBHOOK:
        return _queue_event(row)
    if not _claim(row, timezone.now()):
        return ""
    if row.attempts > MAX_ATTEMPTS:
        return _report(row, NotSent(DIED, is_final=True))
    act = _BY_WAY.get(row.way, _by_nothing)
    try:
        # What is stored of a fault is in English.
        with translation.override(settings.LANGUAGE_CODE):
            act(row)
    except NotSent as fault:
        return _report(row, fault)
    delivered = row.way == NoticeWay.FORGET
    state = NoticeState.DELIVERED if delivered else NoticeState.NOTIFIED
    return "sent" if _finish(row, state) else ""


def _finish(
    row: Recipient, state: NoticeState, *, at: datetime | None = None, error: str = ""
) -> bool:
    """Store how a notice ended, with its journal entry; False when it is done."""
    fields: dict[str, Any] = {"state": state, "last_error": error[:200]}
    if not error:
        fields |= {"notified_at": at or timezone.now(), "notified_by": "gdpr"}
        fields |= {"sealed": ""}
    claimed = Recipient.objects.filter(
        pk=row.pk, state=NoticeState.QUEUED, attempts=row.attempts
    )
    with transaction.atomic():
        if not claimed.update(**fields):
            return False
        row.state = state
        by = permissions.system(row.workspace_id, "gdpr")
        records.note(row, "notice_failed" if error else "recipient_notified", by=by)
    return True


def _report(row: Recipient, fault: NotSent) -> str:
    """Store a fault, for the next attempt or for people."""
    if fault.is_final or row.attempts >= MAX_ATTEMPTS:
        log.warning("notice_given_up", recipient=row.pk)
        failed = _finish(row, NoticeState.FAILED, error=str(fault))
        return "failed" if failed else ""
    claimed = Recipient.objects.filter(
        pk=row.pk, state=NoticeState.QUEUED, attempts=row.attempts
    )
    pause = BACK_OFF * 2 ** (row.attempts - 1)
    claimed.update(last_error=str(fault)[:200], next_attempt_at=timezone.now() + pause)
    return "retried"


def _by_nothing(_: Recipient) -> None:
    raise NotSent(NO_WAY, is_final=True)


# ── Webhooks ─────────────────────────────────────────────────────────────────
def _queue_event(row: Recipient) -> str:
    """Claim a notice and write its message to the webhook's queue, together."""
    with transaction.atomic():
        if not _claim(row, timezone.now()):
            return ""
        hook = ways.hook_of(row)
        if hook is not None:
            event, text = notices.event_of(row.case), f"Notice {row.pk}"
            message = webhooks.queue_message(hook, event, text, notices.payload(row))
            rows = Recipient.objects.filter(pk=row.pk)
            rows.update(delivery_id=message.pk, last_error="")
            return ""
    return _report(row, NotSent(NO_WEBHOOK, is_final=True))


def _follow(counts: dict[str, int]) -> None:
    """Take over what became of the messages in the queues of webhooks."""
    rows = Recipient.objects.filter(state=NoticeState.QUEUED).exclude(delivery_id="")
    for row in rows.select_related("case").iterator():
        message = (
            WebhookDelivery.objects.filter(pk=row.delivery_id).defer("body").first()
        )
        if message is None:
            counts["failed"] += _finish(row, NoticeState.FAILED, error=NO_WEBHOOK)
        elif message.status == DeliveryStatus.SENT:
            delivered = _finish(row, NoticeState.DELIVERED, at=message.sent_at)
            counts["sent"] += delivered
        elif message.status == DeliveryStatus.FAILED:
            error = message.last_error or DIED
            counts["failed"] += _finish(row, NoticeState.FAILED, error=error)
        elif message.last_error != row.last_error:
            Recipient.objects.filter(pk=row.pk).update(last_error=message.last_error)


# ── The remote provider, and mail ────────────────────────────────────────────
def _by_forget(row: Recipient) -> None:
    """Ask the remote provider to forget; a letter follows where there is an address."""
    if not row.sealed and row.removed is None:
        raise NotSent(EXPIRED, is_final=True)
    if row.sealed:
        count = _forget(row)
        Recipient.objects.filter(pk=row.pk).update(removed=count, sealed="")
    if mail.server_set() and ways.contact_of(row) is not None:
        _by_mail(row)


def _forget(row: Recipient) -> int:
    """Return how many items the remote provider says it removed."""
    home = row.workspace_id
    address = workspace_settings.value(home, declarations.REMOTE_URL)
    if host_of(address) != row.name:
        raise NotSent(OTHER_PROVIDER, is_final=True)
    try:
        identifiers = listing.unseal(row)
        by = permissions.system(home, "gdpr")
        provider = remote.make(Binding(by=by, workspace_id=home))
        requests = [
            base.Forget(workspace_id=home, data_subject_id=value)
            for value in identifiers
        ]
        return sum(provider.forget(request).removed for request in requests)
    except encryption.Broken:
        raise NotSent(KEY_LOST, is_final=True) from None
    except base.UnsupportedSelector as error:
        raise NotSent(error.detail, is_final=True) from None
    except errors.AppError as error:
        raise NotSent(error.detail) from None


def _by_mail(row: Recipient) -> None:
    contact = ways.contact_of(row)
    if contact is None or not mail.server_set():
        raise NotSent(NO_WAY, is_final=True)
    message = notices.email(row, contact.email, contact.language)
    try:
        count = mail.send("notice to a recipient", [message])
    except (OSError, ValueError) as error:
        # ValueError: an address or a header that no mail can have.
        reason = NOT_MAILED.format(error=type(error).__name__)
        raise NotSent(reason) from None
    if not count:
        raise NotSent(NO_WAY)


_BY_WAY: Final[dict[str, Callable[[Recipient], None]]] = {
    NoticeWay.FORGET: _by_forget,
    NoticeWay.MAIL: _by_mail,
}
