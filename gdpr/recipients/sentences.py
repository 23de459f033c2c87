"""What recipients receive, and why it is not certain: sentences, stored as codes."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr.models import Recipient, RecipientKind
from memory import webhooks

RECEIVES: Final[dict[str, str]] = {
    RecipientKind.WEBHOOK: gettext_noop("Events without texts"),
    RecipientKind.GATEWAY: gettext_noop(
        "Turns of conversations, to recall and to keep memories"
    ),
    RecipientKind.PROVIDER: gettext_noop(
        "What agents keep and ask over the provider interface"
    ),
    RecipientKind.EMBEDDER: gettext_noop("Texts and questions, to compute vectors"),
    RecipientKind.MODEL: gettext_noop(
        "Entries of the journal, to draw rules from them"
    ),
    RecipientKind.MAIL: gettext_noop(
        "Mails to members: links to sign in, ids and days of cases"
    ),
    RecipientKind.BUNDLES: gettext_noop("All data of the person, as a sealed bundle"),
    RecipientKind.FILES: gettext_noop("Entries of the journal, as a file"),
}
# Why it is not certain, by code. ``{days}`` is how long messages are kept.
DOUBTS: Final[dict[str, str]] = {
    "expired": gettext_noop(
        "Messages older than {days} days are not kept: whether one was about the person"
        " is not known."
    ),
    "removed": gettext_noop(
        "The webhook was removed, and its messages with it: whether one was about the"
        " person is not known."
    ),
    "setup_removed": gettext_noop(
        "The set-up was removed, and its address with it: whether something was about"
        " the person is not known."
    ),
    "unconfirmed": gettext_noop(
        "A message about the person was sent, and its receipt was not confirmed."
    ),
    "not_noted": gettext_noop(
        "What was sent to it is not noted here: whether something was about the person"
        " is not known."
    ),
    "computes": gettext_noop(
        "It computes from texts and answers; which texts it was sent, and whether it"
        " keeps them, is not noted here."
    ),
    "carries": gettext_noop(
        "Mails go to members and to people who ask about their data; which of them the"
        " server keeps is not known here."
    ),
    "unread": gettext_noop(
        "A member downloaded it; whether it holds something about the person, and who"
        " was given it, is not known here."
    ),
    "by_hand": gettext_noop("An officer added it."),
}


def doubt_words(code: str) -> str:
    """Return in words why a recipient is not certain; empty when it is."""
    sentence = DOUBTS.get(code, "")
    if not sentence:
        return ""
    return gettext(sentence).format(days=webhooks.RETENTION.days)


def receives(row: Recipient) -> str:
    """Return what a stored recipient receives; of one added by hand the words."""
    if row.kind in RECEIVES:
        return gettext(RECEIVES[row.kind])
    return row.received
