"""The WSGI application for an external server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")

_django = get_wsgi_application()


def application(
    environ: dict[str, Any], start_response: StartResponse
) -> Iterable[bytes]:
    """Answer a request, in a process that listens for cache invalidation."""
    # At the first request and not at the import: a server may fork in between.
    import_module("gdpr.erasure.process_caches").listen()
    import_module("crewship_memory.sqlite_integrity").watch()
    limits = import_module("crewship_memory.middleware.request_limits")
    return _django(limits.with_length(environ), start_response)
