"""Sending a letter by mail, or noting that it went by post.

By mail at most once: the letter is claimed before the mail is handed over, and of two
that send it at once one has it. A mail server that refuses gives the claim back. After
a process died in between, or the server stopped answering, nobody knows whether the
mail went out; the letter is sent again only when a person says so.

A letter with a placeholder in square brackets goes out neither way.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import structlog
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr import audit_log
from gdpr.cases import correspondence, privacy_settings
from gdpr.cases.correspondence import Address
from gdpr.cases.transitions import locked
from gdpr.letters import keeping, placeholders
from gdpr.letters.keeping import Content
from gdpr.models import ActionKind, Letter, LetterWay
from gdpr.processing import controller
from memory.accounts import mail
from memory.rules import errors
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
# Longer than a mail server takes to accept a mail.
CLAIM: Final = timedelta(minutes=5)
UNCLEAR: Final = gettext_noop(
    "Sending it was interrupted, and nobody knows whether the mail went out."
)
log = structlog.get_logger(__name__)


def is_unclear(letter: Letter) -> bool:
    """Whether a process began to mail it and did not say how that ended."""
    at = letter.claimed_at
    return letter.sent_at is None and at is not None and at < timezone.now() - CLAIM


def by_mail(letter: Letter, *, by: Actor, repeat: bool = False) -> Letter:
    """Mail a kept letter to the case's address.

    Conflict ``letter_sent``, ``letter_is_sent_now``, ``letter_unclear`` (unless
    ``repeat``), ``letter_unfilled``, ``no_email``; Unavailable ``mail_not_sent``: it
    can be tried again; ``mail_unclear``: it may have gone out.
    """
    by.require(MAY, letter.workspace_id)
    address = _mail_address(letter)
    content = _filled(letter)
    message = _message(letter, content, address)
    _claim(letter, repeat=repeat)
    try:
        # Outside a transaction: a slow mail server must not hold the database.
        count = mail.send("letter", [message])
    except mail.NoAnswer as error:
        log.warning("letter_unclear", letter=letter.id, error=type(error).__name__)
        raise errors.Unavailable(gettext(UNCLEAR), code="mail_unclear") from None
    except (OSError, ValueError) as error:
        # ValueError: an address or a header that no mail can have.
        log.warning("letter_not_sent", letter=letter.id, error=type(error).__name__)
        count = 0
    if not count:
        _rows(letter).filter(sent_at=None).update(claimed_at=None)
        raise not_sent()
    return _record_sent(letter, LetterWay.MAIL, address.email, by)


def not_sent() -> errors.Unavailable:
    """Return the error of a mail that no server took."""
    detail = gettext("The mail did not go out. Try again later.")
    return errors.Unavailable(detail, code="mail_not_sent")


def by_post(letter: Letter, *, by: Actor) -> Letter:
    """Note that a kept letter went by post or was handed over."""
    by.require(MAY, letter.workspace_id)
    _filled(letter)
    address = correspondence.of(letter.case)
    _claim(letter, repeat=True)
    return _record_sent(letter, LetterWay.POST, address.post if address else "", by)


def _mail_address(letter: Letter) -> Address:
    if not mail.server_set():
        detail = gettext("No mail server is set (CREWSHIP_EMAIL_URL).")
        raise errors.Conflict(detail, code="no_mail_server")
    address = correspondence.of(letter.case)
    if address is None or not address.email:
        detail = gettext("The case has no e-mail address to answer to.")
        raise errors.Conflict(detail, code="no_email")
    return address


def _rows(letter: Letter) -> QuerySet[Letter]:
    return Letter.objects.filter(workspace_id=letter.workspace_id, pk=letter.pk)


def _claim(letter: Letter, *, repeat: bool) -> None:
    """Claim a letter by a conditional UPDATE, or raise why it cannot be sent."""
    now = timezone.now()
    rows = _rows(letter).filter(sent_at=None)
    free_rows = rows.filter(claimed_at=None)
    if free_rows.update(claimed_at=now):
        return
    if repeat and rows.filter(claimed_at__lt=now - CLAIM).update(claimed_at=now):
        return
    live = _rows(letter).first()
    if live is None:
        raise errors.NotFound
    raise _refusal(live)


def _refusal(letter: Letter) -> errors.Conflict:
    if letter.sent_at is not None:
        detail = gettext("This letter was sent already.")
        return errors.Conflict(detail, code="letter_sent")
    if is_unclear(letter):
        return errors.Conflict(gettext(UNCLEAR), code="letter_unclear")
    detail = gettext("This letter is being sent now.")
    return errors.Conflict(detail, code="letter_is_sent_now")


def _filled(letter: Letter) -> Content:
    """Return what a letter says, or raise Conflict while placeholders are left open."""
    content = Content(**letter.opened())
    names = placeholders.left_open(f"{content.subject}\n{content.body}")
    if names:
        detail = gettext(
            "The letter still has {names} in it. Remove it and write it anew."
        ).format(names=", ".join(names))
        raise errors.Conflict(detail, code="letter_unfilled", placeholders=names)
    return content


def _message(letter: Letter, content: Content, address: Address) -> EmailMessage:
    return EmailMessage(
        content.subject,
        content.body + "\n",
        None,
        [address.email],
        reply_to=controller.of(letter.workspace_id).reply_to,
        headers={"Content-Language": letter.language},
    )


def _keep_until(workspace_id: str) -> date:
    rules = privacy_settings.of(workspace_id)
    today = timezone.now().astimezone(privacy_settings.zone(rules)).date()
    return today + timedelta(days=rules.letter_days)


def _record_sent(letter: Letter, way: LetterWay, to: str, by: Actor) -> Letter:
    """Note that a claimed letter left: in the letter, case, journal and audit log.

    That it left is also noted when an erasure took the letter along meanwhile.
    """
    with transaction.atomic():
        case = locked(letter.case)
        row = _rows(letter).select_for_update().first()
        live = row or letter
        live.case = case
        live.way, live.sent_at, live.sent_by = way, timezone.now(), by.label
        live.keep_until, live.claimed_at = _keep_until(letter.workspace_id), None
        if row is not None:
            row.seal({**row.opened(), "to": to})
            row.save()
        text = (
            "Letter sent by mail"
            if way is LetterWay.MAIL
            else "Letter noted as sent by post"
        )
        keeping.record(live, "sent", text, by=by, details={"way": way.value})
        audit_log.note(
            live.case.subject_ref,
            ActionKind.ANSWER,
            by=by,
            case_ref=live.case_id,
            scope={"letter": live.id, "occasion": live.occasion, "way": way.value},
        )
    return live
