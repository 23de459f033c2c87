"""The views of the members page: roles, invitations, password links."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory import workspace_tree
from memory.accounts import invitations, mail, members_bulk, workspaces
from memory.models import Invitation
from memory.rules import bulk, errors
from memory.rules.bulk import Pick
from memory.rules.permissions import Actor, Role, role_name
from memory.web import pages
from memory.web import workspace_forms as forms
from memory.web.bulk_page import Confirmation, Line, Report


def _page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    members = workspace_tree.members(actor)
    may = actor.can("members.manage")
    helpable = {
        member.id
        for member in members
        if may and workspaces.may_get_link(member.user, actor)
    }
    context = {
        "members": members,
        "helpable": helpable,
        "invitations": invitations.pending(actor) if may else [],
        "mail": mail.server_set(),
        "form": forms.InviteForm(auto_id="invite_%s"),
        "roles": forms.ROLES,
        **extra_context,
    }
    part = pages.fragment(request, "body")
    return render(request, f"workspace/members.html{part}", context, status=status)


def _base(request: HttpRequest) -> str:
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


def _show_link_once(
    request: HttpRequest, actor: Actor, path: str, email: str, kind: str
) -> HttpResponse:
    """Show a link for the admin to pass on; it is never shown again."""
    one_time_link = {"email": email, "url": _base(request) + path, "kind": kind}
    return _page(request, actor, 201, one_time_link=one_time_link)


def _deliver_link(
    request: HttpRequest, actor: Actor, invitation: Invitation, *, by_mail: bool
) -> HttpResponse:
    """Mail the invitation's link, or show it for the admin to pass on."""
    if not by_mail:
        path = invitations.link_path(invitation, by=actor)
        return _show_link_once(request, actor, path, invitation.email, "invitation")
    try:
        invitations.send(invitation, _base(request), by=actor)
        text = gettext("An invitation went to {email}").format(email=invitation.email)
        messages.success(request, text)
    except (errors.Unavailable, errors.Conflict) as error:
        text = gettext("{email} is invited. {why}").format(
            email=invitation.email, why=error.detail
        )
        messages.error(request, text)
    return redirect("workspace:members")


# ── Members ──────────────────────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def members(request: HttpRequest) -> HttpResponse:
    """Show the members; a POST invites a person by e-mail."""
    actor = pages.actor(request)
    actor.require("members.read")
    if request.method != "POST":
        return _page(request, actor)
    actor.require("members.manage")
    form = forms.InviteForm(request.POST, auto_id="invite_%s")
    invitation, status = pages.submit(
        form,
        lambda fields: invitations.invite(
            fields["email"], Role(fields["role"]), by=actor
        ),
        faulty="email",
    )
    if invitation:
        return _deliver_link(request, actor, invitation, by_mail=mail.server_set())
    return _page(request, actor, status, form=form)


@pages.action("workspace:members", page_statuses=[409])
def member(request: HttpRequest, member_id: str) -> str:
    """Change a member's role."""
    actor = pages.actor(request)
    row = workspace_tree.member(actor, member_id)
    form = forms.RoleForm(request.POST)
    if not form.is_valid():
        raise errors.Invalid(gettext("Choose a role from the list."))
    role = Role(form.cleaned_data["role"])
    workspaces.set_member(row.user, role, by=actor)
    return gettext("{email} is {role} now").format(
        email=row.user.email, role=role_name(role)
    )


@never_cache
@require_http_methods(pages.METHODS)
def link(request: HttpRequest, member_id: str) -> HttpResponse:
    """Show a one-time link with which a member chooses a new password.

    A GET redirects to the list and makes no link.
    """
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:members")
    actor.require("members.manage")
    member = workspace_tree.member(actor, member_id)
    try:
        path = workspaces.password_link(member, by=actor)
    except errors.Conflict as error:
        messages.error(request, error.detail)
        return redirect("workspace:members")
    return _show_link_once(request, actor, path, member.user.email, "password")


