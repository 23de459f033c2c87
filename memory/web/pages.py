"""What page views share: the actor, the requested fragment, refusals, actions, forms.

A page and its fragments are one URL, one view and one template. A view appends
``fragment(request, name)``, or ``target_fragment``, to its template's name.

A refusal that the person at the page can mend is shown there: on the form, beside what
was typed, or above the page after a redirect. Any other error becomes an error page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, Final, TypeVar, cast

from django.contrib import messages
from django.forms import ChoiceField, Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.middleware import HtmxDetails

from memory.files.quarantine import WriteRefused
from memory.rules import errors
from memory.rules.permissions import Actor

Result = TypeVar("Result")
METHODS: Final = ["GET", "HEAD", "POST"]
# Bad input, a conflict, too large: what a person can mend.
MENDABLE: Final = (400, 409, 413, 422)


def actor(request: HttpRequest) -> Actor:
    """Return the actor of a request, or raise Unauthenticated without one."""
    request_actor = getattr(request, "actor", None)
    if request_actor is None:
        raise errors.Unauthenticated
    return cast("Actor", request_actor)


# ── Fragments ────────────────────────────────────────────────────────────────
def fragment(request: HttpRequest, name: str) -> str:
    """Return ``#name`` for an htmx request that is not boosted, "" for a whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{name}" if htmx and not htmx.boosted else ""


def target_fragment(request: HttpRequest, region: str) -> str:
    """Return ``#region`` when htmx swaps that region, "" for a whole page.

    A boosted link still works as a link (a new tab, a copied address) and swaps one
    region. A request from the browser's history names no target.
    """
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return f"#{region}" if htmx and htmx.target == region else ""


def address(name: str, *args: str, query: str = "", **params: str) -> str:
    """Return the URL of a page with a query string and more of its parameters."""
    query_params = QueryDict(query, mutable=True)
    query_params.update({key: value for key, value in params.items() if value})
    path = reverse(name, args=args)
    return f"{path}?{query_params.urlencode()}" if query_params else path


def number(text: str) -> int | None:
    """Return a whole number that a page sent, None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


# ── Refusals, actions and forms ──────────────────────────────────────────────
def reraise_unless_mendable(error: errors.AppError) -> None:
    """Raise ``error`` again unless it belongs on the page that asked."""
    if error.status not in MENDABLE and not isinstance(error, WriteRefused):
        raise error


def action(
    back: str | Callable[..., str], *, page_statuses: Collection[int] = ()
) -> Callable[[Callable[..., str | tuple[int, str]]], Callable[..., HttpResponse]]:
    """Make a view of a function that acts: POST only, redirecting to ``back``.

    What the function returns is shown there, as a success or at the level it names. So
    is the sentence of an error whose status is in ``shown``. ``back`` is a URL's name,
    or makes a URL of what the path captured.
    """

    def decorate(
        act: Callable[..., str | tuple[int, str]],
    ) -> Callable[..., HttpResponse]:
        @require_POST
        @wraps(act)
        def view(request: HttpRequest, **parts: Any) -> HttpResponse:
            try:
                outcome = act(request, **parts)
            except errors.AppError as error:
                if error.status not in page_statuses:
                    raise
                outcome = (messages.ERROR, error.detail)
            if isinstance(outcome, str):
                outcome = (messages.SUCCESS, outcome)
            messages.add_message(request, *outcome)
            return redirect(back(**parts) if callable(back) else back)

        return view

    return decorate


def submit(
    form: Form,
    service: Callable[[dict[str, Any]], Result],
    *,
    faulty: str | None = None,
) -> tuple[Result | None, int]:
    """Call a service with the fields of a form; return its result and a status.

    A status other than 200 means that the form carries the fault: of a field, or of the
    service, whose error is shown at the field ``faulty`` or above all. An error other
    than bad input or a conflict is raised again.
    """
    if not form.is_valid():
        return None, 422
    try:
        result = service(form.cleaned_data)
    except (errors.Invalid, errors.Conflict) as error:
        form.add_error(faulty, error.detail)
        return None, error.status
    return result, 422 if form.errors else 200


def offer(form: Form, name: str, choices: list[Any]) -> None:
    """Set the choices of a field, which depend on the workspace."""
    field = form.fields[name]
    assert isinstance(field, ChoiceField)  # noqa: S101  (declared so in its form)
    field.choices = choices
