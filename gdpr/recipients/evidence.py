"""Whom something about a person went to, as far as this installation can tell.

Each source says what it knows and no more: a message that was delivered is certain;
where evidence is not kept, or expired, the recipient is possible, with the reason.
Only ids, hosts, counts and days leave this module, never a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import Max, Min
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.data_map import row_text
from gdpr.models import Export, RecipientKind
from gdpr.processing.safeguards import host_of
from gdpr.recipients import sentences
from memory import webhooks, workspace_settings
from memory.accounts import mail
from memory.journal import export as journal_export
from memory.models import (
    DeliveryStatus,
    GatewaySetup,
    JournalEntry,
    Webhook,
    WebhookDelivery,
)
from memory.providers import remote
from memory.workspace_settings import declarations

# How many ids of entries and of messages a recipient keeps; the rest is counted.
MAX_IDS: Final = 1_000
# How many removed webhooks are listed, the newest first.
MAX_REMOVED: Final = 100
REMOTE_REF: Final = "remote"
_SETUP: Final = "gatewaysetup:"
# place → the ids of its rows that are about the person.
Rows = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """One recipient: who, what it receives, from when to when, how surely.

    ``name`` is a host, never a whole address; empty where there is none. ``count`` is
    how many messages or files, 0 where none are counted. ``ids`` has ``entries`` and
    ``messages``.
    """

    kind: RecipientKind
    ref: str
    name: str = ""
    doubt: str = ""
    count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    ids: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_certain(self) -> bool:
        return not self.doubt

    @property
    def is_notified(self) -> bool:
        """Whether it gets a notice, and is not listed for information alone."""
        return self.kind in NOTIFIED_KINDS

    @property
    def receives(self) -> str:
        """What it receives, in the reader's language."""
        return gettext(sentences.RECEIVES[self.kind])

    @property
    def doubt_words(self) -> str:
        return sentences.doubt_words(self.doubt)


NOTIFIED_KINDS: Final = (
    RecipientKind.WEBHOOK, RecipientKind.GATEWAY, RecipientKind.PROVIDER,
    RecipientKind.OTHER,
)  # fmt: skip


def of_person(workspace_id: str, subject_ref: str, rows: Rows) -> list[Disclosure]:
    """Return the recipients, those with an address first.

    ``rows`` has the messages (``deliveries``), gateway set-ups (``gateway``) and
    entries (``journal``) that are about the person.
    """
    return [
        *_webhooks(workspace_id, rows),
        *_removed_webhooks(workspace_id),
        *_gateways(workspace_id, rows.get("gateway", frozenset())),
        *_provider(workspace_id),
        *_services(),
        *_downloads(workspace_id, subject_ref),
    ]


# ── Webhooks ─────────────────────────────────────────────────────────────────
def _webhooks(workspace_id: str, rows: Rows) -> Iterator[Disclosure]:
    """Yield the webhooks to which something went, or may have gone before."""
    messages = _messages(workspace_id, rows.get("deliveries", frozenset()))
    entries = _offered(workspace_id, rows.get("journal", frozenset()))
    oldest = timezone.now() - webhooks.RETENTION
    for hook in Webhook.objects.filter(workspace_id=workspace_id):
        tried_messages = messages.get(hook.pk, [])
        confirmed = [row for row in tried_messages if row.status == DeliveryStatus.SENT]
        earlier = [
            entry_id
            for entry_id, entry_type, at in entries
            if entry_type in hook.events and hook.created_at <= at < oldest
        ]
        if tried_messages or hook.created_at < oldest:
            doubt = "unconfirmed" if tried_messages else "expired"
            yield Disclosure(
                kind=RecipientKind.WEBHOOK,
                ref=hook.pk,
                name=hook.host,
                doubt="" if confirmed else doubt,
                **_of_messages(confirmed or tried_messages, earlier),
            )


def _offered(
    workspace_id: str, entry_ids: frozenset[str]
) -> list[tuple[str, str, datetime]]:
    """Return id, type and time of the entries of which webhooks get messages."""
    rows: list[tuple[int, tuple[str, str, datetime]]] = []
    for ids in row_text.batches(sorted(entry_ids)):
        # By the ids alone: SQLite would read the whole workspace by another index.
        entries = JournalEntry.objects.filter(pk__in=ids)
        fields = entries.values_list("workspace_id", "seq", "pk", "entry_type", "ts")
        rows += [
            (seq, (pk, name, at))
            for home, seq, pk, name, at in fields
            if home == workspace_id and name in webhooks.EVENTS
        ]
    return [row for _, row in sorted(rows)]


def _messages(
    workspace_id: str, delivery_ids: frozenset[str]
) -> dict[str, list[WebhookDelivery]]:
    """Return webhook → the messages about the person that were tried at least once."""
    tried = WebhookDelivery.objects.filter(workspace_id=workspace_id, attempts__gt=0)
    rows: list[WebhookDelivery] = []
    for ids in row_text.batches(sorted(delivery_ids)):
        rows += tried.filter(pk__in=ids).defer("body")
    by_hook: dict[str, list[WebhookDelivery]] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.pk)):
        by_hook.setdefault(row.webhook_id, []).append(row)
    return by_hook


