"""The address of the client that sent a request."""

from __future__ import annotations

from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the address of the connection, empty where there is none."""
    return str(request.META.get("REMOTE_ADDR", ""))
