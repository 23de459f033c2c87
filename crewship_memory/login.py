"""One-time links: sign in, choose a password.

Looking at a link does not use it up: mail scanners and chat previews look. The button
does, through allauth, so that a second factor is asked for and its signals fire.
"""

from __future__ import annotations

from allauth.account.utils import perform_login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory.accounts import login_links, workspaces
from memory.accounts.login_links import Opening, Purpose
from memory.models import User


def link_expired(request: HttpRequest) -> HttpResponse:
    """Say that a link was used, has expired or is damaged."""
    return render(request, "login_link_gone.html", status=410)


def _sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Use the link; the row lock admits one of two simultaneous requests."""
    with transaction.atomic():
        opening = login_links.open_link(Purpose.SIGN_IN, token)
        if opening is not None:
            User.objects.select_for_update().get(pk=opening.user.pk)
            opening = login_links.open_link(Purpose.SIGN_IN, token)
        if opening is None:
            return link_expired(request)
        answer: HttpResponse = perform_login(request, opening.user)
        return answer


def _choose_password(
    request: HttpRequest, opening: Opening, token: str
) -> HttpResponse:
    """Show the form, or set the password that was chosen and sign in."""
    posted = request.POST if request.method == "POST" else None
    form = SetPasswordForm(opening.user, posted)
    if posted is None or not form.is_valid():
        context = {"form": form, "email": opening.user.email}
        status = 200 if posted is None else 422
        return render(request, "login_password.html", context, status=status)
    password = form.cleaned_data["new_password1"]
    user = workspaces.choose_password(opening.purpose, token, password)
    if user is None:
        return link_expired(request)
    answer: HttpResponse = perform_login(request, user)
    return answer


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, purpose: str, token: str) -> HttpResponse:
    """Show what a link is for, and do it on POST."""
    kinds = {kind.value: kind for kind in Purpose}
    opening = login_links.open_link(kinds[purpose], token) if purpose in kinds else None
    if opening is None:
        return link_expired(request)
    if opening.purpose is not Purpose.SIGN_IN:
        return _choose_password(request, opening, token)
    if request.method == "POST":
        return _sign_in(request, token)
    return render(request, "login_link.html", {"email": opening.user.email})


@login_not_required
def no_such_page(request: HttpRequest, **_parts: str) -> HttpResponse:  # noqa: ARG001
    """Answer 404 for pages of allauth that are switched off."""
    raise Http404
