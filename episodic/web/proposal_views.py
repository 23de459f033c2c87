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
from episodic.consolidation.run import Done
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
    found = proposals.page(actor, state, cursor=cursor)
    context = {"page": found, "state": state, "states": STATES}
    return render(request, "episodic/proposals.html", context)


# ── One rule ─────────────────────────────────────────────────────────────────
def _shown(
    request: HttpRequest,
    found: ConsolidationProposal,
    *,
    error: errors.HouseError | None = None,
) -> HttpResponse:
    """Render one proposal; a refusal keeps what was typed."""
    actor = pages.actor(request)
    facts = proposals.facts(found)
    score = facts.score
    signals = [
        (*SIGNALS[name], score.signals[name], weight)
        for name, weight in promotion.WEIGHTS.items()
    ]
    context = {
        "found": found,
        "facts": facts,
        "signals": signals,
        "change": proposals.change(found) if found.is_pending else None,
        "names": proposals.seen_by(actor, facts.evidence),
        "presets": PRESETS,
        "refusal": error,
        "text": request.POST.get("text", found.text),
        "why": request.POST.get("reason", ""),
        "preset": request.POST.get("preset", ""),
        "gate": promotion,
    }
    status = error.status if error else 200
    return render(request, "episodic/proposal.html", context, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Show what approving a rule would change, and what stands behind it."""
    return _shown(request, proposals.proposal(pages.actor(request), proposal_id))


def _version(request: HttpRequest) -> int:
    told = request.POST.get("version", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 10 else 0


@require_POST
def approve(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Learn a rule, edited when the text of the form was sent along."""
    actor = pages.actor(request)
    found = proposals.proposal(actor, proposal_id)
    edited = request.POST.get("text") if "edited" in request.POST else None
    try:
        done = approval.approve(found, version=_version(request), text=edited, by=actor)
    except errors.HouseError as error:
        if error.status not in (409, 413, 422):
            raise
        return _shown(request, proposals.proposal(actor, proposal_id), error=error)
    messages.success(request, f"Learned, in {done.learned_label} of {done.crew.slug}")
    return redirect("proposals:detail", proposal_id)


@require_POST
def reject(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Turn a rule down, for a reason from the list or one's own."""
    actor = pages.actor(request)
    found = proposals.proposal(actor, proposal_id)
    told = (request.POST.get("preset", ""), request.POST.get("reason", "").strip())
    why = ": ".join(part for part in told if part)
    try:
        approval.reject(found, version=_version(request), reason=why, by=actor)
    except errors.HouseError as error:
        if error.status not in (409, 413, 422):
            raise
        return _shown(request, proposals.proposal(actor, proposal_id), error=error)
    messages.success(request, "Rejected; it is not proposed again")
    return redirect("proposals:list")


# ── Running ──────────────────────────────────────────────────────────────────
def _sentence(done: Done) -> str:
    if done.error:
        return f"{done.crew}: {done.error}"
    if done.skipped:
        return f"{done.crew}: {done.skipped}; they wait"
    told = f"{done.crew}: {done.considered:,} entries, {len(done.proposed)} proposed"
    if done.known:
        told += f", {done.known} known already"
    if done.held:
        told += f", {done.held} held by the scanner"
    return told + (f", {done.pins} pins written" if done.pins else "")


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Consolidate every crew now, and say what that did."""
    report = consolidation.of_workspace(by=pages.actor(request))
    for done in report:
        told = messages.warning if done.error else messages.info
        told(request, _sentence(done))
    if not report:
        messages.info(request, "There is no crew to consolidate yet")
    return redirect("proposals:list")
