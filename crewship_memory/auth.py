"""Turn a bearer key or a session into an Actor; allauth's account adapter."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import resolve_url

from crewship_memory import client_address, serving_gate
from memory.accounts import api_keys, invitations, login_links, mail
from memory.models import Membership, User
from memory.rules import end_users, errors
from memory.rules.permissions import Actor, Role

SESSION_WORKSPACE: Final = "workspace"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ClosedSignup(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Accounts are made by invitation only; nobody signs up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's network, which allauth's rate limits count by."""
        return client_address.client_network(request)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Lead to the invitations that wait for an answer, else to the first page."""
        if isinstance(request.user, User) and invitations.of_person(request.user):
            return resolve_url("invitations")
        return resolve_url("home")

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        """Send one of allauth's mails; without a mail server the mail is logged."""
        if mail.server_set():
            super().send_mail(template_prefix, email, context)
        else:
            mail.not_sent(template_prefix, 1)


def login_path(user: User) -> str:
    """Return a fresh one-time login link for the installation's operator."""
    return login_links.link_path(user, login_links.Purpose.SIGN_IN)


# ── From a request to an actor ───────────────────────────────────────────────
def token_of(request: HttpRequest) -> str | None:
    """Return the bearer key a request carries, in any of the three accepted ways."""
    header = request.headers.get("Authorization", "")
    kind, _, value = header.partition(" ")
    if kind.lower() in ("bearer", "token") and value.strip():
        return value.strip()
    return request.headers.get("X-API-Key") or None


def named_end_user(request: HttpRequest) -> str | None:
    """Return the end user whom a request's header names."""
    return end_users.from_header(request.headers.get(end_users.HEADER))


def _check_workspace_header(request: HttpRequest, actor: Actor) -> None:
    """Refuse a workspace header that names another workspace than the key's."""
    workspace_id = request.headers.get("X-Workspace-ID")
    if workspace_id and workspace_id != actor.workspace_id:
        raise errors.NotFound


def memberships(user: User) -> list[Membership]:
    """Return a user's memberships, ordered by workspace name."""
    rows = Membership.objects.filter(user=user).select_related("workspace")
    return list(rows.order_by("workspace__slug"))


def actor_of_session(request: HttpRequest) -> Actor | None:
    """Return the signed-in person in the workspace chosen in the session."""
    user = request.user
    if not isinstance(user, User) or not user.is_active:
        return None
    own_memberships = memberships(user)
    if not own_memberships:
        return None
    workspace_id = request.session.get(SESSION_WORKSPACE)
    member = next(
        (m for m in own_memberships if m.workspace_id == workspace_id),
        own_memberships[0],
    )
    return Actor(
        role=Role(member.role),
        workspace_id=member.workspace_id,
        id=user.id,
        label=user.email,
    )


class _Csrf(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> Any:  # noqa: ARG002
        return reason


def _csrf_holds(request: HttpRequest) -> bool:
    def no_response(_request: HttpRequest) -> Any:
        return None

    check = _Csrf(no_response)
    check.process_request(request)
    return check.process_view(request, no_response, (), {}) is None


class KeyOrSession:
    """The API's authentication: a bearer key, else a session with a CSRF check."""

    openapi_security_schema: ClassVar = {"type": "http", "scheme": "bearer"}

    def __call__(self, request: HttpRequest) -> Actor:
        """Return the actor, or raise Unauthenticated."""
        token = token_of(request)
        if token is not None:
            actor = api_keys.authenticate(token)
            if actor is None:
                raise errors.Unauthenticated
            _check_workspace_header(request, actor)
            serving_gate.require(request, actor)
            return end_users.with_end_user(actor, [named_end_user(request)])
        actor = actor_of_session(request)
        if actor is None:
            raise errors.Unauthenticated
        if request.method not in SAFE and not _csrf_holds(request):
            raise errors.Forbidden("The CSRF token is missing or wrong.", code="csrf")
        _check_workspace_header(request, actor)
        serving_gate.require(request, actor)
        return actor
