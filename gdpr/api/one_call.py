"""A person's data in one call, over the API."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field

from gdpr.api.case_schemas import IdentityReason
from gdpr.erasure import next_steps, one_call
from gdpr.models import IdentityGround
from memory.api.request import ApiRequest
from memory.api.shapes import TextOrNull
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class ErasureIn(Strict):
    """Why the data is erased; it stays in the case until the case is closed.

    Ground and reason of the identity are for an erasure without an identity check:
    where the workspace asks for none, the call does not go without them.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [one_call.EXAMPLE]})

    reason: Annotated[str, Field(strict=True, min_length=1, max_length=2_000)]
    identity_ground: IdentityGround | None = None
    identity_reason: IdentityReason = ""


class NextStepOut(Schema):
    """What is to be done, and the call that does it."""

    what: str
    call: TextOrNull


class ErasureOut(Schema):
    """Where the erasure stands; ``rows_deleted`` is what a running plan will delete.

    ``status`` is `awaiting_identity`, `awaiting_approval`, or the state of the case,
    which ``state`` always is.
    """

    action_id: str
    case_id: str
    status: str
    state: str
    rows_deleted: dict[str, int]
    warnings: list[str]
    page: str
    next: list[NextStepOut]


@router.get(
    "/users/{subject}/data", response=dict[str, Any], operation_id="export_user_data"
)
def read(request: ApiRequest, subject: str) -> dict[str, Any]:
    """Return all data about a person, named by id or alias; all of it or an error."""
    return one_call.export_all(subject, by=request.auth)


@router.delete(
    "/users/{subject}/data",
    response={202: ErasureOut},
    operation_id="erase_user_data",
)
def erase(request: ApiRequest, subject: str, data: ErasureIn) -> Status[dict[str, Any]]:
    """Open a case, plan it and run it as far as nothing is missing; poll the case.

    Where the workspace asks for an identity check or a second person, or a row may be
    about somebody else, nothing is erased yet: `status` is `awaiting_identity`,
    `awaiting_approval`, `planned` (rows to decide on) or `on_hold`, and `next` says
    what is to be done. Calling again goes on with the open case.

    Codes: 422 `identity_ground_required` where no identity check is asked for and no
    ground was given: send `identity_ground` and `identity_reason` as in the example,
    which the answer repeats; `identity_reason_required`; `same_person` where the caller
    approved the plan.
    """
    erasure = one_call.erase(
        subject,
        data.reason,
        by=request.auth,
        identity_ground=data.identity_ground or "",
        identity_reason=data.identity_reason,
    )
    result = {
        "action_id": erasure.action_id,
        "case_id": erasure.case.id,
        "status": erasure.status,
        "state": erasure.case.state,
        "rows_deleted": erasure.rows,
        "warnings": erasure.warnings,
        "page": next_steps.page(erasure.case.id),
        "next": next_steps.of(erasure),
    }
    return Status(202, result)
