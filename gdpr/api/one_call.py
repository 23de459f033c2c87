"""A person's data in one call, over the API."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Router, Schema, Status
from pydantic import Field

from gdpr.erasure import one_call
from memory.api.request import ApiRequest
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class ErasureIn(Strict):
    """Why the data is erased; it stays in the case until the case is closed."""

    reason: Annotated[str, Field(strict=True, min_length=1, max_length=2_000)]


class ErasureOut(Schema):
    """The erasure that was started; ``rows_deleted`` is what the plan will delete."""

    action_id: str
    case_id: str
    status: str
    rows_deleted: dict[str, int]
    warnings: list[str]


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
    """Open a case, plan it and run it; poll the case for its end.

    With rows that may be about somebody else nothing runs: `status` is then `planned`,
    `rows_deleted` is empty, and a person decides on the rows of the case.

    Codes: `case_required` where a second person or an identity check is asked for,
    `on_hold`.
    """
    erasure = one_call.erase(subject, data.reason, by=request.auth)
    result = {
        "action_id": erasure.action_id,
        "case_id": erasure.case.id,
        "status": erasure.case.state,
        "rows_deleted": erasure.rows,
        "warnings": erasure.warnings,
    }
    return Status(202, result)
