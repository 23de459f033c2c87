"""Holds, the audit log and the privacy settings over the API."""

from __future__ import annotations

from dataclasses import asdict

from ninja import Query, Router, Status

from gdpr import audit_log
from gdpr.api import case_schemas as schemas
from gdpr.api import present
from gdpr.api.present import Answer
from gdpr.audit_log import AuditLogQuery
from gdpr.cases import legal_holds, privacy_settings
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.privacy_settings import Change, PrivacySettings
from gdpr.data_map import registry
from gdpr.models import Hold
from gdpr.subjects import registry as subjects
from memory.api.request import ApiRequest
from memory.journal import append as journal
from memory.rules import errors

router = Router(tags=["personal data"])
PLACES = frozenset(holder.name for holder in registry.ALL)
OF_SUBJECT = "/subjects/{subject_id}/holds"


def hold_line(row: Hold) -> Answer:
    return {
        "id": row.pk,
        "subject_id": row.subject_id,
        "scope": row.scope,
        "ground": row.ground or None,
        "reason": row.reason,
        "owner": row.owner,
        "review_at": journal.stamp(row.review_at),
        "placed_at": journal.stamp(row.placed_at),
        "placed_by": row.placed_by,
        "released_at": present.stamp(row.released_at),
        "released_by": row.released_by or None,
        "release_reason": row.release_reason or None,
    }


# ── Holds ────────────────────────────────────────────────────────────────────
@router.get("/holds", response=schemas.LegalHoldsOut, operation_id="list_holds")
def list_holds(request: ApiRequest, query: Query[schemas.HoldsQuery]) -> Answer:
    """List the workspace's holds, the one to review next first."""
    page = legal_holds.page(
        request.auth, present.page_query(query), state=query.state or ""
    )
    return present.page_out(page, hold_line)


@router.get(
    OF_SUBJECT, response=schemas.LegalHoldsOut, operation_id="list_subject_holds"
)
def of_subject(
    request: ApiRequest, subject_id: str, query: Query[schemas.PrivacyPageQuery]
) -> Answer:
    """List a person's holds, those in force first."""
    person = subjects.get(request.auth, subject_id)
    page = legal_holds.page(
        request.auth, present.page_query(query), subject_id=person.pk
    )
    return present.page_out(page, hold_line)


@router.post(
    OF_SUBJECT, response={201: schemas.LegalHoldOut}, operation_id="place_hold"
)
def place(request: ApiRequest, subject_id: str, data: schemas.HoldIn) -> Status[Answer]:
    """Place a hold: what it covers is not erased until it is released.

    Codes: `bad_scope`, `review_in_past`, `reason_required`.
    """
    person = subjects.get(request.auth, subject_id)
    new = NewHold(**data.model_dump())
    row = legal_holds.place(person, new, by=request.auth, places=PLACES)
    return Status(201, hold_line(row))


@router.delete(
    OF_SUBJECT + "/{hold_id}",
    response=schemas.LegalHoldOut,
    operation_id="release_hold",
)
def release(
    request: ApiRequest,
    subject_id: str,
    hold_id: str,
    data: schemas.ReleaseIn | None = None,
) -> Answer:
    """Release a hold; cases that only it stopped go on. Code: `hold_released`."""
    row = legal_holds.hold(request.auth, hold_id)
    if row.subject_id != subject_id:
        raise errors.NotFound
    reason = (data or schemas.ReleaseIn()).reason
    return hold_line(legal_holds.release(row, reason, by=request.auth))


# ── Audit log ───────────────────────────────────────────────────────────────────
@router.get("/actions", response=schemas.ActionsOut, operation_id="list_gdpr_actions")
def actions(request: ApiRequest, query: Query[schemas.ActionsQuery]) -> Answer:
    """List what was done with people's data, the newest first."""
    filters = AuditLogQuery(
        subject_id=query.subject_id,
        case_id=query.case_id,
        action=query.action or "",
        status=query.status or "",
    )
    page = audit_log.list_actions(
        request.auth, filters, limit=query.limit, cursor=query.cursor
    )
    return present.page_out(page, audit_log.action_line)


# ── Settings ─────────────────────────────────────────────────────────────────
def _settings(rules: PrivacySettings) -> Answer:
    return {
        **{name: getattr(rules, name) for name in asdict(Change())},
        "updated_at": present.stamp(rules.updated_at),
        "updated_by": rules.updated_by or None,
    }


@router.get("/settings", response=schemas.PrivacyOut, operation_id="privacy_settings")
def settings(request: ApiRequest) -> Answer:
    """Get how the workspace handles requests."""
    request.auth.require("gdpr.read")
    return _settings(privacy_settings.of(request.auth.workspace_id))


@router.patch(
    "/settings", response=schemas.PrivacyOut, operation_id="change_privacy_settings"
)
def change(request: ApiRequest, data: schemas.PrivacyIn) -> Answer:
    """Change how the workspace handles requests, for an admin.

    Codes: `bad_time_zone`, `bad_export_days`, `bad_backup_days`.
    """
    return _settings(
        privacy_settings.change(Change(**data.model_dump()), by=request.auth)
    )
