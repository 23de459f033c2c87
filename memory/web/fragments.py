"""The fragment of a page that an htmx request asks for, by its target.

A boosted link still works as a link (a new tab, a copied address) and swaps one region.
A request from the browser's history names no target and gets the whole page.
"""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


def target_fragment(request: HttpRequest, region: str) -> str:
    """Return ``#region`` when htmx swaps that region, "" for a whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{region}" if htmx and htmx.target == region else ""
