"""Cases over the API: parse, call, present. Compliance officers and admins only."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_noop
from ninja import Query, Router, Status

from gdpr import erasure
from gdpr.api import case_schemas as schemas
from gdpr.api.row_schemas import DecideIn
from gdpr.cases import (
    actions,
    dry_run,
    identity,
    open_requests,
    queries,
    row_decisions,
    transitions,
)
from gdpr.cases import workflow as cases
from gdpr.cases.queries import CaseQuery
from gdpr.cases.row_decisions import Decision
from gdpr.cases.workflow import NewCase
from gdpr.models import Case, CasePlan
from gdpr.subjects import access_log
from memory.api.request import ApiRequest
from memory.rules import errors

router = Router(tags=["personal data"])
Answer = dict[str, Any]


class StaleVersion(errors.AppError):
    """The case changed since it was read; ``version`` is the present one."""

    code, status, title = "stale_version", 409, gettext_noop("The case moved")
    sentence = gettext_noop(
        "The case changed since it was read; it has version {version} now."
    )


def _case(request: ApiRequest, case_id: str, version: int | None = None) -> Case:
    case = transitions.case(request.auth, case_id)
    if version is not None and version != case.version:
        raise StaleVersion(version=case.version)
    return case


def _present(request: ApiRequest, case: Case) -> Answer:
    detail = queries.detail(request.auth, case)
    if queries.has_samples(detail.plan):
        access_log.record_samples_read(case, by=request.auth)
    return queries.case_detail_json(detail) | open_requests.beside_json(
        request.auth, case
    )


@router.post("", response={201: schemas.CaseOut}, operation_id="open_case")
def open_case(request: ApiRequest, data: schemas.CaseIn) -> Status[Answer]:
    """Open a case, due one calendar month after its receipt.

    Codes: `reason_required`, `received_in_future`, `naive_received_at`,
    `correction_required`, `subject_merged`, `identity_ground_required` (a reason
    without its ground), `identity_reason_required`.
    """
    new = NewCase(
        **data.model_dump(exclude={"identity_ground"}),
        identity_ground=data.identity_ground or "",
    )
    case = cases.open_case(new, by=request.auth)
    return Status(201, _present(request, case))


@router.get("", response=schemas.CaseListOut, operation_id="list_cases")
def list_cases(request: ApiRequest, query: Query[schemas.CasesQuery]) -> Answer:
    """List cases: open ones by deadline, then closed ones, newest first."""
    page = queries.page(
        request.auth,
        CaseQuery(**query.filters()),
        limit=query.limit,
        cursor=query.cursor,
    )
    return {
        "items": queries.cases_json(request.auth, page.items),
        "next_cursor": page.next_cursor,
    }


@router.get("/{case_id}", response=schemas.CaseOut, operation_id="get_case")
def get_case(request: ApiRequest, case_id: str) -> Answer:
    """Get a case with its plan, the steps of its run and its timeline."""
    return _present(request, _case(request, case_id))


@router.post(
    "/{case_id}/identity", response=schemas.CaseOut, operation_id="verify_identity"
)
def verify_identity(
    request: ApiRequest, case_id: str, data: schemas.IdentityIn
) -> Answer:
    """Record how the person's identity was verified. Code: `wrong_state`."""
    case = _case(request, case_id, data.version)
    return _present(request, identity.verify(case, data.how, by=request.auth))


@router.post(
    "/{case_id}/skip_identity", response=schemas.CaseOut, operation_id="skip_identity"
)
def skip_identity(
    request: ApiRequest, case_id: str, data: schemas.SkipIdentityIn
) -> Answer:
    """Go on with an erasure without an identity check, on a ground.

    The certificate names the ground. Codes: `wrong_state`, `identity_verified`,
    `identity_required` (other kinds of request), `identity_reason_required`.
    """
    case = _case(request, case_id, data.version)
    return _present(
        request, identity.skip(case, data.ground, data.reason, by=request.auth)
    )


@router.post("/{case_id}/plan", response=schemas.CasePlanOut, operation_id="plan_case")
def plan(request: ApiRequest, case_id: str) -> Answer:
    """Make a dry run over every place where data is stored; nothing is changed.

    Codes: `wrong_state`, `identity_required`, `subject_gone`.
    """
    case = _case(request, case_id)
    return _plan(request, case, dry_run.make(case, by=request.auth))


def _plan(request: ApiRequest, case: Case, case_plan: CasePlan) -> Answer:
    if queries.has_samples(case_plan):
        access_log.record_samples_read(case, by=request.auth)
    return queries.plan_json(case_plan, cases.phrase(case, case_plan.plan_hash))


