"""The choice of the language, by people who are signed in and before signing in."""

from __future__ import annotations

import inspect
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, is_valid_path, resolve
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
    """Return the page the choice was made on, if it is one of ours.

    A page may be the answer to a form whose address takes only POST: then the nearest
    page above it.
    """
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    parts = urlsplit(url if is_ours else "/")
    if _can_be_read(parts.path):
        return parts.geturl()
    path = parts.path
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if _is_page(path):
            break
    return parts._replace(scheme="", netloc="", path=path).geturl()


def _is_page(path: str) -> bool:
    return bool(is_valid_path(path)) and _can_be_read(path)


def _can_be_read(path: str) -> bool:
    """Return whether a GET of an address is answered; one of no view is a page too."""
    try:
        view: Any = resolve(path).func
    except Resolver404:
        return True
    while inspect.isfunction(view):
        # What the decorators of django.views.decorators.http keep.
        names = inspect.getclosurevars(view).nonlocals
        if "GET" not in names.get("request_method_list", ["GET"]):
            return False
        view = getattr(view, "__wrapped__", None)
    return True
