"""The choice of the language, by people who are signed in and before signing in."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from memory.accounts import languages
from memory.models import User
from memory.rules import errors

COOKIE_SECONDS: Final = 365 * 24 * 60 * 60


@login_not_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Save the language with the person and in a cookie, and go back to the page."""
    code = request.POST.get("language", "")
    if isinstance(request.user, User):
        languages.choose(request.user, code)
    elif code not in dict(settings.LANGUAGES):
        raise errors.unknown_value("language", dict(settings.LANGUAGES))
    response = redirect(_way_back(request))
    if code:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=COOKIE_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    else:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
    return response


def _way_back(request: HttpRequest) -> str:
    """Return the page the choice was made on, if it is one of ours."""
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_ours else "/"
