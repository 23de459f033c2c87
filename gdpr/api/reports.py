"""Reports over the API: the month, the register, the record, the sealed audit log."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse
from django.http.response import HttpResponseBase
from ninja import Query, Router

from gdpr.api import report_schemas as schemas
from gdpr.processing import record as processing
from gdpr.reports import audit_export, month, register
from gdpr.reports.audit_export import AuditExport
from gdpr.reports.month import Report
from memory.api.request import ApiRequest

router = Router(tags=["personal data"])


@router.get(
    "/reports/month",
    response=schemas.MonthReportOut,
    operation_id="month_report",
    url_name="month_report",
)
def of_month(request: ApiRequest, query: Query[schemas.MonthQuery]) -> Report:
    """Get the report of a month beside the one before. Code: `bad_month`."""
    return month.of(request.auth, query.month)


@router.get(
    "/reports/register", response=schemas.RegisterOut, operation_id="request_register"
)
def of_requests(
    request: ApiRequest, query: Query[schemas.PeriodQuery]
) -> dict[str, Any]:
    """List the requests of a period for an authority. Code: `bad_period`.

    Without a name: reasons are people's words, in which registered names are masked.
    """
    period, _ = register.period_of(request.auth, query.since, query.until)
    page = register.page(request.auth, period, limit=query.limit, cursor=query.cursor)
    return {
        "since": period.first,
        "until": period.last,
        "items": [line.as_json() for line in register.lines(request.auth, page.items)],
        "next_cursor": page.next_cursor,
    }


@router.get(
    "/reports/processing",
    response=schemas.ProcessingRecordOut,
    operation_id="processing_record",
    url_name="processing_record",
)
def record(request: ApiRequest) -> dict[str, Any]:
    """Get the record of processing activities (Article 30), place by place."""
    return processing.as_json(processing.of(request.auth))


@router.put(
    "/reports/processing/{place}",
    response=schemas.ProcessingRecordOut,
    operation_id="confirm_processing",
)
def confirm(request: ApiRequest, place: str, data: schemas.PurposeIn) -> dict[str, Any]:
    """Confirm purpose and legal basis of a place; the journal has both wordings.

    Codes: `purpose_required`, `legal_basis_required`.
    """
    processing.confirm(request.auth, place, data.purpose, data.legal_basis)
    return processing.as_json(processing.of(request.auth))


def file_response(export: AuditExport) -> FileResponse:
    """Return a sealed audit log as a file, which the response closes."""
    answer = FileResponse(
        export.file,
        as_attachment=True,
        filename=export.name,
        content_type=audit_export.CONTENT_TYPE,
    )
    answer["Cache-Control"] = "no-store"
    return answer


@router.post("/actions/export", operation_id="export_gdpr_actions")
def export_actions(request: ApiRequest, data: schemas.PeriodIn) -> HttpResponseBase:
    """Get the audit log of a period as JSON lines, the last one a signed manifest.

    Each line names the SHA-256 of the one before it; `manage.py gdpr_audit_verify`
    checks a file. Code: `bad_period`.
    """
    period, _ = register.period_of(request.auth, data.since, data.until)
    return file_response(audit_export.make(request.auth, period))
