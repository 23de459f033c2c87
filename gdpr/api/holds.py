"""Holds, the audit log and the privacy settings over the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ninja import Query, Router, Status

from gdpr import audit_log
from gdpr.api import case_schemas as schemas
from gdpr.api import settings_schemas
from gdpr.audit_log import AuditLogQuery
from gdpr.cases import legal_holds, privacy_settings, second_person
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.privacy_settings import Change
from gdpr.data_map import registry
from gdpr.models import GdprAction, Hold
from gdpr.pagination import Page
from gdpr.subjects import registry as subjects
from memory.api.request import ApiRequest
from memory.rules import errors

router = Router(tags=["personal data"])
PLACES = frozenset(holder.name for holder in registry.ALL)
OF_SUBJECT = "/subjects/{subject_id}/holds"


# ── Holds ────────────────────────────────────────────────────────────────────
@router.get("/holds", response=schemas.LegalHoldsOut, operation_id="list_holds")
def list_holds(request: ApiRequest, query: Query[schemas.HoldsQuery]) -> Page[Hold]:
    """List the workspace's holds, the one to review next first."""
    return legal_holds.page(request.auth, query.page(), state=query.state or "")


@router.get(
    OF_SUBJECT, response=schemas.LegalHoldsOut, operation_id="list_subject_holds"
)
def of_subject(
    request: ApiRequest, subject_id: str, query: Query[schemas.PrivacyPageQuery]
) -> Page[Hold]:
    """List a person's holds, those in force first."""
    person = subjects.get(request.auth, subject_id)
    return legal_holds.page(request.auth, query.page(), subject_id=person.pk)


@router.post(
    OF_SUBJECT, response={201: schemas.LegalHoldOut}, operation_id="place_hold"
)
def place(request: ApiRequest, subject_id: str, data: schemas.HoldIn) -> Status[Hold]:
    """Place a hold: what it covers is not erased until it is released.

    Codes: `bad_scope`, `review_in_past`, `reason_required`.
    """
    person = subjects.get(request.auth, subject_id)
    new = NewHold(**data.model_dump())
    row = legal_holds.place(person, new, by=request.auth, places=PLACES)
    return Status(201, row)


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
) -> Hold:
    """Release a hold; cases that only it stopped go on. Code: `hold_released`."""
    row = legal_holds.hold(request.auth, hold_id)
    if row.subject_id != subject_id:
        raise errors.NotFound
    reason = (data or schemas.ReleaseIn()).reason
    return legal_holds.release(row, reason, by=request.auth)


# ── Audit log ───────────────────────────────────────────────────────────────────
@router.get("/actions", response=schemas.ActionsOut, operation_id="list_gdpr_actions")
def actions(
    request: ApiRequest, query: Query[schemas.ActionsQuery]
) -> Page[GdprAction]:
    """List what was done with people's data, the newest first."""
    filters = AuditLogQuery(**query.filters())
    return audit_log.list_actions(
        request.auth, filters, limit=query.limit, cursor=query.cursor
    )


# ── Settings ─────────────────────────────────────────────────────────────────
@router.get(
    "/settings", response=settings_schemas.PrivacyOut, operation_id="privacy_settings"
)
def settings(request: ApiRequest) -> dict[str, Any]:
    """Get how the workspace handles requests."""
    request.auth.require("gdpr.read")
    return _present(request)


def _present(request: ApiRequest) -> dict[str, Any]:
    workspace_id = request.auth.workspace_id
    return asdict(privacy_settings.of(workspace_id)) | {
        "switched_off": privacy_settings.switched_off(workspace_id),
        "officers": second_person.officer_count(workspace_id),
    }


@router.patch(
    "/settings",
    response=settings_schemas.PrivacyOut,
    operation_id="change_privacy_settings",
)
def change(request: ApiRequest, data: settings_schemas.PrivacyIn) -> dict[str, Any]:
    """Change how the workspace handles requests, for an admin.

    Switching the second person or the identity check off needs a `reason`, which the
    audit log keeps. Codes: `reason_required`, `bad_time_zone`, `bad_export_days`,
    `bad_backup_days`, `bad_letter_days`.
    """
    privacy_settings.change(Change(**data.model_dump()), by=request.auth)
    return _present(request)
