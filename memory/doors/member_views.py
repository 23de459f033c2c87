"""The people of a workspace, as pages."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memory import queries, tenancy
from memory.doors import forms, invitations, pages
from memory.models import User
from memory.rules import errors
from memory.rules.actors import Actor, Role


def _context(actor: Actor) -> dict[str, Any]:
    members = queries.members(actor)
    may = actor.can("members.manage")
    newcomers = {
        member.id
        for member in members
        if may and invitations.is_newcomer(member.user, actor)
    }
    return {
        "members": members,
        "newcomers": newcomers,
        "form": forms.InviteForm(auto_id="invite_%s"),
        "roles": forms.ROLES,
    }


def _page(
    request: HttpRequest, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    part = pages.part(request, "body")
    return render(request, f"workspace/members.html{part}", context, status=status)


def _invited(request: HttpRequest, actor: Actor, user: User) -> HttpResponse:
    """Show the one-time link of somebody new, who has it from the admin's hands."""
    path = invitations.link(user, by=actor)
    link = request.build_absolute_uri(path) if path else None
    context = _context(actor) | {"invited": user, "link": link}
    return _page(request, context, status=201)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest) -> HttpResponse:
    """Show the people; a post invites one by e-mail."""
    actor = pages.actor(request)
    actor.require("members.read")
    if request.method != "POST":
        return _page(request, _context(actor))
    actor.require("members.manage")
    form = forms.InviteForm(request.POST, auto_id="invite_%s")
    status = 422
    if form.is_valid():
        told = form.cleaned_data
        email = told["email"].lower()
        if email not in {member.user.email for member in queries.members(actor)}:
            user, _ = tenancy.ensure_user(email)
            tenancy.set_member(user, Role(told["role"]), by=actor)
            return _invited(request, actor, user)
        form.add_error("email", "Is a member already; change the role in the list.")
        status = 409
    return _page(request, _context(actor) | {"form": form}, status)


@require_POST
def member(request: HttpRequest, member_id: str) -> HttpResponse:
    """Change a member's role."""
    actor = pages.actor(request)
    found = queries.member(actor, member_id)
    form = forms.RoleForm(request.POST)
    if not form.is_valid():
        raise errors.Invalid("Choose a role from the list.")
    role = Role(form.cleaned_data["role"])
    try:
        tenancy.set_member(found.user, role, by=actor)
        messages.success(request, f"{found.user.email} is {role.value} now")
    except errors.Conflict as error:
        messages.error(request, error.detail)
    return redirect("workspace:members")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, member_id: str) -> HttpResponse:
    """Show a new one-time link for somebody who has not come in yet.

    A reload of the address leads back to the list and makes no link.
    """
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:members")
    actor.require("members.manage")
    return _invited(request, actor, queries.member(actor, member_id).user)


@require_POST
def remove(request: HttpRequest, member_id: str) -> HttpResponse:
    """Take a person out of the workspace."""
    actor = pages.actor(request)
    found = queries.member(actor, member_id)
    try:
        tenancy.remove_member(found, by=actor)
        messages.success(request, f"{found.user.email} removed")
    except errors.Conflict as error:
        messages.error(request, error.detail)
    return redirect("workspace:members")