@pages.action("workspace:members", page_statuses=[409])
def remove(request: HttpRequest, member_id: str) -> str:
    """Remove a person from the workspace."""
    actor = pages.actor(request)
    row = workspace_tree.member(actor, member_id)
    workspaces.remove_member(row, by=actor)
    return gettext("{email} removed").format(email=row.user.email)


# ── Many members ─────────────────────────────────────────────────────────────
ROLE_WORDS: Final = (
    gettext_noop("{count} person has another role"),
    gettext_noop("{count} people have another role"),
)
UNDO_WORDS: Final = (
    gettext_noop("{count} person has the former role again"),
    gettext_noop("{count} people have their former role again"),
)
REMOVAL_WORDS: Final = (
    gettext_noop("{count} person removed"),
    gettext_noop("{count} people removed"),
)


@never_cache
@require_http_methods(pages.METHODS)
def many(request: HttpRequest) -> HttpResponse:
    """Change the role of the ticked members, undo that, or remove them."""
    actor = pages.actor(request)
    actor.require("members.manage")
    if request.method != "POST":
        return redirect("workspace:members")
    picks = bulk.parse(request.POST.getlist("items"))
    act, can_undo = request.POST.get("act", ""), False
    try:
        if act == "remove" and "sure" not in request.POST:
            confirm = _confirm_removal(actor, picks)
            return render(request, "confirm_many.html", {"confirm": confirm})
        if "undo" in request.POST:
            words, items = UNDO_WORDS, members_bulk.undo_role(actor, picks)
        elif act == "remove":
            words, items = REMOVAL_WORDS, members_bulk.remove(actor, picks)
        else:
            role, can_undo = request.POST.get("role", ""), True
            words, items = ROLE_WORDS, members_bulk.change_role(actor, picks, role)
    except errors.Invalid as error:
        return _page(request, actor, error.status, refusal=error)
    report = Report(
        items=items,
        words=words,
        action=reverse("workspace:members_many"),
        undo="1" if can_undo else "",
    )
    return _page(request, actor, report=report)


def _confirm_removal(actor: Actor, picks: list[Pick]) -> Confirmation:
    """Return the list of who would be removed."""
    roles = {pick.id: pick.version for pick in picks}
    rows = [
        row for row in members_bulk.memberships(actor, picks) if row.user_id != actor.id
    ]
    if not rows or len(roles) > bulk.LIMIT:
        detail = gettext("Tick between 1 and {limit} people other than yourself.")
        detail = detail.format(limit=bulk.LIMIT)
        raise errors.Invalid(detail, code="bad_ids")
    return Confirmation(
        lines=[
            Line(f"{m.id}:{roles[m.id]}", m.user.email, role_name(m.role)) for m in rows
        ],
        words=(
            gettext_noop("Remove this person?"),
            gettext_noop("Remove these {count} people?"),
        ),
        text=gettext(
            "Their keys here stop at once, and the invitations they sent are withdrawn."
            " Their accounts stay; to come back, each has to be invited again."
        ),
        button=(
            gettext_noop("Remove this person"),
            gettext_noop("Remove the ticked ones"),
        ),
        action=reverse("workspace:members_many"),
        act="remove",
        back=reverse("workspace:members"),
        place=gettext("Members"),
    )


# ── Invitations ──────────────────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def resend(request: HttpRequest, invitation_id: str) -> HttpResponse:
    """Make a new link for an invitation; the earlier one becomes invalid."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:members")
    invitation = invitations.get(invitation_id, by=actor)
    by_mail = mail.server_set() and request.POST.get("by") != "hand"
    return _deliver_link(request, actor, invitation, by_mail=by_mail)


@pages.action("workspace:members")
def withdraw(request: HttpRequest, invitation_id: str) -> str:
    actor = pages.actor(request)
    invitation = invitations.get(invitation_id, by=actor)
    invitations.withdraw(invitation, by=actor)
    return gettext("The invitation of {email} is withdrawn").format(
        email=invitation.email
    )
