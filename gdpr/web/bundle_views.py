"""Pages of a ready bundle, as they are handed over."""

from __future__ import annotations

from typing import Final

from csp.constants import HEADER
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from gdpr.export import make as export
from gdpr.export import preview
from memory.rules import errors
from memory.web import pages

# Texts of others, escaped: nothing is loaded, nothing runs, nothing is sent.
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; sandbox allow-same-origin"
)
TYPES: Final = {"html": "text/html; charset=utf-8", "json": "application/json"}


@never_cache
@require_GET
def bundle_page(request: HttpRequest, export_id: str, name: str) -> HttpResponse:
    """Show one page of a bundle; the service records it in the audit log."""
    actor = pages.actor(request)
    row = export.get(export_id, by=actor)
    actor.require("gdpr.manage")
    if name.rpartition(".")[2] not in TYPES:
        raise errors.NotFound
    try:
        content = preview.page(row, name, by=actor)
    except (export.NotReady, preview.TooLarge) as error:
        messages.error(request, error.detail)
        return redirect("privacy:exports")
    answer = HttpResponse(content, content_type=TYPES[name.rpartition(".")[2]])
    answer[HEADER] = POLICY
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
