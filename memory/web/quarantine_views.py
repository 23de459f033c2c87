"""The views of the quarantine's pages: list, case, decisions, rescan."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, push_url

from memory.files import scanner_words
from memory.jobs import work
from memory.models import HeldFile
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import highlight, rescan_job
from memory.review import queue as review_queue
from memory.review import rescan as review_rescan
from memory.review.rescan import Rescan
from memory.rules import bulk, errors
from memory.rules.permissions import Actor
from memory.web import pages, quarantine_page
from memory.web.bulk_page import Report
from memory.web.quarantine_forms import DecisionForm
from memory.web.quarantine_page import (
    BulkForm,
    InboxPage,
    build,
    filter_query,
    state_of,
)

TEMPLATE = "memory/quarantine.html"
DECISION_WORDS: Final = (
    gettext_noop("{count} text decided"),
    gettext_noop("{count} texts decided"),
)
UNDO_WORDS: Final = (
    gettext_noop("{count} text waits again"),
    gettext_noop("{count} texts wait again"),
)


def _page(
    request: HttpRequest,
    case: HeldFile | None = None,
    *,
    error: errors.AppError | None = None,
    form: DecisionForm | None = None,
    rescan_result: Rescan | None = None,
) -> HttpResponse:
    """Render the list with one case open; an error keeps what was typed."""
    actor = pages.actor(request)
    fault = error.detail if error else ""
    status = error.status if error else 422 if form is not None else 200
    page = build(actor, request.GET, case, fault=fault, decision=form)
    return _rendered(request, page, status, rescan_result)


def _rendered(
    request: HttpRequest,
    page: InboxPage,
    status: int = 200,
    rescan_result: Rescan | None = None,
) -> HttpResponse:
    context = {"page": page, "rescanned": rescan_result, "conflict": status == 409}
    name = f"{TEMPLATE}{pages.target_fragment(request, 'review')}"
    response = render(request, name, context, status=status)
    if request.method == "POST":
        # The URL of a POST must not enter the browser history.
        push_url(response, False)  # noqa: FBT003  (the header's value)
    return response


def _to(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect to a whole page."""
    if getattr(request, "htmx", None) and not request.htmx.target:  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(url)
    return redirect(url)


@never_cache
@require_GET
def inbox_page(request: HttpRequest) -> HttpResponse:
    """Show the queue with its first text open."""
    pages.actor(request).require("quarantine.read")
    return _page(request)


