"""Requests forwarded by a program: from a mailbox or a ticket."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema, Status
from pydantic import Field

from gdpr.api.case_schemas import Short
from gdpr.cases.correspondence import LANGUAGE_CHARS
from gdpr.intake import receive
from gdpr.intake.form import NAME_CHARS
from gdpr.intake.receive import NewRequest, Received
from gdpr.models import CaseKind
from memory.accounts.invitations import EMAIL_LENGTH
from memory.api.request import ApiRequest
from memory.rules.shapes import NO_NUL, Moment, Strict

router = Router(tags=["personal data"])


class RequestIn(Strict):
    """A request as it arrived; `name` and `text` are as the sender wrote them."""

    kind: CaseKind
    email: str = Field(min_length=3, max_length=EMAIL_LENGTH, pattern=NO_NUL)
    name: str = Field("", max_length=NAME_CHARS, pattern=NO_NUL)
    text: str = Field("", max_length=receive.TEXT_CHARS, pattern=NO_NUL)
    ticket: Short = ""
    received_at: Moment | None = None
    language: str = Field(
        "", max_length=LANGUAGE_CHARS, description="To answer in, such as en or de."
    )
    correction: dict[str, Any] = Field(
        default_factory=dict, description="For rectification: what is wrong, and right."
    )


class ForwardedOut(Schema):
    """The case of a request; `is_new` is false for one that was open already."""

    case_id: str
    subject_id: str
    is_new: bool


@router.post(
    "/requests",
    response={201: ForwardedOut, 200: ForwardedOut},
    operation_id="forward_request",
)
def forward(request: ApiRequest, data: RequestIn) -> Status[dict[str, Any]]:
    """Open a case for whoever has this address, or note it on their open case.

    200 for a person with an open case of this kind: the text is added to it as a note.
    Name and address are kept for the answer. Codes: `correction_required`,
    `ambiguous_subject`, `bad_language`.
    """
    received = receive.receive(NewRequest(**data.model_dump()), by=request.auth)
    return Status(201 if received.is_new else 200, _as_json(received))


def _as_json(received: Received) -> dict[str, Any]:
    case = received.case
    return {
        "case_id": case.pk,
        "subject_id": case.subject_ref,
        "is_new": received.is_new,
    }
