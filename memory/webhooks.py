"""Signed webhooks: who is told of an event, and how the message gets there.

A delivery is written in the transaction of the entry it tells of, and sent later by
the clock. A worker claims it with a conditional UPDATE that counts the try and moves
the next one behind the back-off, so two workers never send one at the same time, and
one whose worker died comes up again. The name is resolved once, every address is
judged, and the connection goes to the address that was judged. Only events whose
entries hold nobody's words are offered: a body outlives an erasure for ``KEPT``.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import httpx
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from memory import journal
from memory.models import (
    DeliveryStatus,
    JournalEntry,
    Webhook,
    WebhookDelivery,
    Workspace,
    ids,
)
from memory.models.webhooks import HEALTH_BAND_CHANGED
from memory.rules import errors
from memory.rules.actors import Actor
from memory.rules.entries import NewEntry, Severity

EVENTS: Final = (HEALTH_BAND_CHANGED,)
TEST: Final = "webhook.test"
MAY: Final = "workspace.manage"
MOST: Final = 20
SHOWN: Final = 5
LIMIT: Final = 50
TRIES: Final = 6
BACK_OFF: Final = timedelta(seconds=30)
TIMEOUT: Final = 5.0
# One tick does not wait longer than this for slow receivers; the rest stays due.
BUDGET_SECONDS: Final = 30.0
KEPT: Final = timedelta(days=30)
TOLERANCE_SECONDS: Final = 300
URL_LENGTH: Final = 500
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
PENDING, SENT = DeliveryStatus.PENDING, DeliveryStatus.SENT
FAILED: Final = DeliveryStatus.FAILED
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
log = structlog.get_logger(__name__)


class Unreachable(Exception):  # noqa: N818 - a situation, never shown as an error
    """Why a message could not be handed over, without the address."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What became of the deliveries that were due."""

    sent: int = 0
    retried: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int | None
    error: str


# ── Signing ──────────────────────────────────────────────────────────────────
def sign(secret: str, body: str, moment: int) -> str:
    """Return the signature header of a body that is sent at a Unix time."""
    text = f"{moment}.{body}".encode()
    return f"t={moment},v1={hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()}"


def verify(secret: str, header: str, body: str, *, now: float | None = None) -> bool:
    """Whether a header signs this body, and no longer ago than the tolerance."""
    moment = header.partition(",")[0].removeprefix("t=")
    if not (moment.isascii() and moment.isdigit() and len(moment) <= 12):
        return False
    if abs((time.time() if now is None else now) - int(moment)) > TOLERANCE_SECONDS:
        return False
    wanted = sign(secret, body, int(moment))
    return hmac.compare_digest(wanted.encode(), header.encode())


# ── Addresses ────────────────────────────────────────────────────────────────
def _inner(address: Address) -> Iterable[Address]:
    """Return an address and the IPv4 addresses that hide inside it."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo or ()
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *teredo))
        if address in NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return all(
        one.is_global and not (one.is_multicast or one.is_reserved)
        for one in _inner(address)
        if not (isinstance(one, ipaddress.IPv6Address) and one in NAT64)
    )


def is_allowed(text: str) -> bool:
    """Whether a webhook may connect to this IP address."""
    return bool(settings.WEBHOOK_PRIVATE) or _is_public(ipaddress.ip_address(text))


def checked(text: str) -> str:
    """Return an address that a webhook may have, or raise Invalid."""
    try:
        url = httpx.URL(text.strip())
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise errors.Invalid("This is no web address.", code="bad_url") from None
    if url.scheme not in ("http", "https") or not host or len(str(url)) > URL_LENGTH:
        detail = "The address must begin with https:// or http://, and have a host."
        raise errors.Invalid(detail, code="bad_url")
    if url.userinfo or url.fragment:
        detail = "The address must have no user name, password or #fragment."
        raise errors.Invalid(detail, code="bad_url")
    try:
        allowed = is_allowed(host)
    except ValueError:  # a name: judged whenever it is resolved
        return str(url)
    if not allowed:
        detail = "Webhooks may not reach private addresses."
        raise errors.Invalid(detail, code="private_address")
    return str(url)


def _resolved(host: str, port: int) -> str:
    """Return the address to connect to; one bad address refuses the whole name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("The host's name could not be resolved.") from None
    addresses = [str(one[4][0]).partition("%")[0] for one in found]
    if not addresses or not all(is_allowed(one) for one in addresses):
        raise Unreachable("The host has an address that webhooks may not reach.")
    return addresses[0]


# ── Who is told ──────────────────────────────────────────────────────────────
def listed(actor: Actor) -> list[Webhook]:
    """Return the workspace's webhooks, each with its last deliveries in ``last``."""
    actor.require(MAY)
    rows = WebhookDelivery.objects.order_by("-created_at", "-id").defer("body")
    last = Prefetch("deliveries", queryset=rows[:SHOWN], to_attr="last")
    hooks = Webhook.objects.filter(workspace_id=actor.workspace_id)
    return list(hooks.prefetch_related(last))


