"""Invitations as the invited person sees them: by link and after signing in."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.utils import perform_login
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from crewship_memory import auth, login
from memory.accounts import invitations, login_links
from memory.models import Invitation, User
from memory.rules import errors
from memory.rules.permissions import role_name


def _accepted_response(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Redirect into the workspace that was joined."""
    request.session[auth.SESSION_WORKSPACE] = invitation.workspace_id
    slug = invitation.workspace.slug
    text = gettext("You are {role} in {workspace} now.")
    messages.success(
        request, text.format(role=role_name(invitation.role), workspace=slug)
    )
    return redirect("home")


def _accepted(
    request: HttpRequest, invitation: Invitation, token: str = ""
) -> HttpResponse:
    """Accept as the signed-in person; this browser stays signed in."""
    user = cast("User", request.user)
    invitations.accept(invitation.pk, user, token=token)
    user.refresh_from_db()
    update_session_auth_hash(request, user)
    return _accepted_response(request, invitation)


# ── By the link ──────────────────────────────────────────────────────────────
def _as_new_person(
    request: HttpRequest, invitation: Invitation, token: str
) -> HttpResponse:
    """Let a person without an account choose a password and accept."""
    posted = request.POST if request.method == "POST" else None
    form = SetPasswordForm(User(email=invitation.email), posted)
    if posted is None or not form.is_valid():
        context = {"invitation": invitation, "state": "new", "form": form}
        status = 200 if posted is None else 422
        return render(request, "invitation.html", context, status=status)
    try:
        user = invitations.accept_as_new(token, form.cleaned_data["new_password1"])
    except errors.NotFound:
        return login.link_expired(request)
    answer: HttpResponse = perform_login(request, user)
    return answer


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation by its link, which signs nobody into an account."""
    invitation = invitations.by_token(token)
    if invitation is None:
        return login.link_expired(request)
    account = invitations.account_of(invitation)
    if account is not None and not account.is_active:
        return login.link_expired(request)
    signed_in = request.user.is_authenticated
    state = "theirs" if account is not None and account == request.user else "account"
    if signed_in and state != "theirs":
        state = "somebody_else"
    elif account is None:
        return _as_new_person(request, invitation, token)
    if state == "theirs" and request.method == "POST":
        return _answered(request, invitation, token)
    context = {"invitation": invitation, "state": state}
    return render(request, "invitation.html", context)


def _answered(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    if request.POST.get("answer") == "decline":
        return _declined(request, invitation)
    try:
        return _accepted(request, invitation, token)
    except errors.NotFound:
        return login.link_expired(request)


# ── After signing in ─────────────────────────────────────────────────────────
def _own_invitation(request: HttpRequest, invitation_id: str) -> Invitation:
    user = cast("User", request.user)
    for invitation in invitations.of_person(user):
        if invitation.pk == invitation_id:
            return invitation
    raise errors.NotFound


def _declined(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    invitations.decline(invitation.pk, cast("User", request.user))
    slug = invitation.workspace.slug
    text = gettext("You declined the invitation to {workspace}.")
    messages.info(request, text.format(workspace=slug))
    return redirect("invitations")


@require_safe
def own_invitations(request: HttpRequest) -> HttpResponse:
    """List the signed-in person's invitations."""
    user = cast("User", request.user)
    context: dict[str, Any] = {
        "invitations": invitations.of_person(user),
        "proven": login_links.is_proven(user),
    }
    return render(request, "invitations.html", context)


@require_POST
def accept(request: HttpRequest, invitation_id: str) -> HttpResponse:
    """Accept without the link: for a proven address."""
    return _accepted(request, _own_invitation(request, invitation_id))


@require_POST
def decline(request: HttpRequest, invitation_id: str) -> HttpResponse:
    return _declined(request, _own_invitation(request, invitation_id))