@never_cache
@require_GET
def case(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show one held text next to its list; the view is recorded."""
    return _page(request, review_queue.held_file(pages.actor(request), held_id))


# ── Deciding ─────────────────────────────────────────────────────────────────
@require_POST
def decide(request: HttpRequest, held_id: str) -> HttpResponse:
    """Carry out a decision and open the next text; errors are shown on the case."""
    actor = pages.actor(request)
    case = review_queue.held_file(actor, held_id)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _page(request, case, form=form)
    following = _next(actor, request, case)
    try:
        review.decide(
            case,
            form.selected_decision,
            version=form.cleaned_data["version"] or 0,
            reason=form.cleaned_data["why"],
            by=actor,
            redactions=form.redactions,
            preview_sha256=form.preview_digest,
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _page(
            request, review_queue.held_file(actor, held_id), error=error, form=form
        )
    query = filter_query(request.GET, state_of(request.GET, case))
    name, args = ("case", (following,)) if following else ("inbox", ())
    url = pages.address(f"quarantine:{name}", *args, query=query, done=case.id)
    return _to(request, url)


def _fresh(actor: Actor, case: HeldFile) -> HeldFile:
    return review_queue.held_file(actor, case.id)


def _next(actor: Actor, request: HttpRequest, case: HeldFile) -> str:
    """Return the id of the case after this one in the reviewer's list."""
    page = quarantine_page.listing(actor, request.GET, case)
    before, after = quarantine_page.neighbours(page, case)
    return after or before


@require_POST
def claim(request: HttpRequest, held_id: str) -> HttpResponse:
    """Claim a case for the reviewer."""
    actor = pages.actor(request)
    case = review_queue.held_file(actor, held_id)
    try:
        review.claim(case, by=actor)
    except review.AlreadyDecided as error:
        return _page(request, _fresh(actor, case), error=error)
    query = filter_query(request.GET, state_of(request.GET, case))
    return _to(request, pages.address("quarantine:case", case.id, query=query))


@require_POST
def undo(request: HttpRequest, held_id: str) -> HttpResponse:
    """Undo a decision and open the case."""
    actor = pages.actor(request)
    case = review_queue.held_file(actor, held_id)
    try:
        review.undo(case, by=actor)
    except errors.Conflict as error:
        return _page(request, _fresh(actor, case), error=error)
    url = pages.address("quarantine:case", case.id, state="held", done=case.id)
    return _to(request, url)


@require_GET
def redaction(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show what an agent would read after redacting the selected spans."""
    case = review_queue.held_file(pages.actor(request), held_id)
    form = DecisionForm(request.GET)
    form.is_valid()
    context: dict[str, Any] = {"redacted": None, "fault": ""}
    if form.redactions:
        try:
            context["redacted"] = review_detail.redaction(case, form.redactions)
        except errors.AppError as error:
            context["fault"] = error.detail
    return render(request, "memory/_redaction.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def similar(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show texts that are nearly the same; a POST decides the selected ones."""
    actor = pages.actor(request)
    case = review_queue.held_file(actor, held_id)
    form = DecisionForm(request.POST or None)
    cases = [case, *review_queue.similar_cases(actor, case)]
    context: dict[str, Any] = {"held": case, "form": form, "report": None, "fault": ""}
    status = 200
    if request.method == "POST":
        try:
            url = pages.address("quarantine:alike", case.id)
            context["report"] = _carry_out(request, actor, form, url)
        except errors.Invalid as error:
            context["fault"], status = error.detail, error.status
    if "undo" in request.POST:
        # They wait again, so they are listed again.
        cases = [case, *review_queue.similar_cases(actor, case)]
    context |= {
        "lines": [review_detail.line(row) for row in review_queue.fresh(actor, cases)],
        "buttons": quarantine_page.BUTTON_ROWS,
        "title": review_detail.title(highlight.notes(case.findings)),
        "query": filter_query(request.GET, "held"),
    }
    return render(request, "memory/quarantine_alike.html", context, status=status)


@require_http_methods(pages.METHODS)
def many(request: HttpRequest) -> HttpResponse:
    """Decide the ticked texts of the list, or undo that; show the result of each.

    The list is shown without an open text: opening one is recorded as reading it.
    """
    query = filter_query(request.GET, state_of(request.GET, None))
    if request.method != "POST":
        return redirect(pages.address("quarantine:inbox", query=query))
    url = pages.address("quarantine:many", query=query)
    actor, form = pages.actor(request), DecisionForm(request.POST)
    try:
        report = _carry_out(request, actor, form, url)
    except errors.Invalid as error:
        page = build(actor, request.GET, is_list=True)
        bulk_form = BulkForm.of(request.POST, error.detail)
        return _rendered(request, replace(page, bulk=bulk_form), error.status)
    page = build(actor, request.GET, is_list=True)
    return _rendered(request, replace(page, report=report))


def _carry_out(
    request: HttpRequest, actor: Actor, form: DecisionForm, url: str
) -> Report:
    """Decide the ticked texts, or undo the decisions just reported."""
    picks = bulk.parse(request.POST.getlist("items"))
    is_undo = "undo" in request.POST
    if is_undo:
        items = review_queue.undo_many(actor, picks)
    elif form.is_valid():
        items = review_queue.decide_many(
            actor, picks, form.selected_decision, reason=form.cleaned_data["why"]
        )
    else:
        faults = [str(text) for texts in form.errors.values() for text in texts]
        raise errors.Invalid(" ".join(faults))
    return Report(
        items=[
            replace(item, state=scanner_words.word(item.state or "")) for item in items
        ],
        words=UNDO_WORDS if is_undo else DECISION_WORDS,
        action=url,
        item_page="quarantine:case",
        undo="" if is_undo else "1",
    )


# ── The rescan ───────────────────────────────────────────────────────────────
@require_http_methods(["GET", "POST"])
def rescan(request: HttpRequest) -> HttpResponse:
    """Scan the stored files again; many as a job, whose page says how far it is."""
    if request.method == "GET":
        return redirect("quarantine:inbox")
    actor = pages.actor(request)
    actor.require("quarantine.decide")
    is_part = bool(pages.target_fragment(request, "rescan"))
    if rescan_job.is_long(actor):
        try:
            run = rescan_job.begin(actor)
        except errors.Conflict as error:
            item = (
                work.latest(actor, rescan_job.JOB, within=timedelta())
                if is_part
                else None
            )
            if item is None:
                return _page(request, error=error)
            return render(request, "_work.html", {"work": item})
        if is_part:
            item = work.of_id(actor, run.name, run.pk)
            return render(request, "_work.html", {"work": item})
        return redirect("jobs:work", run.name, run.pk)
    result = review_rescan.rescan(actor)
    if is_part:
        return render(request, "memory/_rescan.html", {"rescanned": result})
    return _page(request, rescan_result=result)
