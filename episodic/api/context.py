"""The JSON API of the prompt block and of an entry's relations."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field

from episodic.api import schemas
from episodic.recall import neighbours
from episodic.recall import prompt_context as recall_prompt_context
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, annotated
from memory.rules.shapes import NO_NUL

router = Router(tags=["episodic"])
MOST_CHARS = 100_000


class ContextIn(schemas.RecallIn):
    """A question, and the budget of its prompt block."""

    max_chars: Annotated[int, Field(strict=True, le=MOST_CHARS)] = Field(
        2_000, description="Characters, wrapper included; too few give an empty text."
    )
    session_id: str | None = Field(
        None,
        strict=True,
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="A nudge is given once per session; kept as a keyed digest.",
    )


class NudgeOut(Schema):
    """A hint for the agent; the kind is entries or cost."""

    kind: str
    text: str


class ContextOut(Schema):
    """The prompt block; ``skipped`` counts the hits that did not fit."""

    text: str
    entry_ids: list[str]
    chars: int
    skipped: int
    nudges: list[NudgeOut]
    degraded: str | None


class NodeOut(Schema):
    """An entry of the neighbourhood, ``depth`` steps from the one asked for."""

    entry_id: str = Field(validation_alias="id")
    depth: int
    entry_type: str
    severity: str
    summary: str
    ts: Stamp
    agent_id: str | None
    crew_id: str | None


class EdgeOut(Schema):
    """A relation as it was written: from the newer to the older entry."""

    src: str
    dst: str
    relation: str
    weight: float


class RelationsOut(Schema):
    """What an entry is related to, inside the caller's reach."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]


@router.post("/context", response=ContextOut, operation_id="context")
def prompt_context(request: ApiRequest, data: ContextIn) -> dict[str, Any]:
    """Get a recall as a block of hints for an agent's prompt."""
    context = recall_prompt_context.build(
        data.request(),
        by=request.auth,
        max_chars=data.max_chars,
        session_id=data.session_id,
    )
    return {
        "text": context.block.text,
        "entry_ids": context.block.entry_ids,
        "chars": context.block.chars,
        "skipped": context.block.skipped,
        "nudges": context.nudges,
        "degraded": context.answer.rankings.degraded,
    }


@router.get(
    "/entries/{entry_id}/relations",
    response=RelationsOut,
    operation_id="entry_relations",
)
def entry_relations(
    request: ApiRequest,
    entry_id: str,
    depth: Annotated[int, Query(ge=0, le=neighbours.DEPTH_MOST)] = 1,
) -> dict[str, Any]:
    """List what an entry is related to."""
    neighbourhood = neighbours.around(entry_id, depth, by=request.auth)
    return {
        "nodes": [annotated(row, depth=steps) for row, steps in neighbourhood.nodes],
        "edges": neighbourhood.edges,
    }
