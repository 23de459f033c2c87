"""What every page view shares: a typed request, its actor, the fragment it asks for.

A page and its fragment are one URL, one view and one template. A view names the
fragment that htmx swaps and appends ``part(request, name)`` to its template's name.
"""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from memory.rules import errors
from memory.rules.permissions import Actor


class PageRequest(HttpRequest):
    """A request for a page, as the middleware leaves it."""

    actor: Actor
    htmx: HtmxDetails


def actor(request: HttpRequest) -> Actor:
    """Return who asks for a page, or raise Unauthenticated when that is nobody."""
    request_actor = getattr(request, "actor", None)
    if request_actor is None:
        raise errors.Unauthenticated
    return cast("Actor", request_actor)


def part(request: HttpRequest, name: str) -> str:
    """Return ``#name`` when htmx asks for a fragment, nothing for a whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{name}" if htmx and not htmx.boosted else ""
