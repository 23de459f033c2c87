"""The views of the records' pages: list, many at once, detail, edit, forget."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memory import records
from memory.accounts import saved_views
from memory.models import Record, ViewPage
from memory.records import Provenance
from memory.records import bulk as records_bulk
from memory.rules import bulk, errors
from memory.web import pages, records_page
from memory.web.bulk_page import Report
from memory.web.records_forms import EditForm, RecordFilterForm, SupersedeForm

PAGE: Final = 40
ALL_STATUSES: Final = ("current", "superseded", "forgotten")


def _list_page(
    request: HttpRequest,
    *,
    report: Report | None = None,
    refusal: errors.AppError | None = None,
) -> HttpResponse:
    """Render the records that match, newest first."""
    actor = pages.actor(request)
    form = RecordFilterForm(request.GET, by=actor)
    filters = form.record_filter()
    context: dict[str, Any] = {
        "form": form,
        "lines": [],
        "next_cursor": None,
        "report": report,
        "refusal": refusal,
        "reason": request.POST.get("reason", "") if refusal else "",
    }
    context["saved"] = saved_views.saved(actor, ViewPage.RECORDS)
    context["query"] = form.set_filters(request.GET)
    if filters is not None:
        cursor = request.GET.get("cursor") or None
        page = records.page(filters, limit=PAGE, cursor=cursor, by=actor)
        context["lines"] = [records_page.line(row) for row in page.rows]
        context["next_cursor"] = page.next_cursor
        context["total"] = records.count(filters, by=actor)
    status = refusal.status if refusal else 200 if filters is not None else 422
    return render(request, "memory/records.html", context, status=status)


@never_cache
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """Show the records that match, newest first."""
    pages.actor(request).require("records.read")
    return _list_page(request)


@never_cache
@require_http_methods(pages.METHODS)
def many(request: HttpRequest) -> HttpResponse:
    """Act on the ticked records, or undo that; show the result of each."""
    if request.method != "POST":
        return redirect(pages.address("records:list", query=request.GET.urlencode()))
    actor = pages.actor(request)
    actor.require("records.write")
    picks = bulk.parse(request.POST.getlist("items"))
    act, reason = request.POST.get("act", ""), request.POST.get("reason", "")
    query = request.GET.urlencode()
    try:
        if act == "forget" and "sure" not in request.POST:
            confirm = records_page.confirm_forget(actor, picks, reason, query)
            return render(request, "confirm_many.html", {"confirm": confirm})
        if "undo" in request.POST:
            act, items = "undo", records_bulk.undo_expiry(actor, picks)
        elif act in records_page.ACTS:
            items = records_page.ACTS[act].service(actor, picks, reason=reason)
        else:
            raise errors.Invalid(gettext("Choose what happens to the ticked records."))
    except errors.Invalid as error:
        return _list_page(request, refusal=error)
    return _list_page(request, report=records_page.report(act, items, query))


# ── One record ───────────────────────────────────────────────────────────────
def _record(request: HttpRequest, record_id: str) -> Record:
    by = pages.actor(request)
    return records.get(record_id, owner=None, by=by, statuses=ALL_STATUSES)


def _edit_form(row: Record) -> EditForm:
    due = row.expires_at.strftime("%Y-%m-%dT%H:%MZ") if row.expires_at else ""
    first = {
        "content": row.content,
        "kind": row.kind,
        "confidence": row.confidence,
        "expires_at": due,
        "version": row.version,
    }
    return EditForm(initial=first, auto_id="edit-%s")


def _record_page(
    request: HttpRequest,
    row: Record,
    *,
    edit: EditForm | None = None,
    supersede: SupersedeForm | None = None,
    refusal: errors.AppError | None = None,
) -> HttpResponse:
    """Render a record; an error keeps what was typed."""
    fault = edit is not None or supersede is not None
    context = {
        "detail": records_page.detail(pages.actor(request), row),
        "edit": edit or _edit_form(row),
        "supersede": supersede or SupersedeForm(auto_id="next-%s"),
        "editing": edit is not None,
        "superseding": supersede is not None,
        "refusal": refusal,
    }
    status = refusal.status if refusal else (422 if fault else 200)
    return render(request, "memory/record.html", context, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, record_id: str) -> HttpResponse:
    """Show a record with its origin and its versions."""
    return _record_page(request, _record(request, record_id))


@require_POST
def edit(request: HttpRequest, record_id: str) -> HttpResponse:
    """Save the next version, curated by the actor."""
    actor, row = pages.actor(request), _record(request, record_id)
    actor.require("records.write")
    form = EditForm(request.POST, auto_id="edit-%s")
    if not form.is_valid():
        return _record_page(request, row, edit=form)
    try:
        amended = records.amend(
            row,
            form.amendment(),
            provenance=Provenance.OPERATOR_CURATED,
            expected=form.cleaned_data["version"],
            reason=form.cleaned_data["reason"].strip(),
            by=actor,
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _record_page(
            request, _record(request, record_id), edit=form, refusal=error
        )
    if amended.version == row.version:
        messages.info(
            request, gettext("Nothing was changed, so there is no new version")
        )
    else:
        message = gettext("Version {number} is current now")
        messages.success(request, message.format(number=amended.version))
    return redirect("records:detail", record_id)


@require_POST
def supersede(request: HttpRequest, record_id: str) -> HttpResponse:
    """Save a statement that replaces the record."""
    actor, row = pages.actor(request), _record(request, record_id)
    actor.require("records.write")
    form = SupersedeForm(request.POST, auto_id="next-%s")
    if not form.is_valid():
        return _record_page(request, row, supersede=form)
    content = form.cleaned_data["content"].replace("\r\n", "\n")
    try:
        result = records.supersede(
            [row],
            records.draft_of(row, content),
            provenance=Provenance.OPERATOR_CURATED,
            reason=form.cleaned_data["reason"].strip(),
            by=actor,
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        now = _record(request, record_id)
        return _record_page(request, now, supersede=form, refusal=error)
    messages.success(
        request,
        gettext("This record is current now; the one before stays in the history"),
    )
    return redirect("records:detail", result.record.id)


@require_POST
def forget(request: HttpRequest, record_id: str) -> HttpResponse:
    """Forget a record; a reason is required."""
    actor, row = pages.actor(request), _record(request, record_id)
    reason = request.POST.get("reason", "").strip()
    if not reason:
        refusal = errors.Invalid(gettext("Say why it is forgotten."), code="no_reason")
        return _record_page(request, row, refusal=refusal)
    try:
        is_forgotten = records.forget(row, reason=reason, by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _record_page(request, row, refusal=error)
    if is_forgotten:
        messages.success(
            request, gettext("Forgotten: its text is erased from record and journal")
        )
    return redirect("records:detail", record_id)