def webhook(actor: Actor, webhook_id: str) -> Webhook:
    """Return a webhook of the actor's workspace."""
    actor.require(MAY)
    rows = Webhook.objects.filter(workspace_id=actor.workspace_id, pk=webhook_id)
    found = rows.first()
    if found is None:
        raise errors.NotFound
    return found


def delivery(actor: Actor, delivery_id: str) -> WebhookDelivery:
    """Return a delivery of the actor's workspace."""
    actor.require(MAY)
    rows = WebhookDelivery.objects.select_related("webhook")
    found = rows.filter(workspace_id=actor.workspace_id, pk=delivery_id).first()
    if found is None:
        raise errors.NotFound
    return found


def _record(action: str, hook: Webhook, by: Actor) -> None:
    """Say in the journal who did what; the host alone, a path may hold a secret."""
    new = NewEntry(
        entry_type=f"webhook.{action}",
        severity=Severity.NOTICE,
        summary=f"Webhook {hook.id} {action}",
        payload={"webhook_id": hook.id, "host": hook.host, "events": hook.events},
    )
    journal.write([new], by=by)


def create(url: str, events: Iterable[str] = EVENTS, *, by: Actor) -> Webhook:
    """Add a webhook; the caller shows its secret once."""
    by.require(MAY)
    target, wanted = checked(url), sorted(set(events))
    if not wanted or not set(wanted) <= set(EVENTS):
        raise errors.Invalid("Choose events from the list.", code="bad_events")
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=by.workspace_id)
        mine = Webhook.objects.filter(workspace_id=by.workspace_id)
        if mine.count() >= MOST:
            detail = f"A workspace has at most {MOST} webhooks."
            raise errors.Conflict(detail, code="too_many_webhooks")
        if mine.filter(url=target).exists():
            detail = "There is a webhook with this address."
            raise errors.Conflict(detail, code="webhook_exists")
        hook = Webhook.objects.create(
            workspace_id=by.workspace_id, url=target, events=wanted, created_by=by.label
        )
        _record("added", hook, by)
    return hook


def switch(hook: Webhook, *, active: bool, by: Actor) -> None:
    """Pause a webhook, or let it hear again; what was due before waits meanwhile."""
    by.require(MAY, hook.workspace_id)
    with transaction.atomic():
        rows = Webhook.objects.filter(pk=hook.pk, active=not active)
        if rows.update(active=active):
            hook.active = active
            _record("resumed" if active else "paused", hook, by)


def remove(hook: Webhook, *, by: Actor) -> None:
    """Forget a webhook with its secret and its deliveries."""
    by.require(MAY, hook.workspace_id)
    with transaction.atomic():
        gone, _ = Webhook.objects.filter(pk=hook.pk).delete()
        if gone:
            _record("removed", hook, by)


# ── Queueing ─────────────────────────────────────────────────────────────────
def _pending(hook: Webhook, told: dict[str, object], entry_id: str) -> WebhookDelivery:
    number = ids.make("whd")
    body = {"id": number, "workspace_id": hook.workspace_id, **told}
    return WebhookDelivery(
        id=number,
        workspace_id=hook.workspace_id,
        webhook=hook,
        event=str(told["event"]),
        entry_id=entry_id,
        body=json.dumps(body, ensure_ascii=False, sort_keys=True),
    )


def queue(entry: JournalEntry) -> int:
    """Write what webhooks shall hear of an entry, in the caller's transaction."""
    told: dict[str, object] = {
        "event": entry.entry_type,
        "entry_id": entry.id,
        "ts": journal.stamp(entry.ts),
        "summary": entry.summary,
        "payload": json.loads(entry.payload_text),
    }
    hooks = Webhook.objects.filter(workspace_id=entry.workspace_id, active=True)
    rows = [
        _pending(hook, told, entry.id)
        for hook in hooks
        if entry.entry_type in hook.events
    ]
    WebhookDelivery.objects.bulk_create(rows)
    return len(rows)


def queue_test(hook: Webhook, *, by: Actor) -> WebhookDelivery:
    """Queue a message that says nothing, to see whether it arrives."""
    by.require(MAY, hook.workspace_id)
    _must_be_active(hook)
    told: dict[str, object] = {
        "event": TEST,
        "entry_id": None,
        "ts": journal.stamp(timezone.now()),
        "summary": "A test of this webhook",
        "payload": {},
    }
    row = _pending(hook, told, "")
    row.save(force_insert=True)
    return row