@router.post(
    "/{case_id}/decisions", response=schemas.CasePlanOut, operation_id="decide_rows"
)
def decide(request: ApiRequest, case_id: str, data: DecideIn) -> Answer:
    """Decide on rows of exactly this plan; the response is the new plan.

    A doubtful row is the person's (`theirs`) or stays (`spared`); any row may stay.
    Rows are chosen one by one, by the form of the name in them, by place, or all.
    An approval of the earlier plan becomes invalid. Codes: `wrong_state`, `stale_plan`,
    `unknown_row`, `row_goes`, `no_rows`, `ground_required`, `reason_required`.
    """
    case = _case(request, case_id, data.version)
    decision = Decision(
        verdict=data.verdict,
        rows=[(row.place, row.id) for row in data.rows],
        all_doubtful=data.all_doubtful,
        forms=data.forms,
        places=data.places,
        ground=data.ground or "",
        reason=data.reason,
    )
    case_plan = row_decisions.decide(case, data.plan_hash, decision, by=request.auth)
    return _plan(request, case, case_plan)


@router.post(
    "/{case_id}/approve", response=schemas.CaseOut, operation_id="approve_case"
)
def approve(request: ApiRequest, case_id: str, data: schemas.ApproveCaseIn) -> Answer:
    """Approve exactly this plan, as the second person.

    Codes: `wrong_state`, `stale_plan`, `same_person`, `doubtful_rows`, `not_a_person`
    (a key of unknown owner), `identity_required`, `identity_ground_required`.
    """
    case = _case(request, case_id, data.version)
    return _present(request, cases.approve(case, data.plan_hash, by=request.auth))


@router.post(
    "/{case_id}/execute", response={202: schemas.CaseOut}, operation_id="execute_case"
)
def execute(
    request: ApiRequest, case_id: str, data: schemas.ExecuteIn
) -> Status[Answer]:
    """Carry out a plan in the background; poll the case.

    Codes: `wrong_state`, `wrong_phrase`, `stale_plan` (with what changed),
    `identity_required`, `identity_ground_required`, `approval_required`, `same_person`,
    `break_glass_not_allowed`, `on_hold`, `doubtful_rows` (somebody has to decide on
    them first).
    """
    case = _case(request, case_id, data.version)
    started = erasure.start(
        case,
        data.plan_hash,
        data.phrase,
        by=request.auth,
        break_glass=data.break_glass,
        skip_identity=_skip(data),
    )
    return Status(202, _present(request, started))


def _skip(data: schemas.ExecuteIn) -> tuple[str, str] | None:
    if not (data.identity_ground or data.identity_reason):
        return None
    return data.identity_ground or "", data.identity_reason


# ── Handling of a request ────────────────────────────────────────────────────
@router.post("/{case_id}/extend", response=schemas.CaseOut, operation_id="extend_case")
def extend(request: ApiRequest, case_id: str, data: schemas.ExtendIn) -> Answer:
    """Extend the deadline, once and before it runs out.

    Codes: `already_extended`, `deadline_passed`, `wrong_state`.
    """
    case = _case(request, case_id, data.version)
    extended = actions.extend(case, data.months, data.reason, by=request.auth)
    return _present(request, extended)


@router.post("/{case_id}/refuse", response=schemas.CaseOut, operation_id="refuse_case")
def refuse(request: ApiRequest, case_id: str, data: schemas.RefuseIn) -> Answer:
    """Refuse a request, with a reason that the person may read. Code: `wrong_state`."""
    case = _case(request, case_id, data.version)
    return _present(request, actions.refuse(case, data.reason, by=request.auth))


@router.post("/{case_id}/assign", response=schemas.CaseOut, operation_id="assign_case")
def assign(request: ApiRequest, case_id: str, data: schemas.AssignIn) -> Answer:
    """Assign a case. Code: `wrong_state`."""
    case = _case(request, case_id, data.version)
    return _present(request, actions.assign(case, data.assignee, by=request.auth))


@router.post(
    "/{case_id}/comments",
    response={201: schemas.CaseEventOut},
    operation_id="comment_case",
)
def comment(
    request: ApiRequest, case_id: str, data: schemas.CommentIn
) -> Status[Answer]:
    """Add a remark to the timeline of an open case. Code: `wrong_state`."""
    event = actions.comment(_case(request, case_id), data.text, by=request.auth)
    return Status(201, queries.event_json(event))


@router.post(
    "/{case_id}/attachments",
    response={201: schemas.CaseEventOut},
    operation_id="attach_to_case",
)
def attach(request: ApiRequest, case_id: str, data: schemas.AttachIn) -> Status[Answer]:
    """Note a document by its hash. Code: `wrong_state`."""
    case = _case(request, case_id)
    event = actions.attach(case, data.name, data.sha256, data.bytes, by=request.auth)
    return Status(201, queries.event_json(event))
