"""Rejecting many proposed rules, and undoing exactly that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.utils.translation import gettext

from episodic.consolidation import approval
from episodic.consolidation import undo as decision_undo
from episodic.models import ConsolidationProposal
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor


def reject(actor: Actor, picks: Sequence[Pick], *, reason: str) -> list[Item]:
    """Reject proposals, each in the version that was read, for one reason."""
    actor.require("proposals.decide")
    if not reason.strip():
        detail = gettext("A rejection needs a reason.")
        raise errors.Invalid(detail, code="reason_required")

    def act(proposal: ConsolidationProposal, pick: Pick) -> Outcome:
        live = approval.reject(proposal, version=pick.number, reason=reason, by=actor)
        return Outcome(state=live.state, version=live.version)

    return bulk.run(picks, partial(_proposals, actor), act, title=_title)


def undo(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Let decided proposals wait again that have not changed since."""
    actor.require("proposals.decide")

    def act(proposal: ConsolidationProposal, pick: Pick) -> Outcome:
        live = decision_undo.undo(proposal, version=pick.number, by=actor)
        return Outcome(state=live.state, version=live.version)

    return bulk.run(picks, partial(_proposals, actor), act, title=_title)


def _proposals(actor: Actor, ids: list[str]) -> dict[str, ConsolidationProposal]:
    rows = ConsolidationProposal.objects.filter(workspace_id=actor.workspace_id)
    return rows.select_related("crew__workspace").in_bulk(ids)


def _title(proposal: ConsolidationProposal) -> str:
    return proposal.title
