"""What every page view shares: the typed request, its actor, the requested fragment.

A page and its fragment are one URL, one view and one template. A view names the
fragment that htmx swaps and appends ``fragment(request, name)`` to its template's name.
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
    """Return the actor of a request, or raise Unauthenticated without one."""
    request_actor = getattr(request, "actor", None)
    if request_actor is None:
        raise errors.Unauthenticated
    return cast("Actor", request_actor)


def fragment(request: HttpRequest, name: str) -> str:
    """Return ``#name`` for an htmx request that is not boosted, "" for a whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{name}" if htmx and not htmx.boosted else ""
