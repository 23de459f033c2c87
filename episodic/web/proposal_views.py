"""The pages of proposed rules: the list, one rule, the decision."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from episodic.consolidation import approval, promotion, proposals
from episodic.consolidation import run as consolidation
from episodic.consolidation.run import CrewReport
from episodic.models import ConsolidationProposal
from memory.rules import errors
from memory.web import pages

STATES: Final = (
    ("pending", "Waiting"),
    ("approved", "Approved"),
    ("rejected", "Rejected"),
    ("", "All"),
)
PRESETS: Final = (
    "True, but too trivial to be a rule",
    "The entries have nothing in common",
    "Only one incident, told twice",
    "Out of date: it no longer happens",
    "Wrong: this is not what should be done",
)
SIGNALS: Final = {
    "relevance": ("Confidence", "how sure the summariser is"),
    "frequency": ("Recalled", "times at least, full at 30"),
    "query_diversity": ("Different questions", "at least, full at 10"),
    "recency": ("Recency", "halves every 14 days"),
    "consolidation": ("Found again", "runs that found it, full at 5"),
    "richness": ("Evidence", "how many entries, of how many types"),
}


@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """Show the rules that wait, or those that were decided."""
    actor = pages.actor(request)
    state = request.GET.get("state", "pending")
    if state not in dict(STATES):
        raise errors.Invalid("There is no such state.", code="unknown_state")
    cursor = request.GET.get("cursor") or None
    proposals_page = proposals.page(actor, state, cursor=cursor)
    context = {"page": proposals_page, "state": state, "states": STATES}
    return render(request, "episodic/proposals.html", context)


# ── One rule ─────────────────────────────────────────────────────────────────
def _render(
    request: HttpRequest,
    proposal: ConsolidationProposal,
    *,
    error: errors.AppError | None = None,
) -> HttpResponse:
    """Render one proposal; a refusal keeps what was typed."""
    actor = pages.actor(request)
    facts = proposals.facts(proposal)
    score = facts.score
    signals = [
        (*SIGNALS[name], score.signals[name], weight)
        for name, weight in promotion.WEIGHTS.items()
    ]
    context = {
        "found": proposal,
        "facts": facts,
        "signals": signals,
        "change": proposals.change(proposal) if proposal.is_pending else None,
        "names": proposals.seen_by(actor, facts.evidence),
        "presets": PRESETS,
        "refusal": error,
        "text": request.POST.get("text", proposal.text),
        "why": request.POST.get("reason", ""),
        "preset": request.POST.get("preset", ""),
        "gate": promotion,
    }
    status = error.status if error else 200
    return render(request, "episodic/proposal.html", context, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Show what approving a rule would change, and its evidence."""
    return _render(request, proposals.proposal(pages.actor(request), proposal_id))


def _version(request: HttpRequest) -> int:
    return pages.number(request.POST.get("version", "")) or 0


@require_POST
def approve(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Learn a rule, edited when the text of the form was sent along."""
    actor = pages.actor(request)
    proposal = proposals.proposal(actor, proposal_id)
    edited = request.POST.get("text") if "edited" in request.POST else None
    try:
        decision = approval.approve(
            proposal, version=_version(request), text=edited, by=actor
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _render(request, proposals.proposal(actor, proposal_id), error=error)
    messages.success(
        request, f"Learned, in {decision.learned_label} of {decision.crew.slug}"
    )
    return redirect("proposals:detail", proposal_id)


@require_POST
def reject(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Reject a rule, with a reason from the list or of one's own."""
    actor = pages.actor(request)
    proposal = proposals.proposal(actor, proposal_id)
    parts = (request.POST.get("preset", ""), request.POST.get("reason", "").strip())
    reason = ": ".join(part for part in parts if part)
    try:
        approval.reject(proposal, version=_version(request), reason=reason, by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _render(request, proposals.proposal(actor, proposal_id), error=error)
    messages.success(request, "Rejected; it is not proposed again")
    return redirect("proposals:list")


# ── Running ──────────────────────────────────────────────────────────────────
def _sentence(crew: CrewReport) -> str:
    if crew.error:
        return f"{crew.crew}: {crew.error}"
    if crew.skipped:
        return f"{crew.crew}: {crew.skipped}; they wait"
    text = f"{crew.crew}: {crew.considered:,} entries, {len(crew.proposed)} proposed"
    if crew.known:
        text += f", {crew.known} known already"
    if crew.held:
        text += f", {crew.held} held by the scanner"
    return text + (f", {crew.pins} pins written" if crew.pins else "")


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Consolidate every crew now, and show the report."""
    report = consolidation.of_workspace(by=pages.actor(request))
    for crew in report:
        show = messages.warning if crew.error else messages.info
        show(request, _sentence(crew))
    if not report:
        messages.info(request, "There is no crew to consolidate yet")
    return redirect("proposals:list")
