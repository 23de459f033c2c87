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
from memory.journal import append as journal

router = Router(tags=["consolidation"])

_PLAIN = (
    "id",
    "version",
    "state",
    "crew_id",
    "pattern",
    "action",
    "confidence",
    "score",
    "evidence",
    "runs",
    "summariser",
    "was_edited",
)


def _line(proposal: ConsolidationProposal) -> dict[str, Any]:
    return {name: getattr(proposal, name) for name in _PLAIN} | {
        "crew": proposal.crew.slug,
        "created_at": journal.stamp(proposal.created_at),
        "decided_at": proposals.moment(proposal.decided_at),
        "decided_by": proposal.decided_by or None,
        "reason": proposal.reason or None,
        "learned_label": proposal.learned_label or None,
        "learned_version": proposal.learned_version_id,
    }


def _detail(proposal: ConsolidationProposal) -> dict[str, Any]:
    facts, change = proposals.facts(proposal), proposals.change(proposal)
    entries = [
        {
            "id": row.id,
            "ts": journal.stamp(row.ts),
            "entry_type": row.entry_type,
            "severity": row.severity,
            "summary": row.summary,
            "agent_id": row.agent_id,
        }
        for row in facts.evidence
    ]
    return _line(proposal) | {
        "text": proposal.text,
        "content_hash": proposal.content_hash,
        "label": proposal.learned_label or change.label,
        "diff": [asdict(line) for line in change.lines] if proposal.is_pending else [],
        "entries": entries,
        "evidence_gone": facts.missing_count,
        "recalls": facts.support.recalls,
        "queries": facts.support.queries,
        "score": facts.score.composite,
        "signals": facts.score.signals,
        "is_promoted": facts.score.is_promoted,
    }


@router.post(
    "/consolidate/run", response=schemas.RunOut, operation_id="consolidate_run"
)
def run(request: ApiRequest, data: schemas.RunIn) -> dict[str, Any]:
    """Propose rules from what happened since the last run; nothing is learned by it."""
    report = consolidation.of_workspace(by=request.auth, crew_id=data.crew_id)
    return {
        "crews": [asdict(crew) for crew in report],
        "proposed": sum(len(crew.proposed) for crew in report),
    }


@router.get(
    "/proposals", response=schemas.ProposalListOut, operation_id="list_proposals"
)
def list_proposals(
    request: ApiRequest, query: Query[schemas.ProposalQuery]
) -> dict[str, Any]:
    """List proposed rules, newest first."""
    page = proposals.page(
        request.auth, query.state or "", limit=query.limit, cursor=query.cursor
    )
    items = [_line(proposal) for proposal in page.items]
    return {"items": items, "next_cursor": page.next_cursor}


@router.get(
    "/proposals/{proposal_id}",
    response=schemas.ProposalOut,
    operation_id="get_proposal",
)
def get_proposal(request: ApiRequest, proposal_id: str) -> dict[str, Any]:
    """Get a proposed rule with its evidence and what approving it would change."""
    return _detail(proposals.proposal(request.auth, proposal_id))


@router.post(
    "/proposals/{proposal_id}/approve",
    response=schemas.ProposalLineOut,
    operation_id="approve_proposal",
)
def approve(
    request: ApiRequest, proposal_id: str, data: schemas.ApproveIn
) -> dict[str, Any]:
    """Learn a rule, as proposed or edited; 409 when somebody decided it before."""
    proposal = proposals.proposal(request.auth, proposal_id)
    return _line(
        approval.approve(
            proposal, version=data.version, text=data.text, by=request.auth
        )
    )


@router.post(
    "/proposals/{proposal_id}/reject",
    response=schemas.ProposalLineOut,
    operation_id="reject_proposal",
)
def reject(
    request: ApiRequest, proposal_id: str, data: schemas.RejectIn
) -> dict[str, Any]:
    """Turn a rule down with a reason; it is not proposed again."""
    proposal = proposals.proposal(request.auth, proposal_id)
    return _line(
        approval.reject(
            proposal, version=data.version, reason=data.reason, by=request.auth
        )
    )
