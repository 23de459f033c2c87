"""Access exports over the API: request a bundle, get its state, download it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import Field

from gdpr.api import present
from gdpr.api.case_schemas import PrivacyPageQuery
from gdpr.api.present import Answer
from gdpr.export import make as export
from gdpr.models import Export
from gdpr.subjects import registry as subjects
from memory.api.request import ApiRequest
from memory.journal import append as journal
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class AccessExportIn(Strict):
    """Whose data to export, and why."""

    subject_id: str = Field(max_length=320)
    reason: str = Field("", max_length=2_000)


class AccessExportOut(Schema):
    """One bundle; ``state`` is making, ready, failed or gone."""

    id: str
    subject_id: str
    case_id: str | None
    state: str
    error: str | None
    bytes: int
    sha256: str | None
    rows: int | None
    made_at: str
    made_by: str
    expires_at: str
    last_read_at: str | None


class AccessExportsQuery(PrivacyPageQuery):
    """Filter by subject, and which page."""

    subject_id: str = Field("", max_length=32)


class AccessExportsOut(Schema):
    """The newest bundles."""

    items: list[AccessExportOut]
    next_cursor: str | None


def export_line(row: Export) -> Answer:
    return {
        "id": row.id,
        "subject_id": row.subject_ref,
        "case_id": row.case_id,
        "state": row.state,
        "error": row.error or None,
        "bytes": row.bytes,
        "sha256": row.sha256 or None,
        "rows": row.counts.get("total"),
        "made_at": journal.stamp(row.made_at),
        "made_by": row.made_by,
        "expires_at": journal.stamp(row.expires_at),
        "last_read_at": present.stamp(row.last_read_at),
    }


def bundle_response(row: Export, pieces: Any) -> StreamingHttpResponse:
    """Return a bundle as a download that must not be cached."""
    answer = StreamingHttpResponse(pieces, content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{row.id}.zip"'
    answer["Content-Length"] = str(row.bytes)
    answer["Cache-Control"] = "no-store"
    return answer


@router.get("/exports", response=AccessExportsOut, operation_id="list_exports")
def list_exports(request: ApiRequest, query: Query[AccessExportsQuery]) -> Answer:
    """List bundles, newest first; compliance only."""
    page = export.page(
        request.auth, present.page_query(query), subject_ref=query.subject_id
    )
    return present.page_out(page, export_line)


@router.post("/exports", response={202: AccessExportOut}, operation_id="make_export")
def make_export(request: ApiRequest, data: AccessExportIn) -> Status[Answer]:
    """Request a bundle about a person; it is made in the background."""
    person = subjects.find(data.subject_id, by=request.auth)
    return Status(
        202, export_line(export.request(person, reason=data.reason, by=request.auth))
    )


@router.get("/exports/{export_id}", response=AccessExportOut, operation_id="get_export")
def get_export(request: ApiRequest, export_id: str) -> Answer:
    """Get the state of a bundle."""
    return export_line(export.get(export_id, by=request.auth))


@router.get(
    "/exports/{export_id}/download",
    operation_id="read_export",
    openapi_extra={
        "responses": {
            200: {
                "description": "The bundle, a zip",
                "content": {"application/zip": {"schema": {"type": "string"}}},
            }
        }
    },
)
def read_export(request: ApiRequest, export_id: str) -> HttpResponseBase:
    """Download a bundle as a zip; the audit log records it."""
    row = export.get(export_id, by=request.auth)
    return bundle_response(row, export.read(row, by=request.auth))


@router.delete(
    "/exports/{export_id}", response={204: None}, operation_id="remove_export"
)
def remove_export(request: ApiRequest, export_id: str) -> Status[None]:
    """Delete a bundle before it expires."""
    export.remove(export.get(export_id, by=request.auth), by=request.auth)
    return Status(204, None)
