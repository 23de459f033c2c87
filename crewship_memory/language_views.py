"""The choice of the language, by people who are signed in and before signing in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from memory.accounts import languages
from memory.models import User
from memory.rules import errors


@login_not_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Save the language and go back to the page.

    With the person, if one is signed in; else in a cookie that ends with the browser.
    """
    code, user = request.POST.get("language", ""), request.user
    if isinstance(user, User):
        languages.choose(user, code)
    elif code not in dict(settings.LANGUAGES):
        raise errors.unknown_value("language", dict(settings.LANGUAGES))
    response = redirect(_way_back(request))
    if isinstance(user, User):
        # Somebody else at this browser has not chosen it.
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
    else:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def _way_back(request: HttpRequest) -> str:
    """Return the page the choice was made on, if it is one of ours."""
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_ours else "/"
