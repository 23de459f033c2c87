"""One-time login links.

Looking at a link does not use it up: mail scanners and chat previews look. The button
does, through allauth, so that a second factor is asked for and its signals fire.
"""

from __future__ import annotations

from allauth.account.utils import perform_login
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from crewship_memory import auth
from memory.models import User


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, "login_link_gone.html", status=410)


def _enter(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Use the link. The row's lock lets one of two simultaneous clicks in."""
    with transaction.atomic():
        user = auth.user_of_link(name, token)
        if user is not None:
            User.objects.select_for_update().get(pk=user.pk)
            user = auth.user_of_link(name, token)
        if user is None:
            return _gone(request)
        answer: HttpResponse = perform_login(
            request, user, redirect_url=resolve_url("home")
        )
        return answer


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Show whom the link lets in; let them in when they press the button."""
    if request.method == "POST":
        return _enter(request, name, token)
    user = auth.user_of_link(name, token)
    if user is None:
        return _gone(request)
    return render(request, "login_link.html", {"email": user.email})
