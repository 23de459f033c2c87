"""Rejecting many proposed rules, and undoing exactly that.

Every item names the version it was read in and succeeds or fails by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from episodic.consolidation import approval
from episodic.models import ConsolidationProposal
from memory.rules import errors
from memory.rules.permissions import Actor

LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class BulkItem:
    """The result for one proposal; ``version`` is the one after a success."""

    id: str
    title: str
    ok: bool
    version: int = 0
    state: str = ""
    detail: str = ""


def reject(
    actor: Actor, picks: Sequence[tuple[str, int]], *, reason: str
) -> list[BulkItem]:
    """Reject proposals, each in the version that was read, for one reason."""
    if not reason.strip():
        raise errors.Invalid("A rejection needs a reason.", code="reason_required")
    return _each(actor, picks, partial(approval.reject, reason=reason))


def undo(actor: Actor, picks: Sequence[tuple[str, int]]) -> list[BulkItem]:
    """Let rejected proposals wait again that have not changed since."""
    return _each(actor, picks, approval.undo_rejection)


def _each(
    actor: Actor,
    picks: Sequence[tuple[str, int]],
    act: Callable[..., ConsolidationProposal],
) -> list[BulkItem]:
    actor.require("proposals.decide")
    versions = dict(picks)
    if not 0 < len(versions) <= LIMIT:
        detail = f"Tick between 1 and {LIMIT} proposals."
        raise errors.Invalid(detail, code="bad_ids")
    rows = ConsolidationProposal.objects.filter(workspace_id=actor.workspace_id)
    proposals_by_id = rows.select_related("crew").in_bulk(list(versions))
    results = []
    for proposal_id, version in versions.items():
        proposal = proposals_by_id.get(proposal_id)
        title = proposal.title if proposal else ""
        try:
            if proposal is None:
                raise errors.NotFound
            after = act(proposal, version=version, by=actor)
        except errors.AppError as error:
            item = BulkItem(proposal_id, title, ok=False, detail=error.detail)
        else:
            item = BulkItem(
                proposal_id, title, ok=True, version=after.version, state=after.state
            )
        results.append(item)
    return results