def replay(row: WebhookDelivery, *, by: Actor) -> None:
    """Make a delivery due again, with the same id and body, all its tries ahead."""
    by.require(MAY, row.workspace_id)
    _must_be_active(row.webhook)
    over = WebhookDelivery.objects.filter(pk=row.pk, status__in=(SENT, FAILED))
    changed = over.update(
        status=PENDING,
        attempts=0,
        next_attempt_at=timezone.now(),
        sent_at=None,
        last_status=None,
        last_error="",
    )
    if not changed:
        detail = "This delivery is on its way; it is tried again by itself."
        raise errors.Conflict(detail, code="delivery_pending")


def _must_be_active(hook: Webhook) -> None:
    if not hook.active:
        raise errors.Conflict("This webhook is paused.", code="webhook_paused")


# ── Sending ──────────────────────────────────────────────────────────────────
def _request(row: WebhookDelivery) -> httpx.Request:
    """Return the request to the resolved address, signed now, for the host's name."""
    url = httpx.URL(checked(row.webhook.url))
    host = url.raw_host.decode("ascii")
    port = url.port or (443 if url.scheme == "https" else 80)
    address = _resolved(host, port)
    return httpx.Request(
        "POST",
        url.copy_with(host=address),
        content=row.body.encode(),
        headers={
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "User-Agent": "crewship-memory",
            "X-Crewship-Event": row.event,
            "X-Crewship-Delivery": row.id,
            "X-Crewship-Signature": sign(
                row.webhook.secret, row.body, int(time.time())
            ),
        },
        extensions={
            "sni_hostname": host,
            "timeout": httpx.Timeout(TIMEOUT).as_dict(),
        },
    )


def _post(row: WebhookDelivery, transport: httpx.BaseTransport | None) -> _Answer:
    """Send once. The answer's body is not read; no proxy gets between."""
    try:
        request = _request(row)
        with httpx.Client(
            transport=transport, trust_env=False, follow_redirects=False
        ) as client:
            response = client.send(request, stream=True)
            response.close()
    except (Unreachable, errors.Invalid) as refused:
        return _Answer(None, str(refused))
    except httpx.TimeoutException:
        return _Answer(None, f"No answer within {TIMEOUT:.0f} seconds.")
    except (httpx.HTTPError, httpx.InvalidURL):
        return _Answer(None, "The connection failed.")
    if response.is_success:
        return _Answer(response.status_code, "")
    how = "; redirects are not followed" if response.is_redirect else ""
    return _Answer(response.status_code, f"Answered {response.status_code}{how}.")


def _claim(row: WebhookDelivery, now: datetime) -> bool:
    """Take a due delivery: of two workers one changes the row and sends."""
    mine = WebhookDelivery.objects.filter(
        pk=row.pk, status=PENDING, attempts=row.attempts, next_attempt_at__lte=now
    )
    until = now + BACK_OFF * 2**row.attempts
    if not mine.update(attempts=row.attempts + 1, next_attempt_at=until):
        return False
    row.attempts += 1
    return True


def send(
    row: WebhookDelivery, *, transport: httpx.BaseTransport | None = None
) -> DeliveryStatus | None:
    """Claim a delivery and try it once; None when it is another worker's or not due."""
    if not _claim(row, timezone.now()):
        return None
    answer = _post(row, transport)
    status = SENT if not answer.error else FAILED if row.attempts >= TRIES else PENDING
    ended = {"sent_at": timezone.now()} if status == SENT else {}
    claimed = WebhookDelivery.objects.filter(
        pk=row.pk, status=PENDING, attempts=row.attempts
    )
    claimed.update(
        status=status,
        last_status=answer.status,
        last_error=answer.error[:200],
        **ended,
    )
    if status == FAILED:
        log.warning("webhook_given_up", webhook=row.webhook_id, delivery=row.pk)
    return status


def _tidy(now: datetime) -> int:
    """Give up what died in its last try, and forget what is long over."""
    rows = WebhookDelivery.objects.order_by()
    rows.filter(created_at__lt=now - KEPT).exclude(status=PENDING).delete()
    dead = rows.filter(
        status=PENDING, attempts__gte=TRIES, next_attempt_at__lte=now
    )
    return dead.update(status=FAILED, last_error="The sender stopped while sending.")


def deliver_due(
    limit: int = LIMIT, transport: httpx.BaseTransport | None = None
) -> Sweep:
    """Send what is due, the oldest first, until the limit or the time is up."""
    now, end = timezone.now(), time.monotonic() + BUDGET_SECONDS
    given_up = _tidy(now)
    due = WebhookDelivery.objects.select_related("webhook").filter(
        status=PENDING, next_attempt_at__lte=now, webhook__active=True
    )
    came: list[DeliveryStatus | None] = []
    for row in list(due.order_by("next_attempt_at", "id")[:limit]):
        if time.monotonic() > end:
            break
        came.append(send(row, transport=transport))
    return Sweep(
        sent=came.count(SENT),
        retried=came.count(PENDING),
        failed=came.count(FAILED) + given_up,
    )
