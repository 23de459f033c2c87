"""JSON API of recall, of its explanation and of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ninja import Router

from episodic.api import schemas
from episodic.index import status
from episodic.index.sweep import Report
from episodic.recall import explain, ranking, ranking_rows
from episodic.recall import search as recall
from memory.api.request import ApiRequest

router = Router(tags=["episodic"])


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer, and how it came about where the request asks for that."""

    answer: recall.Answer
    explain: dict[str, Any] | None


def _explain(answer: recall.Answer) -> dict[str, Any]:
    dense, sparse = ranking_rows.of(answer)
    return {
        "fusion": ranking.described(answer.request, answer.rankings),
        "preferences": answer.rankings.preferences.as_dict(),
        "scope": answer.reach.scope,
        "considered": answer.rankings.dense.considered,
        "terms": answer.rankings.word_query.terms,
        "dropped": answer.rankings.word_query.dropped,
        "dense": dense,
        "sparse": sparse,
        "context": ranking_rows.of_context(answer),
        "below": answer.below,
    }


@router.post(
    "/recall",
    response=schemas.RecallOut,
    operation_id="recall",
    exclude_none=False,
)
def recall_entries(request: ApiRequest, data: schemas.RecallIn) -> Recalled:
    """Ask what an agent would remember."""
    answer = recall.search(data.request(), by=request.auth)
    return Recalled(answer, _explain(answer) if answer.request.explain else None)


@router.post("/why", response=schemas.WhyOut, operation_id="why")
def why_entry(request: ApiRequest, data: schemas.WhyIn) -> explain.Explanation:
    """Ask why an entry is, or is not, in an answer."""
    return explain.explain(data.request(), data.entry_id, by=request.auth)


@router.get("/index", response=schemas.IndexOut, operation_id="index_status")
def index_status(request: ApiRequest) -> status.Status:
    """Get how complete the index is."""
    return status.status(request.auth.workspace_id, by=request.auth)


@router.post("/index", response=schemas.IndexedOut, operation_id="index_now")
def index_now(request: ApiRequest, data: schemas.IndexIn) -> Report:
    """Embed pending entries now, or the named ones."""
    return status.run(
        request.auth.workspace_id,
        by=request.auth,
        entry_ids=data.entry_ids,
        limit=data.limit,
    )
