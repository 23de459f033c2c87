"""Which errors of a service a page shows beside its form, and which go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.http import HttpRequest

from memory.rules import errors

# What the person at the page can mend: bad input, a conflict, too large.
SHOWN_STATUSES: Final = (400, 409, 413, 422)


def reraise_unless_shown(error: errors.AppError) -> None:
    """Raise ``error`` again unless it belongs on the page that asked."""
    if error.status not in SHOWN_STATUSES:
        raise error


def show_on_next_page(request: HttpRequest, error: errors.AppError) -> None:
    """Show after the redirect why something was not done."""
    reraise_unless_shown(error)
    messages.error(request, error.detail)


def run(request: HttpRequest, service: Callable[[], object], message: str) -> None:
    """Call a service; show ``message``, or why it was refused, after the redirect."""
    try:
        service()
    except errors.AppError as error:
        show_on_next_page(request, error)
    else:
        messages.success(request, message)
