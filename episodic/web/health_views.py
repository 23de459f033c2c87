"""Views of the health page and its buttons."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from episodic.health import accepted, duplicates, fixes
from episodic.web import health_page
from memory import workspace_tree
from memory.rules import errors
from memory.web import pages


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the metrics, what pulls them down, and how they move."""
    actor = pages.actor(request)
    days = health_page.days(request.GET.get("days", ""))
    crew_id = request.GET.get("crew_id") or None
    metric = request.GET.get("metric", "")
    context = {"page": health_page.build(actor, crew_id, days, metric)}
    return render(request, "episodic/health.html", context)


@require_POST
def fix(request: HttpRequest, kind: str) -> HttpResponse:
    """Carry out a fix for an operator and show what it changed."""
    actor = pages.actor(request)
    crew_id = request.GET.get("crew_id") or None
    try:
        result = fixes.fix(kind, actor, crew_id)
    except errors.Conflict as error:
        messages.info(request, error.detail)
        return redirect(pages.address("health:page", crew_id=crew_id or ""))
    if result.run is not None:
        return redirect("jobs:work", result.run.name, result.run.pk)
    level = messages.SUCCESS if result.complete else messages.WARNING
    messages.add_message(request, level, result.text)
    return redirect(pages.address("health:page", crew_id=crew_id or ""))


@require_POST
def accept(request: HttpRequest) -> HttpResponse:
    """Accept a cause with a reason, for an operator."""
    actor = pages.actor(request)
    crew_id = request.GET.get("crew_id") or None
    metric, key = request.POST.get("metric", ""), request.POST.get("key", "")
    try:
        item = accepted.accept(
            actor, crew_id, metric, key, request.POST.get("reason", "")
        )
    except (errors.Invalid, errors.TooLarge, errors.Conflict) as error:
        messages.error(request, error.detail)
    else:
        day = date_format(item.until, pgettext("date", "j M Y"))
        messages.success(request, gettext("Accepted until {day}").format(day=day))
    return redirect(pages.address("health:page", crew_id=crew_id or ""))


@require_POST
def reopen(request: HttpRequest, acceptance_id: str) -> HttpResponse:
    """Take an acceptance back, for an operator."""
    item = accepted.revoke(pages.actor(request), acceptance_id)
    text = gettext("No longer accepted; the cause is listed again")
    messages.success(request, text)
    return redirect(pages.address("health:page", crew_id=item.crew_id))


@never_cache
@require_GET
def duplicate_pairs(request: HttpRequest) -> HttpResponse:
    """Show pairs of records that say nearly the same."""
    actor = pages.actor(request)
    crew_id = request.GET.get("crew_id") or None
    pairs = duplicates.pairs(actor, crew_id)
    context = {
        "pairs": pairs,
        "is_full": len(pairs) == duplicates.LISTED,
        "crew": workspace_tree.crew(actor, crew_id) if crew_id else None,
    }
    return render(request, "episodic/duplicates.html", context)


@require_POST
def merge(request: HttpRequest) -> HttpResponse:
    """Replace two records by one with the newer text, for an operator."""
    actor = pages.actor(request)
    crew_id = request.GET.get("crew_id") or None
    newer, older = request.POST.get("newer", ""), request.POST.get("older", "")
    try:
        record = duplicates.merge(
            actor, newer, older, request.POST.get("reason", ""), crew_id
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        messages.error(request, error.detail)
    else:
        text = gettext("One record is left: {id}").format(id=record.id)
        messages.success(request, text)
    return redirect(pages.address("health:duplicates", crew_id=crew_id or ""))
