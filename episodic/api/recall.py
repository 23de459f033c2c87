"""JSON API of recall, of its explanation and of the index."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ninja import Router

from episodic.api import schemas, serializers
from episodic.index import status
from episodic.recall import explain
from episodic.recall import search as recall
from memory.api.request import ApiRequest

router = Router(tags=["episodic"])


@router.post(
    "/recall",
    response=schemas.RecallOut,
    operation_id="recall",
    exclude_none=False,
)
def recall_entries(request: ApiRequest, data: schemas.RecallIn) -> dict[str, Any]:
    """Ask what an agent would remember."""
    answer = recall.search(data.request(), by=request.auth)
    return serializers.answer(answer)


@router.post("/why", response=schemas.WhyOut, operation_id="why")
def why_entry(request: ApiRequest, data: schemas.WhyIn) -> dict[str, Any]:
    """Ask why an entry is, or is not, in an answer."""
    result = explain.explain(data.request(), data.entry_id, by=request.auth)
    return serializers.explanation(result)


@router.get("/index", response=schemas.IndexOut, operation_id="index_status")
def index_status(request: ApiRequest) -> dict[str, Any]:
    """Get how complete the index is."""
    return asdict(status.status(request.auth.workspace_id, by=request.auth))


@router.post("/index", response=schemas.IndexedOut, operation_id="index_now")
def index_now(request: ApiRequest, data: schemas.IndexIn) -> dict[str, Any]:
    """Embed pending entries now, or the named ones."""
    report = status.run(
        request.auth.workspace_id,
        by=request.auth,
        entry_ids=data.entry_ids,
        limit=data.limit,
    )
    return asdict(report)
