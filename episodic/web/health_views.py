"""The health page and its buttons: parse, call, render."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from episodic.health import fixes
from episodic.web import health_page
from memory.web import pages


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the five metrics, what pulls them down, and how they move."""
    actor = pages.actor(request)
    days = health_page.days(request.GET.get("days", ""))
    crew_id = request.GET.get("crew_id") or None
    metric = request.GET.get("metric", "")
    shown = health_page.build(actor, crew_id, days, metric)
    return render(request, "episodic/health.html", {"page": shown})


@require_POST
def fix(request: HttpRequest, kind: str) -> HttpResponse:
    """Do what a button offers, for an operator, and say what it changed."""
    actor = pages.actor(request)
    crew_id = request.GET.get("crew_id") or None
    changed = fixes.fix(kind, actor, crew_id)
    tell = messages.success if changed.whole else messages.warning
    tell(request, changed.text)
    query = f"?{urlencode({'crew_id': crew_id})}" if crew_id else ""
    return redirect(f"{reverse('health:page')}{query}")
