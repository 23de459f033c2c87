"""The views of what decisions taught: proposals for the scanner, export of labels."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memory.files.agreement import FEW_DECISIONS
from memory.models import ScannerProposal
from memory.review import labels, proposal_effect, proposal_search, proposals
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

PAGE = "quarantine:learned"
MESSAGES = {
    "approve": gettext_noop("Approved; it holds from now on"),
    "decline": gettext_noop("Declined"),
    "undo": gettext_noop("Taken back; the proposal waits again"),
}


@never_cache
@require_GET
def learned(request: HttpRequest) -> HttpResponse:
    """Show what is proposed, and what was decided about earlier proposals."""
    return _page(request)


def _page(request: HttpRequest, error: errors.AppError | None = None) -> HttpResponse:
    actor = pages.actor(request)
    context = {
        "pending": proposals.pending(actor),
        "decided": proposals.decided(actor),
        "error": error,
        "least": FEW_DECISIONS,
        "repeats": proposal_search.REPEATS,
        "days": proposal_effect.DAYS,
    }
    status = error.status if error else 200
    return render(request, "memory/learned.html", context, status=status)


@require_POST
def decide(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Approve or decline a proposal, or take that back; show the list."""
    actor = pages.actor(request)
    action = str(request.POST.get("action") or "")
    if action not in MESSAGES:
        raise errors.unknown_value("action", MESSAGES)
    row = proposals.proposal(actor, proposal_id)
    try:
        _act(request, row, action, actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _page(request, error)
    messages.success(request, gettext(MESSAGES[action]))
    return redirect(PAGE)


def _act(request: HttpRequest, row: ScannerProposal, action: str, actor: Actor) -> None:
    version = pages.number(str(request.POST.get("version") or "")) or 0
    if action == "approve":
        allows_all = "allows_all" in request.POST
        proposals.approve(row, version=version, by=actor, allows_all=allows_all)
    elif action == "decline":
        reason = str(request.POST.get("reason") or "")
        proposals.decline(row, version=version, reason=reason, by=actor)
    else:
        proposals.undo(row, version=version, by=actor)


@require_POST
def export_labels(request: HttpRequest) -> StreamingHttpResponse:
    """Download every label with its text, as JSON lines."""
    content = labels.export(pages.actor(request))
    response = StreamingHttpResponse(content.lines, content_type=labels.CONTENT_TYPE)
    file_name = f'attachment; filename="{labels.FILE_NAME}"'
    response["Content-Disposition"] = file_name
    response["Cache-Control"] = "no-store"
    return response
