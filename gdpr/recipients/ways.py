"""By which way a notice goes to a recipient, and to which address."""

from __future__ import annotations

from gdpr.models import NoticeWay, Recipient, RecipientContact, RecipientKind
from gdpr.recipients import contacts
from memory.accounts import mail
from memory.models import Webhook


def hook_of(row: Recipient) -> Webhook | None:
    """Return the webhook of a recipient, None where it is gone or was none."""
    if row.kind != RecipientKind.WEBHOOK:
        return None
    rows = Webhook.objects.filter(workspace_id=row.workspace_id, pk=row.ref)
    return rows.first()


def contact_of(row: Recipient) -> RecipientContact | None:
    """Return where a letter goes, None where no address is noted."""
    return contacts.of_name(row.workspace_id, row.name)


def open_ways(row: Recipient) -> list[NoticeWay]:
    """Return the ways that are open now, the best first; none without an address."""
    ways = []
    hook = hook_of(row)
    if hook is not None and hook.active:
        ways.append(NoticeWay.WEBHOOK)
    if row.sealed:
        ways.append(NoticeWay.FORGET)
    if mail.server_set() and contact_of(row) is not None:
        ways.append(NoticeWay.MAIL)
    return ways
