"""Rate limit for requests without a working credential, by client network.

One without any credential is counted before anything is done for it. One with a made-up
key or session is counted as soon as that shows; a working credential is never refused
for what others at the same address do.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from crewship_memory import error_responses, throttle
from memory.integrations import registry
from memory.rules import errors

# Monitoring calls these without a credential; static files cost next to nothing.
EXEMPT: Final = ("/livez", "/readyz", "/metrics", settings.STATIC_URL)
# Operations that look at no credential: a made-up one buys nothing.
PUBLIC: Final = frozenset(
    {
        "api/v1/gdpr/certificates/verify",
        "api/v1/gdpr/keys",
        "api/v1/openapi.json",
        "api/v1/docs",
    }
)
CREDENTIALS: Final = ("Authorization", "X-API-Key", "Api-Key")


def _shows_a_credential(request: HttpRequest) -> bool:
    return (
        any(name in request.headers for name in CREDENTIALS)
        or settings.SESSION_COOKIE_NAME in request.COOKIES
        # Routes that read the credential from the body count the request themselves.
        or registry.has_key_in_body(request.path)
    )


def _is_anonymous(request: HttpRequest) -> bool:
    """Whether a view will serve a request without a login."""
    match = request.resolver_match
    if match is not None and match.route in PUBLIC:
        return True
    if error_responses.is_for_programs(request.path):
        return False
    return not request.user.is_authenticated


class AnonymousThrottleMiddleware:
    """Refuses a network that sends too many requests without a working credential."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Count a request without a credential first, one with a bad one afterwards."""
        if request.path.startswith(EXEMPT):
            return self.get_response(request)
        if not _shows_a_credential(request) and (refusal := _refusal(request)):
            return refusal
        answer = self.get_response(request)
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            return _refusal(request) or answer
        return answer

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Count an anonymous page request before its view is called."""
        if request.path.startswith(EXEMPT) or not _is_anonymous(request):
            return None
        return _refusal(request)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    try:
        throttle.charge(request)
    except errors.TooMany as error:
        return error_responses.respond(request, error)
    return None
