"""The WSGI application for an external server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")

_django = get_wsgi_application()


@cache
def _parts() -> tuple[Callable[..., Any], ...]:
    """Return what every request calls; it is imported after Django's start."""
    return (
        import_module("gdpr.erasure.process_caches").listen,
        import_module("crewship_memory.sqlite_integrity").watch,
        import_module("crewship_memory.middleware.request_limits").with_length,
    )


def application(
    environ: dict[str, Any], start_response: StartResponse
) -> Iterable[bytes]:
    """Answer a request, in a process that listens for cache invalidation."""
    # At the first request and not at the import: a server may fork in between.
    listen, watch, with_length = _parts()
    listen()
    watch()
    return _django(with_length(environ), start_response)
