"""What a notice says: to a program, and in a letter. It never names the person.

A recipient finds the data by what it was sent: ids of entries and of messages. What it
is to do follows from the kind of request (Articles 16 to 18 and 21).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from gdpr.models import Case, CaseKind, Recipient, RecipientKind
from gdpr.processing import controller
from memory.models import GatewaySetup

EVENTS: Final[dict[str, str]] = {
    CaseKind.ERASURE: "gdpr.erasure_notice",
    CaseKind.RECTIFICATION: "gdpr.rectification_notice",
    CaseKind.RESTRICTION: "gdpr.restriction_notice",
    CaseKind.OBJECTION: "gdpr.restriction_notice",
}
# What the recipient is to do, by the kind of request.
REQUESTS: Final[dict[str, str]] = {
    CaseKind.ERASURE: gettext_noop(
        "Personal data that you received from us was erased here (Article 17 GDPR)."
        " Please erase it too, with every copy and link."
    ),
    CaseKind.RECTIFICATION: gettext_noop(
        "Personal data that you received from us was wrong and is corrected here"
        " (Article 16 GDPR). Please stop using what you hold, and read it from us again"
        " or ask us for the correct text."
    ),
    CaseKind.RESTRICTION: gettext_noop(
        "The use of personal data that you received from us is restricted here (Article"
        " 18 GDPR). Please keep it, and do not use it."
    ),
    CaseKind.OBJECTION: gettext_noop(
        "A person objected to the use of personal data that you received from us"
        " (Article 21 GDPR), and it is restricted here. Please do not use it."
    ),
}
SUBJECTS: Final[dict[str, str]] = {
    CaseKind.ERASURE: gettext_noop("Please erase: notice {id}"),
    CaseKind.RECTIFICATION: gettext_noop("Please correct: notice {id}"),
    CaseKind.RESTRICTION: gettext_noop("Please do not use: notice {id}"),
    CaseKind.OBJECTION: gettext_noop("Please do not use: notice {id}"),
}
# More ids do not help a reader; the event of a webhook has them all.
IDS_IN_LETTER: Final = 200


@dataclass(frozen=True, slots=True)
class Letter:
    """A notice as text."""

    subject: str
    body: str


def event_of(case: Case) -> str:
    """Return the event type of a case's notices."""
    return EVENTS[case.kind]


def payload(row: Recipient) -> dict[str, Any]:
    """Return a notice for a program, in English: ids and what to do."""
    ids = row.evidence
    with translation.override(settings.LANGUAGE_CODE):
        request = gettext(REQUESTS[row.case.kind])
    return {
        "notice_id": row.pk,
        "case_id": row.case_id,
        "request": row.case.kind,
        "what_to_do": request,
        "entries": ids.get("entries", []),
        "messages": ids.get("messages", []),
        "left_out": ids.get("left_out", 0),
        "certain": not row.doubt,
    }


# ── The letter ───────────────────────────────────────────────────────────────
def letter(row: Recipient, language: str) -> Letter:
    """Return a notice as a letter in a language."""
    with translation.override(language):
        subject = gettext(SUBJECTS[row.case.kind]).format(id=row.pk)
        parts = [
            gettext(REQUESTS[row.case.kind]),
            _how_surely(row),
            *_identification(row),
            gettext(
                "Please answer whether you carried it out, hold nothing, or refuse, and"
                " name notice {id}. This letter may reach you twice; it is the same"
                " notice."
            ).format(id=row.pk),
            _sender(row),
        ]
    return Letter(subject, "\n\n".join(filter(None, parts)) + "\n")


def _how_surely(row: Recipient) -> str:
    if not row.doubt or row.kind == RecipientKind.OTHER:
        return ""
    return gettext(
        "Whether you received something about the person is not certain; what follows"
        " is what we know."
    )


def _identification(row: Recipient) -> list[str]:
    """Return what identifies the data at the recipient's side."""
    texts = [gettext("Our case: {id}").format(id=row.case_id)]
    if row.received:
        texts.append(gettext("What you received: {what}").format(what=row.received))
    if row.kind == RecipientKind.GATEWAY:
        texts += _of_gateway(row)
    for name, label in (
        ("entries", gettext("Ids of the entries: {ids}")),
        ("messages", gettext("Ids of the messages: {ids}")),
    ):
        ids = row.evidence.get(name, [])
        if ids:
            texts.append(label.format(ids=", ".join(ids[:IDS_IN_LETTER])))
    hidden = sum(
        max(0, len(row.evidence.get(name, [])) - IDS_IN_LETTER)
        for name in ("entries", "messages")
    ) + int(row.evidence.get("left_out", 0))
    if hidden:
        texts.append(gettext("More ids, on request: {count}").format(count=hidden))
    return texts


def _of_gateway(row: Recipient) -> list[str]:
    """Return which account of a gateway the data is in, while its set-up exists."""
    rows = GatewaySetup.objects.filter(workspace_id=row.workspace_id, pk=row.ref)
    setup = rows.first()
    if setup is None:
        return []
    account = {
        "user_id": setup.user_id,
        "app_id": setup.app_id,
        "project_id": setup.project_id,
    }
    text = ", ".join(f"{name} {value}" for name, value in account.items() if value)
    return [gettext("Account: {account}").format(account=text)] if text else []


def _sender(row: Recipient) -> str:
    answerable = controller.of(row.workspace_id)
    lines = (
        answerable.controller,
        answerable.controller_contact,
        answerable.dpo_contact,
    )
    return "\n".join(line for line in lines if line)


def email(row: Recipient, address: str, language: str) -> EmailMessage:
    """Return a notice as a mail; its headers name the notice, for a second arrival."""
    text = letter(row, language)
    return EmailMessage(
        text.subject,
        text.body,
        None,
        [address],
        reply_to=controller.of(row.workspace_id).reply_to,
        headers={"X-Crewship-Notice": row.pk, "Content-Language": language},
    )
