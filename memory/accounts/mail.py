"""Sending e-mail, and what happens without a mail server.

A mail may contain a link that opens an account, so without a server no mail is written
anywhere: one log line records the kind and the number of unsent mails.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from smtplib import SMTPServerDisconnected
from typing import Final

import structlog
from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from memory.measurements import recorded

NOT_SENT: Final = "mail not sent: no mail server is set (CREWSHIP_EMAIL_URL)"
log = structlog.get_logger(__name__)


class NoAnswer(OSError):
    """The server stopped answering while it was handed mails: some may have gone."""


def server_set() -> bool:
    return bool(settings.MAIL_SERVER)


def not_sent(kind: str, count: int) -> None:
    log.warning(NOT_SENT, kind=kind, count=count)
    recorded.MAILS.labels("no_server").inc(count)


def send(kind: str, messages: Sequence[EmailMessage]) -> int:
    """Send mails and return how many were sent; OSError when the server refuses.

    ``NoAnswer``, an OSError too, when nobody knows whether it took them.
    """
    if not server_set():
        not_sent(kind, len(messages))
        return 0
    sent_count = 0
    try:
        sent_count = _send(messages)
    finally:
        recorded.MAILS.labels("sent").inc(sent_count)
        recorded.MAILS.labels("failed").inc(len(messages) - sent_count)
    return sent_count


def _send(messages: Sequence[EmailMessage]) -> int:
    connection = mail.get_connection()
    connection.open()
    try:
        return connection.send_messages(messages) or 0
    except (TimeoutError, SMTPServerDisconnected) as error:
        raise NoAnswer(str(error)) from error
    finally:
        # What the server took is sent, whatever becomes of the connection.
        with suppress(OSError):
            connection.close()


class NoServer(BaseEmailBackend):
    """Django's mail backend without a server, for mails that libraries send."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Log the mails instead of sending them."""
        not_sent("other", len(email_messages))
        return 0
