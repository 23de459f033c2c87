"""The first floor's JSON API: parse, call, present."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ninja import Router

from episodic import backlog, recall, why
from episodic.doors import present, schemas
from episodic.recall import Fusion
from memory import queries
from memory.doors.api import ApiRequest
from memory.rules.actors import Actor

router = Router(tags=["episodic"])


def default_fusion(actor: Actor) -> Fusion:
    """Return the workspace's way of fusing."""
    return Fusion(queries.workspace(actor).settings.get("fusion", Fusion.RRF.value))


@router.post(
    "/recall",
    response=schemas.RecallOut,
    operation_id="recall",
    exclude_none=False,
)
def recall_entries(request: ApiRequest, data: schemas.RecallIn) -> dict[str, Any]:
    """Ask what an agent would remember."""
    asked = data.request(default_fusion(request.auth))
    return present.answer(recall.ask(asked, by=request.auth))


@router.post("/why", response=schemas.WhyOut, operation_id="why")
def why_entry(request: ApiRequest, data: schemas.WhyIn) -> dict[str, Any]:
    """Ask why an entry is, or is not, in an answer."""
    asked = data.request(default_fusion(request.auth))
    return present.why(why.ask(asked, data.entry_id, by=request.auth))


@router.get("/index", response=schemas.IndexOut, operation_id="index_status")
def index_status(request: ApiRequest) -> dict[str, Any]:
    """Tell how complete the index is."""
    return asdict(backlog.status(request.auth.workspace_id, by=request.auth))


@router.post("/index", response=schemas.IndexedOut, operation_id="index_now")
def index_now(request: ApiRequest, data: schemas.IndexIn) -> dict[str, Any]:
    """Embed now what waits, or the named entries."""
    report = backlog.run(
        request.auth.workspace_id,
        by=request.auth,
        entry_ids=data.entry_ids,
        limit=data.limit,
    )
    return asdict(report)
