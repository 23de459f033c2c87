"""Access exports over the API: request a bundle, get its state, download it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import Field

from gdpr.api.case_schemas import PrivacyPageQuery
from gdpr.export import make as export
from gdpr.export import review
from gdpr.models import Export
from gdpr.pagination import Page
from gdpr.subjects import registry as subjects
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, TextOrNull
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class AccessExportIn(Strict):
    """Whose data to export, and why."""

    subject_id: str = Field(max_length=320)
    reason: str = Field("", max_length=2_000)


class AccessExportOut(Schema):
    """One bundle; ``state`` is making, review, ready, failed or gone.

    In the state review it waits for a decision on ``waiting`` words that may name other
    people. ``covered`` counts by kind how often somebody else was covered in it.
    """

    id: str
    subject_id: str = Field(validation_alias="subject_ref")
    case_id: str | None
    state: str
    error: TextOrNull
    bytes: int
    sha256: TextOrNull
    rows: int | None
    waiting: int
    covered: dict[str, int] | None
    made_at: Stamp
    made_by: str
    expires_at: Stamp
    last_read_at: Stamp | None

    @staticmethod
    def resolve_rows(row: Export) -> int | None:
        total: int | None = row.counts.get("total")
        return total

    @staticmethod
    def resolve_waiting(row: Export) -> int:
        return review.waiting(row)

    @staticmethod
    def resolve_covered(row: Export) -> dict[str, int] | None:
        facts: dict[str, Any] = row.counts.get("other_people") or {}
        return facts.get("covered")


class AccessExportsQuery(PrivacyPageQuery):
    """Filter by subject, and which page."""

    subject_id: str = Field("", max_length=32)


class AccessExportsOut(Schema):
    """The newest bundles."""

    items: list[AccessExportOut]
    next_cursor: str | None


def bundle_response(row: Export, pieces: Any) -> StreamingHttpResponse:
    """Return a bundle as a download that must not be cached."""
    answer = StreamingHttpResponse(pieces, content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{row.id}.zip"'
    answer["Content-Length"] = str(row.bytes)
    answer["Cache-Control"] = "no-store"
    return answer


@router.get("/exports", response=AccessExportsOut, operation_id="list_exports")
def list_exports(request: ApiRequest, query: Query[AccessExportsQuery]) -> Page[Export]:
    """List bundles, newest first; compliance only."""
    return export.page(request.auth, query.page(), subject_ref=query.subject_id)


@router.post("/exports", response={202: AccessExportOut}, operation_id="make_export")
def make_export(request: ApiRequest, data: AccessExportIn) -> Status[Export]:
    """Request a bundle about a person; it is made in the background."""
    person = subjects.find(data.subject_id, by=request.auth)
    return Status(202, export.request(person, reason=data.reason, by=request.auth))


@router.get("/exports/{export_id}", response=AccessExportOut, operation_id="get_export")
def get_export(request: ApiRequest, export_id: str) -> Export:
    """Get the state of a bundle."""
    return export.get(export_id, by=request.auth)


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
