"""The quarantine's pages: the inbox, one case, and every way to decide."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, push_url

from memory.models import HeldFile
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import highlight
from memory.review import queue as review_queue
from memory.review import rescan as review_rescan
from memory.review.rescan import Rescan
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages, quarantine_page
from memory.web.fragments import part
from memory.web.quarantine_forms import DecisionForm
from memory.web.quarantine_page import address, build, kept, state_of

TEMPLATE = "memory/quarantine.html"


def _page(
    request: HttpRequest,
    held: HeldFile | None = None,
    *,
    error: errors.HouseError | None = None,
    form: DecisionForm | None = None,
    done: Rescan | None = None,
) -> HttpResponse:
    """Render the inbox with one case open; a refusal keeps what was typed."""
    actor = pages.actor(request)
    fault = error.detail if error else ""
    status = error.status if error else 422 if form is not None else 200
    page = build(actor, request.GET, held, fault=fault, decision=form)
    context = {"page": page, "rescanned": done, "conflict": status == 409}
    name = f"{TEMPLATE}{part(request, 'review')}"
    response = render(request, name, context, status=status)
    if request.method == "POST":
        # The address of an act is no place to come back to.
        push_url(response, False)  # noqa: FBT003  (the header's own word)
    return response


def _to(request: HttpRequest, url: str) -> HttpResponse:
    """Lead to a page, whole."""
    if getattr(request, "htmx", None) and not request.htmx.target:  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(url)
    return redirect(url)


@never_cache
@require_GET
def inbox_page(request: HttpRequest) -> HttpResponse:
    """Show the queue, its first text open."""
    pages.actor(request).require("quarantine.read")
    return _page(request)


@never_cache
@require_GET
def case(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show one held text beside its list; the view is noted."""
    return _page(request, review_queue.held_file(pages.actor(request), held_id))


# ── Deciding ─────────────────────────────────────────────────────────────────
@require_POST
def decide(request: HttpRequest, held_id: str) -> HttpResponse:
    """Carry out a decision and open the next text; refusals come back to the case."""
    actor = pages.actor(request)
    held = review_queue.held_file(actor, held_id)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _page(request, held, form=form)
    following = _next(actor, request, held)
    try:
        review.decide(
            held,
            form.chosen,
            version=form.cleaned_data["version"] or 0,
            reason=form.cleaned_data["why"],
            by=actor,
            redactions=form.redactions,
            seen=form.looked_at,
        )
    except errors.HouseError as error:
        if error.status not in (409, 413, 422):
            raise
        return _page(request, _fresh(actor, held), error=error, form=form)
    query = kept(request.GET, state_of(request.GET, held))
    name, args = ("case", (following,)) if following else ("inbox", ())
    return _to(request, address(name, query, *args, done=held.id))


def _fresh(actor: Actor, held: HeldFile) -> HeldFile:
    return review_queue.held_file(actor, held.id)


def _next(actor: Actor, request: HttpRequest, held: HeldFile) -> str:
    """Return the text that comes after this one in the reviewer's list."""
    page = quarantine_page.listing(actor, request.GET, held)
    before, after = quarantine_page.neighbours(page, held)
    return after or before


@require_POST
def claim(request: HttpRequest, held_id: str) -> HttpResponse:
    """Tell the others who works on it."""
    actor = pages.actor(request)
    held = review_queue.held_file(actor, held_id)
    try:
        review.claim(held, by=actor)
    except review.AlreadyDecided as error:
        return _page(request, _fresh(actor, held), error=error)
    query = kept(request.GET, state_of(request.GET, held))
    return _to(request, address("case", query, held.id))


@require_POST
def undo(request: HttpRequest, held_id: str) -> HttpResponse:
    """Put a decided text back into the queue and open it."""
    actor = pages.actor(request)
    held = review_queue.held_file(actor, held_id)
    try:
        review.undo(held, by=actor)
    except errors.Conflict as error:
        return _page(request, _fresh(actor, held), error=error)
    return _to(request, address("case", "state=held", held.id, done=held.id))


@require_GET
def redaction(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show what an agent would read after the chosen passages are cut."""
    held = review_queue.held_file(pages.actor(request), held_id)
    form = DecisionForm(request.GET)
    form.is_valid()
    context: dict[str, Any] = {"redacted": None, "fault": ""}
    if form.redactions:
        try:
            context["redacted"] = review_detail.redaction(held, form.redactions)
        except errors.HouseError as error:
            context["fault"] = error.detail
    return render(request, "memory/_redaction.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def alike(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show texts that say nearly the same; a post decides the ticked ones alike."""
    actor = pages.actor(request)
    held = review_queue.held_file(actor, held_id)
    form = DecisionForm(request.POST or None)
    cases = [held, *review_queue.alike(actor, held)]
    context: dict[str, Any] = {"held": held, "form": form, "report": None, "fault": ""}
    status = 200
    if request.method == "POST":
        status = _bulk(request, actor, form, context)
    lines = {one.id: review_detail.line(_fresh(actor, one)) for one in cases}
    report = context["report"] or []
    context |= {
        "lines": list(lines.values()),
        "told": [(item, lines.get(item.id)) for item in report],
        "buttons": quarantine_page.BUTTON_ROWS,
        "title": review_detail.title(highlight.notes(held.findings)),
        "query": kept(request.GET, "held"),
    }
    return render(request, "memory/quarantine_alike.html", context, status=status)


def _bulk(
    request: HttpRequest, actor: Actor, form: DecisionForm, context: dict[str, Any]
) -> int:
    ids = request.POST.getlist("ids")
    if not form.is_valid():
        faults = [str(one) for found in form.errors.values() for one in found]
        context["fault"] = " ".join(faults)
        return 422
    try:
        why = form.cleaned_data["why"]
        context["report"] = review_queue.decide_many(
            actor, ids, form.chosen, reason=why
        )
    except errors.Invalid as error:
        context["fault"] = error.detail
        return error.status
    return 200


# ── Filters and the rescan ───────────────────────────────────────────────────
@require_POST
def save_filter(request: HttpRequest) -> HttpResponse:
    """Keep the filter in force under a name."""
    actor = pages.actor(request)
    query = kept(request.GET, state_of(request.GET, None))
    try:
        review_queue.save(actor, request.POST.get("name", ""), query)
    except (errors.Invalid, errors.Conflict) as error:
        return _page(request, error=error)
    return _to(request, address("inbox", query))


@require_POST
def forget_filter(request: HttpRequest, filter_id: int) -> HttpResponse:
    """Drop a saved filter."""
    actor = pages.actor(request)
    actor.require("quarantine.read")
    review_queue.forget(actor, filter_id)
    return _to(request, address("inbox", kept(request.GET, "held")))


@require_http_methods(["GET", "POST"])
def rescan(request: HttpRequest) -> HttpResponse:
    """Scan the next stretch of stored files again; the answer asks for the rest."""
    if request.method == "GET":
        return redirect("quarantine:inbox")
    actor = pages.actor(request)
    done = review_rescan.rescan(actor, after=request.POST.get("after", "")[:400])
    if part(request, "rescan"):
        return render(request, "memory/_rescan.html", {"rescanned": done})
    return _page(request, done=done)