def _of_messages(rows: list[WebhookDelivery], earlier: list[str]) -> dict[str, Any]:
    """Return count, days and ids; ``earlier`` are entries whose messages are gone."""
    entry_ids = (row.entry_id for row in rows if row.entry_id)
    entries = list(dict.fromkeys([*earlier, *entry_ids]))
    messages = [row.pk for row in rows]
    left_out = max(0, len(entries) - MAX_IDS) + max(0, len(messages) - MAX_IDS)
    return {
        "count": len(rows),
        "first_at": rows[0].created_at if rows else None,
        "last_at": rows[-1].created_at if rows else None,
        "ids": {
            "entries": entries[:MAX_IDS],
            "messages": messages[:MAX_IDS],
            "left_out": left_out,
        },
    }


def _removed_webhooks(workspace_id: str) -> Iterator[Disclosure]:
    """Yield webhooks that the journal says were removed; their messages went too."""
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id, entry_type="webhook.removed", erased_at=None
    )
    for entry in rows.order_by("-seq")[:MAX_REMOVED]:
        payload = entry.payload
        if payload.get("webhook_id"):
            yield Disclosure(
                kind=RecipientKind.WEBHOOK,
                ref=str(payload["webhook_id"])[:64],
                name=str(payload.get("host", ""))[:254],
                doubt="removed",
                last_at=entry.ts,
            )


# ── Gateways and the remote provider ─────────────────────────────────────────
def _gateways(workspace_id: str, gateway_rows: frozenset[str]) -> Iterator[Disclosure]:
    """Yield the gateways of turns; certain where one signs in with the person's id."""
    setups = GatewaySetup.objects.filter(workspace_id=workspace_id)
    for setup in setups.exclude(base_url="").order_by("updated_at", "pk"):
        is_theirs = f"{_SETUP}{setup.pk}" in gateway_rows
        yield Disclosure(
            kind=RecipientKind.GATEWAY,
            ref=setup.pk,
            name=host_of(setup.base_url),
            doubt="" if is_theirs else "not_noted",
        )
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id, entry_type="gateway_setup.removed", erased_at=None
    )
    for entry in rows.order_by("-seq")[:MAX_REMOVED]:
        if setup_id := entry.refs.get("setup_id"):
            yield Disclosure(
                kind=RecipientKind.GATEWAY,
                ref=str(setup_id)[:64],
                doubt="setup_removed",
                last_at=entry.ts,
            )


def _provider(workspace_id: str) -> Iterator[Disclosure]:
    """Yield the remote provider, if it ever was this workspace's."""
    since = _remote_since(workspace_id)
    provider_name = workspace_settings.value(workspace_id, declarations.PROVIDER)
    if since is None and provider_name != remote.NAME:
        return
    address = workspace_settings.value(workspace_id, declarations.REMOTE_URL)
    yield Disclosure(
        kind=RecipientKind.PROVIDER,
        ref=REMOTE_REF,
        name=host_of(address) if address else "",
        doubt="not_noted",
        first_at=since,
    )


def _remote_since(workspace_id: str) -> datetime | None:
    """Return when the remote provider was first chosen, None if it never was."""
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id, entry_type="provider.chosen", erased_at=None
    )
    for entry in rows.order_by("seq").iterator():
        if remote.NAME in (
            entry.payload.get("provider"),
            entry.payload.get("previous"),
        ):
            return entry.ts
    return None


# ── The installation's services, and downloads ───────────────────────────────
def _services() -> Iterator[Disclosure]:
    host = host_of(settings.OLLAMA_HOST) or str(settings.OLLAMA_HOST)
    if settings.EMBEDDER == "ollama":
        kind = RecipientKind.EMBEDDER
        yield Disclosure(kind=kind, ref="embedder", name=host, doubt="computes")
    if settings.CONSOLIDATE_MODEL:
        kind = RecipientKind.MODEL
        yield Disclosure(kind=kind, ref="model", name=host, doubt="computes")
    if mail.server_set():
        host = str(getattr(settings, "EMAIL_HOST", "") or "")
        yield Disclosure(
            kind=RecipientKind.MAIL, ref="mail", name=host, doubt="carries"
        )


def _downloads(workspace_id: str, subject_ref: str) -> Iterator[Disclosure]:
    bundles = Export.objects.filter(
        workspace_id=workspace_id, subject_ref=subject_ref, last_read_at__isnull=False
    )
    span = bundles.aggregate(first=Min("last_read_at"), last=Max("last_read_at"))
    if count := bundles.count():
        yield Disclosure(
            kind=RecipientKind.BUNDLES,
            ref="bundles",
            count=count,
            first_at=span["first"],
            last_at=span["last"],
        )
    files = JournalEntry.objects.filter(
        workspace_id=workspace_id, entry_type=journal_export.EXPORTED
    )
    span = files.aggregate(first=Min("ts"), last=Max("ts"))
    if count := files.count():
        yield Disclosure(
            kind=RecipientKind.FILES,
            ref="files",
            doubt="unread",
            count=count,
            first_at=span["first"],
            last_at=span["last"],
        )
