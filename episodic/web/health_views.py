"""Views of the health page and its buttons."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from episodic.health import fixes
from episodic.web import health_page
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
    result = fixes.fix(kind, actor, crew_id)
    level = messages.SUCCESS if result.complete else messages.WARNING
    messages.add_message(request, level, result.text)
    return redirect(pages.address("health:page", crew_id=crew_id or ""))
