"""Pages of reports: the month, the register, the record of processing, the calendar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from gdpr.api.reports import file_response
from gdpr.models import CaseKind
from gdpr.processing import controller
from gdpr.processing import record as processing
from gdpr.reports import audit_export, calendar_feed, month, register
from gdpr.reports.month import Figures
from gdpr.web.report_forms import ControllerForm, PeriodForm, PurposeForm
from memory.rules import bulk, csv_lines, errors
from memory.web import pages
from memory.web.bulk_page import Report

PAGE: Final = 200
CONFIRMED_WORDS: Final = (
    gettext_noop("{count} purpose confirmed, and written into the journal"),
    gettext_noop("{count} purposes confirmed, and written into the journal"),
)


def csv_response(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    """Return lines of CSV as a file that no cache keeps."""
    answer = StreamingHttpResponse(lines, content_type=csv_lines.CONTENT_TYPE)
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    answer["Cache-Control"] = "no-store"
    return answer


def installation(request: HttpRequest) -> str:
    """Return the address of the installation, as people reach it."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


# ── The month ────────────────────────────────────────────────────────────────
@never_cache
@require_GET
def month_page(request: HttpRequest) -> HttpResponse:
    """Show the numbers of a month beside the one before."""
    actor = pages.actor(request)
    fault = ""
    try:
        report = month.of(actor, request.GET.get("month", ""))
    except errors.Invalid as error:
        report, fault = month.of(actor), error.detail
    now, before = report.figures, report.previous
    context = {
        "report": report,
        "now": now,
        "before": before,
        "kinds": _kinds(now, before),
        "why": [(gettext(month.WHY[name]), count) for name, count in now.why.items()],
        "overdue": [(row, gettext(month.WHY[row.why])) for row in now.overdue],
        "fault": fault,
    }
    status = 422 if fault else 200
    return render(request, "gdpr/month.html", context, status=status)


def _kinds(now: Figures, before: Figures) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return each kind with received, answered, open: this month and the one before."""
    groups = [
        (now.received, before.received),
        (now.answered, before.answered),
        (now.open_at_end, before.open_at_end),
    ]
    return [
        (
            str(label),
            [(current[kind], last[kind]) for current, last in groups],
        )
        for kind, label in CaseKind.choices
    ]


@never_cache
@require_GET
def month_csv(request: HttpRequest) -> HttpResponseBase:
    """Download the numbers of a month as CSV, in English."""
    report = month.of(pages.actor(request), request.GET.get("month", ""))
    lines = list(csv_lines.lines(month.COLUMNS, month.rows(report)))
    return csv_response(lines, f"requests-{report.month}")


# ── The register and the audit log ───────────────────────────────────────────
@never_cache
@require_GET
def register_page(request: HttpRequest) -> HttpResponse:
    """Show the requests of a period, without names, for an authority."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    form = PeriodForm(request.GET, auto_id="f-%s")
    try:
        period, _ = register.period_of(actor, form.day("since"), form.day("until"))
    except errors.Invalid as error:
        form.add_error("until", error.detail)
        period, _ = register.period_of(actor, None, None)
    if not form.errors:
        days = {"since": period.first, "until": period.last}
        form = PeriodForm(initial=days, auto_id="f-%s")
    cursor = request.GET.get("cursor") or None
    page = register.page(actor, period, limit=PAGE, cursor=cursor)
    cases = {case.pk: case for case in page.items}
    lines = [(row, cases[row.case_id]) for row in register.lines(actor, page.items)]
    context = {
        "form": form,
        "period": period,
        "lines": lines,
        "next_cursor": page.next_cursor,
    }
    status = 422 if form.errors else 200
    return render(request, "gdpr/register.html", context, status=status)


@require_POST
def register_csv(request: HttpRequest) -> HttpResponseBase:
    """Download the whole register of a period; the journal records it."""
    actor = pages.actor(request)
    form = PeriodForm(request.POST)
    period, _ = register.period_of(actor, form.day("since"), form.day("until"))
    lines = register.csv(actor, period)
    return csv_response(lines, f"requests-{period.first}-{period.last}")


@require_POST
def audit_log_file(request: HttpRequest) -> HttpResponseBase:
    """Download the sealed audit log of a period; the journal records it."""
    actor = pages.actor(request)
    form = PeriodForm(request.POST)
    period, _ = register.period_of(actor, form.day("since"), form.day("until"))
    return file_response(audit_export.make(actor, period))


