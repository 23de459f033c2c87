"""Which part of a page a swap asks for: the region it names as its target.

A boosted link keeps what links can do (a new tab, a copied address) and still swaps one
region. Going back through history names no target and gets the whole page.
"""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


def part(request: HttpRequest, region: str) -> str:
    """Return ``#region`` when htmx swaps that region, nothing for a whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{region}" if htmx and htmx.target == region else ""
