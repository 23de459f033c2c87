"""The pages of proposed rules: the inbox, the decision about one, or about many."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import push_url

from episodic.consolidation import approval, bulk, proposals
from episodic.consolidation import job as consolidation_job
from episodic.consolidation import run as consolidation
from episodic.consolidation import undo as decision_undo
from episodic.consolidation.run import CrewReport
from episodic.models import ConsolidationProposal
from episodic.web import proposal_page
from episodic.web.proposal_page import Inbox
from memory import workspace_tree
from memory.figures import grouped
from memory.rules import errors
from memory.rules.bulk import parse
from memory.web import pages
from memory.web.bulk_page import Report

TEMPLATE = "episodic/proposals.html"
REJECTION_WORDS: Final = (
    gettext_noop("{count} proposal rejected"),
    gettext_noop("{count} proposals rejected"),
)
UNDO_WORDS: Final = (
    gettext_noop("{count} proposal waits again"),
    gettext_noop("{count} proposals wait again"),
)


def _page(
    request: HttpRequest,
    proposal: ConsolidationProposal | None = None,
    *,
    error: errors.AppError | None = None,
    report: Report | None = None,
) -> HttpResponse:
    """Render the list with one proposal open; a refusal keeps what was typed."""
    actor = pages.actor(request)
    filters = proposal_page.filters_of(request.GET, proposal)
    page = proposal_page.listing(actor, filters)
    row = proposal
    if row is None and page.items:
        row = proposals.proposal(actor, page.items[0].id)
    previous, following = proposal_page.neighbours(page.items, row)
    recent_id = request.GET.get("done", "").replace("\0", "")
    is_conflict = error is not None and error.status == 409 and row is not None
    inbox = Inbox(
        filters=filters,
        tabs=proposal_page.tabs(actor, filters),
        page=page,
        crews=workspace_tree.crews(actor),
        reading=proposal_page.reading(actor, row) if row else None,
        previous=previous,
        following=following,
        recent=proposals.recent(actor, recent_id),
        report=report,
        refusal=error,
        difference=proposal_page.difference(row, request.POST)
        if row is not None and row.is_pending and is_conflict
        else None,
        data=request.POST if proposal is not None else QueryDict(),
    )
    name = f"{TEMPLATE}{pages.target_fragment(request, 'review')}"
    status = error.status if error else 200
    response = render(request, name, {"inbox": inbox}, status=status)
    if request.method == "POST":
        # The URL of a POST must not enter the browser history.
        push_url(response, False)  # noqa: FBT003  (the header's value)
    return response


@never_cache
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """Show the list with its first proposal open."""
    pages.actor(request).require("proposals.read")
    return _page(request)


@never_cache
@require_GET
def detail(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Show one proposal beside its list."""
    return _page(request, proposals.proposal(pages.actor(request), proposal_id))


# ── Deciding ─────────────────────────────────────────────────────────────────
def _version(request: HttpRequest) -> int:
    return pages.number(request.POST.get("version", "")) or 0


def _next(request: HttpRequest, proposal: ConsolidationProposal) -> str:
    """Return the page of the proposal after this one, or the list without one."""
    actor = pages.actor(request)
    filters = proposal_page.filters_of(request.GET, proposal)
    items = proposal_page.listing(actor, filters).items
    before, after = proposal_page.neighbours(items, proposal)
    name, args = ("detail", (after or before,)) if after or before else ("list", ())
    query = filters.query()
    return pages.address(f"proposals:{name}", *args, query=query, done=proposal.id)


def _reason(request: HttpRequest) -> str:
    parts = (request.POST.get("preset", ""), request.POST.get("reason", "").strip())
    return ": ".join(part for part in parts if part)


@require_POST
def approve(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Learn the text of the form and open the next proposal."""
    actor = pages.actor(request)
    proposal = proposals.proposal(actor, proposal_id)
    following = _next(request, proposal)
    try:
        approval.approve(
            proposal,
            version=_version(request),
            text=request.POST.get("text"),
            seen=proposal_page.seen_in(request.POST),
            by=actor,
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _page(request, proposals.proposal(actor, proposal_id), error=error)
    return redirect(following)


@require_POST
def reject(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Reject a rule, with a reason from the list or of one's own; open the next."""
    actor = pages.actor(request)
    proposal = proposals.proposal(actor, proposal_id)
    following = _next(request, proposal)
    try:
        approval.reject(
            proposal, version=_version(request), reason=_reason(request), by=actor
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _page(request, proposals.proposal(actor, proposal_id), error=error)
    return redirect(following)


@require_POST
def undo(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Let a decided rule wait again, and open it."""
    actor = pages.actor(request)
    proposal = proposals.proposal(actor, proposal_id)
    try:
        decision_undo.undo(proposal, version=_version(request), by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _page(request, proposals.proposal(actor, proposal_id), error=error)
    url = pages.address(
        "proposals:detail", proposal_id, state="pending", done=proposal_id
    )
    return redirect(url)


@require_http_methods(pages.METHODS)
def many(request: HttpRequest) -> HttpResponse:
    """Reject the ticked proposals, or undo that; show the result of each."""
    if request.method != "POST":
        return redirect(pages.address("proposals:list", query=request.GET.urlencode()))
    actor = pages.actor(request)
    picks = parse(request.POST.getlist("items"))
    is_undo = "undo" in request.POST
    try:
        if is_undo:
            items = bulk.undo(actor, picks)
        else:
            items = bulk.reject(actor, picks, reason=_reason(request))
    except errors.Invalid as error:
        return _page(request, error=error)
    report = Report(
        items=items,
        words=UNDO_WORDS if is_undo else REJECTION_WORDS,
        action=pages.address("proposals:many", query=request.GET.urlencode()),
        item_page="proposals:detail",
        undo="" if is_undo else "1",
    )
    return _page(request, report=report)


# ── Running ──────────────────────────────────────────────────────────────────
def _sentence(crew: CrewReport) -> str:
    if crew.error:
        return f"{crew.crew}: {crew.error}"
    if crew.skipped:
        text = gettext("{crew}: {skipped}; they wait")
        return text.format(crew=crew.crew, skipped=crew.skipped)
    read, proposed = crew.considered, len(crew.proposed)
    parts = [
        gettext("{crew}: {count} entries, {proposed} proposed").format(
            crew=crew.crew, count=grouped(read), proposed=proposed
        )
    ]
    if crew.known:
        parts.append(gettext("{count} known already").format(count=crew.known))
    if crew.held:
        parts.append(gettext("{count} held by the scanner").format(count=crew.held))
    if crew.pins:
        parts.append(gettext("{count} pins written").format(count=crew.pins))
    return ", ".join(parts)


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Consolidate every crew now, as a job where it takes long, and show the report."""
    actor = pages.actor(request)
    actor.require("consolidate.run")
    if consolidation_job.is_long(actor):
        try:
            job_run = consolidation_job.begin(actor)
        except errors.Conflict as error:
            messages.info(request, error.detail)
            return redirect("proposals:list")
        return redirect("jobs:work", job_run.name, job_run.pk)
    report = consolidation.of_workspace(by=actor)
    for crew in report:
        show = messages.warning if crew.error else messages.info
        show(request, _sentence(crew))
    if not report:
        messages.info(request, gettext("There is no crew to consolidate yet"))
    return redirect("proposals:list")