# ── The record of processing ─────────────────────────────────────────────────
@never_cache
@require_GET
def processing_page(request: HttpRequest) -> HttpResponse:
    """Show the record of processing activities (Article 30)."""
    return _processing(request)


def _processing(
    request: HttpRequest,
    *,
    form: PurposeForm | None = None,
    place: str = "",
    answering: ControllerForm | None = None,
    report: Report | None = None,
    status: int = 200,
) -> HttpResponse:
    actor = pages.actor(request)
    record = processing.of(actor)
    lines = []
    for row in record.activities:
        first = {"purpose": row.purpose, "legal_basis": row.legal_basis}
        own = PurposeForm(initial=first, auto_id=f"{row.place}-%s")
        is_faulty = form is not None and row.place == place
        pick = "" if row.confirmed_by else f"{row.place}:{processing.wording(row)}"
        lines.append((row, form if is_faulty else own, is_faulty, pick))
    answering = answering or ControllerForm(initial=vars_of(record.controller))
    context = {
        "record": record,
        "lines": lines,
        "answering": answering,
        "report": report,
    }
    return render(request, "gdpr/processing.html", context, status=status)


def vars_of(row: controller.Controller) -> dict[str, str]:
    """Return who answers as the first values of the form."""
    return {name: getattr(row, name) for name in ControllerForm.base_fields}


@require_POST
def confirm_processing(request: HttpRequest, place: str) -> HttpResponse:
    """Confirm purpose and legal basis of a place, with these words."""
    actor = pages.actor(request)
    actor.require("gdpr.manage")
    form = PurposeForm(request.POST, auto_id=f"{place}-%s")
    _, status = pages.submit(
        form, lambda fields: processing.confirm(actor, place, **fields)
    )
    if status != 200:
        return _processing(request, form=form, place=place, status=status)
    messages.success(request, gettext("Confirmed, and written into the journal"))
    return redirect(f"{pages.address('privacy:processing')}#{place}")


@never_cache
@require_http_methods(pages.METHODS)
def confirm_many_purposes(request: HttpRequest) -> HttpResponse:
    """Confirm the ticked purposes as they are proposed."""
    if request.method != "POST":
        return redirect("privacy:processing")
    actor = pages.actor(request)
    picks = bulk.parse(request.POST.getlist("items"))
    try:
        items = processing.confirm_proposed(actor, picks)
    except errors.Invalid as error:
        messages.error(request, error.detail)
        return _processing(request, status=error.status)
    report = Report(
        items=items, words=CONFIRMED_WORDS, action=pages.address("privacy:processing")
    )
    return _processing(request, report=report)


@require_POST
def change_controller(request: HttpRequest) -> HttpResponse:
    """Change who answers for the processing; an admin's act."""
    actor = pages.actor(request)
    actor.require("gdpr.settings")
    form = ControllerForm(request.POST)
    _, status = pages.submit(form, lambda fields: controller.change(fields, by=actor))
    if status != 200:
        return _processing(request, answering=form, status=status)
    messages.success(request, gettext("Kept, and written into the journal"))
    return redirect("privacy:processing")


@never_cache
@require_GET
def processing_csv(request: HttpRequest) -> HttpResponseBase:
    """Download the record as CSV; the program's own words are in English."""
    with translation.override(settings.LANGUAGE_CODE):
        lines = list(processing.csv(processing.of(pages.actor(request))))
    return csv_response(lines, "processing")


# ── The calendar ─────────────────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def calendar_page(request: HttpRequest) -> HttpResponse:
    """Show whether the person has an address, make one (shown once), or revoke it."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    context: dict[str, Any] = {"address": ""}
    if request.method == "POST" and "revoke" in request.POST:
        if calendar_feed.revoke(actor):
            messages.success(request, gettext("Revoked: the address gives nothing now"))
        return redirect("privacy:calendar")
    if request.method == "POST":
        path = pages.address("privacy:calendar_feed", calendar_feed.renew(actor))
        context["address"] = installation(request) + path
    context["feed"] = calendar_feed.of(actor)
    return render(request, "gdpr/calendar.html", context)


@login_not_required
@never_cache
@require_safe
def feed(request: HttpRequest, token: str) -> HttpResponse:
    """Return the deadlines of the address's owner to a calendar program."""
    body = calendar_feed.read(token, installation(request))
    answer = HttpResponse(body, content_type=calendar_feed.CONTENT_TYPE)
    answer["Content-Disposition"] = 'inline; filename="cases.ics"'
    answer["X-Robots-Tag"] = "noindex"
    return answer
