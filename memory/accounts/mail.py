"""E-mail: whether a mail server is set, and what happens to mails when none is.

A mail may carry a link that opens an account, so without a server none is written
anywhere: one log line says that it was not sent, of which kind and how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog
from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

NOT_SENT: Final = "mail not sent: no mail server is set (CREWSHIP_EMAIL_URL)"
log = structlog.get_logger(__name__)


def server_set() -> bool:
    """Whether a mail server is set."""
    return bool(settings.MAIL_SERVER)


def not_sent(kind: str, count: int) -> None:
    """Write the one line about mails that no server takes."""
    log.warning(NOT_SENT, kind=kind, count=count)


def send(kind: str, messages: Sequence[EmailMessage]) -> int:
    """Send mails and return how many went out; OSError when the server refuses."""
    if not server_set():
        not_sent(kind, len(messages))
        return 0
    with mail.get_connection() as connection:
        return connection.send_messages(messages) or 0


class NoServer(BaseEmailBackend):
    """The backend without a server, for mails that a library sends by itself."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send nothing, and say so."""
        not_sent("other", len(email_messages))
        return 0
