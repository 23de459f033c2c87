"""What is answered while a workspace is not served after a restore.

Every way in asks here once it knows the workspace: the API, MCP, the interfaces of
other systems, pages. What stays open shows no text of a workspace: signing in, the
choice of another workspace, the audit log and the certificates.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest

from memory.ports import serving
from memory.rules import errors
from memory.rules.permissions import Actor

OPEN_PAGES: Final = frozenset(
    {
        "login_link",
        "password_reset",
        "language",
        "choose_workspace",
        "certificate_check",
        "privacy:ledger",
        "privacy:certificates",
        "privacy:certificate_file",
        "privacy:any_certificate_file",
    }
)
# Pages of signing in and of the second factor.
OPEN_PREFIXES: Final = ("account_", "mfa_")
OPEN_API: Final = (
    "/api/v1/gdpr/actions",
    "/api/v1/gdpr/certificates",
    "/api/v1/gdpr/keys",
)
# Raw rows of every workspace.
ADMIN: Final = "/admin/"


def require(request: HttpRequest, actor: Actor) -> None:
    """Raise Unavailable where a program asks a workspace that is not served."""
    if not request.path.startswith(OPEN_API):
        serving.require(actor.workspace_id)


def page_refusal(request: HttpRequest) -> errors.Unavailable | None:
    """Return why a page of a workspace is not served, None where it is."""
    match, actor = request.resolver_match, getattr(request, "actor", None)
    name = match.view_name if match else ""
    if name in OPEN_PAGES or name.startswith(OPEN_PREFIXES):
        return None
    if request.path.startswith(ADMIN):
        return serving.refusal()
    return serving.refusal(actor.workspace_id) if actor else None
