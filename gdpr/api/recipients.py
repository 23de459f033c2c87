"""Recipients of a case over the API: the list, notices, answers, addresses."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from ninja import Query, Router, Schema, Status
from pydantic import Field

from gdpr.api.case_schemas import PrivacyPageQuery
from gdpr.api.row_schemas import Text
from gdpr.cases import transitions
from gdpr.models import (
    Case,
    NoNoticeGround,
    Recipient,
    RecipientAnswer,
    RecipientContact,
)
from gdpr.recipients import actions, contacts, listing, queries, sentences
from gdpr.recipients.actions import NewAnswer, NewRecipient
from gdpr.recipients.evidence import Disclosure
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, TextOrNull
from memory.rules.shapes import NO_NUL, Strict

router = Router(tags=["personal data"])
LIST = "/cases/{case_id}/recipients"
ROW = LIST + "/{recipient_id}"
CONTACTS = "/recipient_contacts"
Language = Literal["en", "de"]


class CaseRecipientIn(Strict):
    """A recipient to add; `received` says what identifies the data at their side."""

    name: str = Field(min_length=1, max_length=contacts.NAME_CHARS, pattern=NO_NUL)
    received: str = Field("", max_length=actions.RECEIVED_CHARS)
    email: str = Field("", max_length=contacts.EMAIL_CHARS)
    language: Language = "en"


class NotifyIn(Strict):
    """How to notify: `hand` notes that an officer did, the others send."""

    way: Literal["", "webhook", "forget", "mail", "hand"] = ""


class NoNoticeIn(Strict):
    """Why a recipient is not notified."""

    ground: NoNoticeGround
    reason: Text


class AnswerIn(Strict):
    """What a recipient answered; today by default."""

    answer: RecipientAnswer
    answered_on: date | None = None
    note: Text = ""


class ContactIn(Strict):
    """Where notices to a recipient go, by its host or name."""

    name: str = Field(min_length=1, max_length=contacts.NAME_CHARS, pattern=NO_NUL)
    email: str = Field(min_length=3, max_length=contacts.EMAIL_CHARS, pattern=NO_NUL)
    language: Language = "en"


class DisclosureOut(Schema):
    """A recipient as it is known before a run; `doubt` is null when it is certain."""

    kind: str
    name: TextOrNull
    receives: str
    is_certain: bool
    doubt: TextOrNull = Field(validation_alias="doubt_words")
    count: int
    first_at: Stamp | None
    last_at: Stamp | None


class CaseRecipientOut(DisclosureOut):
    """A recipient of a case, with its notice and its answer."""

    id: str
    evidence: dict[str, Any]
    added_at: Stamp
    added_by: str
    state: str
    way: TextOrNull
    attempts: int
    notified_at: Stamp | None
    notified_by: TextOrNull
    last_error: TextOrNull
    removed: int | None
    ground: TextOrNull
    reason: TextOrNull
    answer: TextOrNull
    answered_on: date | None
    answer_note: TextOrNull
    answered_by: TextOrNull
    answer_due: Stamp | None


class CaseRecipientsOut(Schema):
    """A page of recipients; before a run `expected` has what its plan shows."""

    items: list[CaseRecipientOut]
    next_cursor: str | None
    expected: list[DisclosureOut]


class ContactOut(Schema):
    """Where notices to a recipient go."""

    id: int
    name: str
    email: str
    language: str
    changed_at: Stamp
    changed_by: str


class ContactsOut(Schema):
    """The addresses, by the recipient's name."""

    items: list[ContactOut]


class NoticeOut(Schema):
    """A notice as a letter."""

    text: str


# ── Presenting ───────────────────────────────────────────────────────────────
_FIELDS = (
    "id", "kind", "name", "count", "first_at", "last_at", "evidence", "added_at",
    "added_by", "state", "way", "attempts", "notified_at", "notified_by", "last_error",
    "removed", "ground", "reason", "answer", "answered_on", "answer_note",
    "answered_by",
)  # fmt: skip


def _row(row: Recipient, days: int) -> dict[str, Any]:
    due: datetime | None = queries.answer_due(row, days)
    return {
        **{name: getattr(row, name) for name in _FIELDS},
        "receives": sentences.receives(row),
        "is_certain": not row.doubt,
        "doubt_words": sentences.doubt_words(row.doubt),
        "answer_due": due,
    }


def _present(row: Recipient) -> dict[str, Any]:
    return _row(row, contacts.answer_days(row.workspace_id))


