"""The JSON API of consolidation: run it, read proposals, decide about them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ninja import Query, Router

from episodic.api import proposal_schemas as schemas
from episodic.consolidation import approval, proposals
from episodic.consolidation import run as consolidation
from episodic.models import ConsolidationProposal
from memory.api.request import ApiRequest
from memory.api.shapes import annotated

router = Router(tags=["consolidation"])


def _detail(proposal: ConsolidationProposal) -> ConsolidationProposal:
    facts, change = proposals.facts(proposal), proposals.change(proposal)
    return annotated(
        proposal,
        label=proposal.learned_label or change.label,
        diff=[asdict(line) for line in change.lines] if proposal.is_pending else [],
        entries=facts.evidence,
        evidence_gone=facts.missing_count,
        recalls=facts.support.recalls,
        queries=facts.support.queries,
        score=facts.score.composite,
        signals=facts.score.signals,
        is_promoted=facts.score.is_promoted,
    )


@router.post(
    "/consolidate/run", response=schemas.RunOut, operation_id="consolidate_run"
)
def run(request: ApiRequest, data: schemas.RunIn) -> dict[str, Any]:
    """Propose rules from what happened since the last run; nothing is learned by it."""
    report = consolidation.of_workspace(by=request.auth, crew_id=data.crew_id)
    return {"crews": report, "proposed": sum(len(crew.proposed) for crew in report)}


@router.get(
    "/proposals", response=schemas.ProposalListOut, operation_id="list_proposals"
)
def list_proposals(
    request: ApiRequest, query: Query[schemas.ProposalQuery]
) -> proposals.ProposalPage:
    """List proposed rules, newest first."""
    return proposals.page(
        request.auth, query.state or "", limit=query.limit, cursor=query.cursor
    )


@router.get(
    "/proposals/{proposal_id}",
    response=schemas.ProposalOut,
    operation_id="get_proposal",
)
def get_proposal(request: ApiRequest, proposal_id: str) -> ConsolidationProposal:
    """Get a proposed rule with its evidence and what approving it would change."""
    return _detail(proposals.proposal(request.auth, proposal_id))


@router.post(
    "/proposals/{proposal_id}/approve",
    response=schemas.ProposalLineOut,
    operation_id="approve_proposal",
)
def approve(
    request: ApiRequest, proposal_id: str, data: schemas.ApproveIn
) -> ConsolidationProposal:
    """Learn a rule, as proposed or edited; 409 when somebody decided it before."""
    proposal = proposals.proposal(request.auth, proposal_id)
    return approval.approve(
        proposal, version=data.version, text=data.text, by=request.auth
    )


@router.post(
    "/proposals/{proposal_id}/reject",
    response=schemas.ProposalLineOut,
    operation_id="reject_proposal",
)
def reject(
    request: ApiRequest, proposal_id: str, data: schemas.RejectIn
) -> ConsolidationProposal:
    """Turn a rule down with a reason; it is not proposed again."""
    proposal = proposals.proposal(request.auth, proposal_id)
    return approval.reject(
        proposal, version=data.version, reason=data.reason, by=request.auth
    )
