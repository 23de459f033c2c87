"""The public form: a request counts once its sender has opened the mailed link.

Whoever sends the form sees the same answer for every address: it tells nobody who is
known here. The link proves the address, which is no proof of identity.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext

from gdpr.cases import privacy_settings
from gdpr.cases.transitions import clean_text
from gdpr.intake import receive as intake
from gdpr.intake.receive import NewRequest, Received
from gdpr.models import AddressSource, CaseKind, IntakeRequest
from memory.accounts import api_keys, mail
from memory.accounts.invitations import checked_email
from memory.models import Workspace
from memory.ports import serving
from memory.rules import errors
from memory.rules.permissions import system

LASTS: Final = timedelta(days=2)
# One mail to an address in this time, whoever asks for it.
MAIL_EVERY: Final = timedelta(minutes=10)
MAX_WAITING: Final = 500
NAME_CHARS: Final = 120


def is_open(workspace_id: str) -> bool:
    """Whether the form answers: it is switched on, and mails can be sent."""
    return mail.server_set() and privacy_settings.of(workspace_id).intake


def open_slug(workspace_id: str) -> str:
    """Return the name of a workspace's form in its address; empty for a closed one."""
    workspace = Workspace.objects.get(pk=workspace_id)
    return workspace.slug if is_open(workspace_id) else ""


def workspace_of(slug: str) -> Workspace:
    """Return the workspace of an open form, or raise NotFound."""
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None or not is_open(workspace.pk):
        raise errors.NotFound
    serving.require(workspace.pk)
    return workspace


def ask(workspace: Workspace, new: NewRequest, base: str) -> None:
    """Keep a request and mail the link that confirms it.

    The same kind from one address again replaces what waits. When too many wait, the
    oldest goes. Raises Unavailable when the mail did not go out; then nothing is kept.
    """
    email = checked_email(new.email)
    values: dict[str, Any] = {
        "name": clean_text(new.name, "name", NAME_CHARS, need=False),
        "text": clean_text(new.text, "text", intake.TEXT_CHARS, need=False),
    }
    values["correction"] = dict(new.correction)
    rows = IntakeRequest.objects.filter(workspace=workspace)
    same_requests = rows.filter(
        email=email, kind=new.kind, asked_at__gt=timezone.now() - MAIL_EVERY
    )
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        _lock(workspace.pk)
        if same_requests.update(**values):
            # The mail that is under way is enough; its link shows what was asked last.
            return
        for old in rows.order_by("-asked_at", "-id")[MAX_WAITING - 1 :]:
            old.delete()
        row = IntakeRequest.objects.create(
            workspace=workspace,
            kind=new.kind,
            email=email,
            digest=api_keys.digest(token),
            **values,
        )
    _mail(row, f"{base}/requests/confirm/{token}/")


def _lock(workspace_id: str) -> None:
    """Lock the workspace before any of its requests, as everybody does here."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)


def _mail(row: IntakeRequest, link: str) -> None:
    # Outside the transaction: a slow mail server must not hold the database.
    try:
        count = mail.send("request", [_message(row, link)])
    except OSError:
        count = 0
    if not count:
        row.delete()
        detail = gettext("The mail with the link did not go out. Try again later.")
        raise errors.Unavailable(detail, code="mail_not_sent")


def _message(row: IntakeRequest, link: str) -> EmailMessage:
    workspace = row.workspace.name or row.workspace.slug
    body = gettext(
        "Somebody, most likely you, asked {workspace} about the data it keeps on you."
        "\n\nTo send the request, open this link within two days:\n\n{link}\n\n"
        "If it was not you, nothing happens, and what was typed is deleted.\n"
    ).format(workspace=workspace, link=link)
    subject = gettext("Confirm your request to {workspace}").format(workspace=workspace)
    return EmailMessage(subject, body, None, [row.email])


def by_token(token: str) -> IntakeRequest:
    """Return the request of a link that works, or raise NotFound."""
    rows = IntakeRequest.objects.select_related("workspace")
    row = rows.filter(
        digest=api_keys.digest(token), asked_at__gt=timezone.now() - LASTS
    ).first()
    if row is None or not is_open(row.workspace_id):
        raise errors.NotFound
    serving.require(row.workspace_id)
    return row


def confirm(token: str) -> Received:
    """Open the case of a confirmed request, and delete the request.

    The language of the answer is that of the page on which it is confirmed.
    """
    row = by_token(token)
    with transaction.atomic():
        # Opening the case locks it too, then too late.
        _lock(row.workspace_id)
        rows = IntakeRequest.objects.select_for_update()
        live = rows.filter(pk=row.pk).first()
        if live is None:
            raise errors.NotFound
        new = NewRequest(
            kind=CaseKind(live.kind),
            email=live.email,
            name=live.name,
            text=live.text,
            received_at=live.asked_at,
            correction=live.correction,
            language=translation.get_language() or "",
            source=AddressSource.FORM,
        )
        live.delete()
        by = system(live.workspace_id, "request form")
        return intake.receive(new, by=by, choose=True)


def forget_unconfirmed(at: datetime | None = None) -> int:
    """Delete the requests whose link has ended; return how many."""
    edge = (at or timezone.now()) - LASTS
    return IntakeRequest.objects.filter(asked_at__lte=edge).delete()[0]