def _recipient(
    request: ApiRequest, case_id: str, recipient_id: str
) -> tuple[Case, Recipient]:
    case = transitions.case(request.auth, case_id)
    return case, actions.get(request.auth, case, recipient_id)


# ── Recipients of a case ─────────────────────────────────────────────────────
@router.get(LIST, response=CaseRecipientsOut, operation_id="list_recipients")
def list_recipients(
    request: ApiRequest, case_id: str, query: Query[PrivacyPageQuery]
) -> dict[str, Any]:
    """List whom something about the person went to, surely or possibly."""
    case = transitions.case(request.auth, case_id)
    page = queries.page(request.auth, case, query.page())
    days = contacts.answer_days(case.workspace_id)
    expected: list[Disclosure] = [] if query.cursor else listing.expected(case)
    return {
        "items": [_row(row, days) for row in page.items],
        "next_cursor": page.next_cursor,
        "expected": expected,
    }


@router.post(LIST, response={201: CaseRecipientOut}, operation_id="add_recipient")
def add(
    request: ApiRequest, case_id: str, data: CaseRecipientIn
) -> Status[dict[str, Any]]:
    """Add a recipient by hand; its notice goes out once the run is complete.

    An e-mail address is noted for the workspace. Codes: `no_notices`, `bad_email`,
    `subject_suppressed`.
    """
    case = transitions.case(request.auth, case_id)
    row = actions.add(case, NewRecipient(**data.model_dump()), by=request.auth)
    return Status(201, _present(row))


@router.post(
    ROW + "/notify", response=CaseRecipientOut, operation_id="notify_recipient"
)
def notify(
    request: ApiRequest, case_id: str, recipient_id: str, data: NotifyIn
) -> dict[str, Any]:
    """Send a notice that has an address by now or failed, or note it as sent by hand.

    Codes: `not_complete`, `no_address`, `wrong_state`.
    """
    _, row = _recipient(request, case_id, recipient_id)
    if data.way == "hand":
        return _present(actions.notify_by_hand(row, by=request.auth))
    return _present(actions.notify(row, data.way, by=request.auth))


@router.post(
    ROW + "/not_possible", response=CaseRecipientOut, operation_id="decline_notice"
)
def not_possible(
    request: ApiRequest, case_id: str, recipient_id: str, data: NoNoticeIn
) -> dict[str, Any]:
    """Note that a notice is not possible or disproportionate. Code: `wrong_state`."""
    _, row = _recipient(request, case_id, recipient_id)
    declined = actions.decline(row, data.ground, data.reason, by=request.auth)
    return _present(declined)


@router.post(
    ROW + "/answer", response=CaseRecipientOut, operation_id="answer_of_recipient"
)
def answer(
    request: ApiRequest, case_id: str, recipient_id: str, data: AnswerIn
) -> dict[str, Any]:
    """Note what a recipient answered; a later answer replaces it.

    Codes: `answered_in_future`, `wrong_state`, `subject_suppressed`.
    """
    _, row = _recipient(request, case_id, recipient_id)
    return _present(
        actions.answer(row, NewAnswer(**data.model_dump()), by=request.auth)
    )


@router.get(ROW + "/notice", response=NoticeOut, operation_id="read_notice")
def notice(request: ApiRequest, case_id: str, recipient_id: str) -> dict[str, str]:
    """Get the notice as a letter in English, to send by hand."""
    _, row = _recipient(request, case_id, recipient_id)
    return {"text": actions.download(row, "en", by=request.auth)}


# ── Addresses ────────────────────────────────────────────────────────────────
@router.get(CONTACTS, response=ContactsOut, operation_id="list_recipient_contacts")
def list_contacts(request: ApiRequest) -> dict[str, list[RecipientContact]]:
    """List where notices to recipients go."""
    return {"items": contacts.all_of(request.auth)}


@router.put(CONTACTS, response=ContactOut, operation_id="set_recipient_contact")
def set_contact(request: ApiRequest, data: ContactIn) -> RecipientContact:
    """Set where notices to a recipient go, by its host or name.

    Codes: `bad_email`, `too_many_contacts`, `subject_suppressed`.
    """
    return contacts.put(data.name, data.email, data.language, by=request.auth)


@router.delete(
    CONTACTS + "/{contact_id}",
    response={204: None},
    operation_id="remove_recipient_contact",
)
def remove_contact(request: ApiRequest, contact_id: int) -> Status[None]:
    """Remove an address; notices that were sent to it stay as they are."""
    contacts.remove(contact_id, by=request.auth)
    return Status(204, None)
