"""The memory of a turn over HTTP: recall before the run, persist after it.

The set-up of the agent, else of the workspace, selects the strategy. A failing gateway
is never an error here: the run goes on without its memories.
"""

from __future__ import annotations

from typing import Annotated, Any

from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field, StringConstraints

from memory.api.request import ApiRequest
from memory.api.shapes import Stamp
from memory.integrations import turn_memories
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway.config import Mode
from memory.integrations.gateway.strategies import Completion, Outcome, Turn
from memory.models import GatewaySetup
from memory.rules.shapes import NO_NUL, Id, Moment, Strict

router = Router(tags=["turns"])
# An id has 128 characters at most, and the gateway gets "chat:" before this one.
Conversation = Annotated[
    str, StringConstraints(min_length=1, max_length=123, pattern=NO_NUL)
]
Words = Annotated[
    str, StringConstraints(min_length=1, max_length=65_536, pattern=NO_NUL)
]


class RecallTurnIn(Strict):
    """The person's prompt. ``user`` names a peer card, where files are used."""

    conversation_id: Conversation
    prompt: Words
    user: Annotated[str, StringConstraints(max_length=64)] = ""


class TurnSnapshotOut(Schema):
    """The two curated files, unchanged during a conversation."""

    memory: str
    user: str


class TurnMessageOut(Schema):
    """One message for the model: after skills, before history; not to be stored."""

    role: str
    content: str


class TurnToolsOut(Schema):
    """Which tools the run registers under this strategy."""

    memory: bool = Field(validation_alias="has_memory_tool")
    session_search: bool = Field(validation_alias="has_session_search")


class TurnRecalledOut(Schema):
    """The memory for a turn; ``system_rule`` belongs in the system prompt."""

    strategy: str
    system_rule: str
    tools: TurnToolsOut
    snapshot: TurnSnapshotOut | None
    reference: TurnMessageOut | None
    memory_context: str | None = Field(
        None, description="What is remembered of the end user, or by the agent, as "
        "text for the prompt; only where the workspace has turns recall memories."
    )  # fmt: skip


class PersistTurnIn(Strict):
    """A finished turn: the prompt and the final answer."""

    conversation_id: Conversation
    prompt: Words
    answer: Words
    completion: Completion = Completion.NORMAL
    asked_at: Moment | None = None
    answered_at: Moment | None = None


class TurnPersistedOut(Schema):
    """The strategy that got the turn."""

    strategy: str


class TurnSetupIn(Strict):
    """A ``memory`` section of a configuration file, for one agent or for all."""

    mode: Mode
    gateway: dict[str, Any] | None = Field(
        None, description="baseUrl, userId, userKey, appId, projectId, scope, topK, "
        "timeoutSeconds. Without userKey the stored one stays, at the same address."
    )  # fmt: skip
    agent_id: Id | None = None


class TurnSetupOut(Schema):
    """A set-up; ``has_key`` says whether a key is stored, the key is never shown."""

    id: str
    agent_id: str | None
    mode: str
    base_url: str
    user_id: str
    has_key: bool
    app_id: str
    project_id: str
    scope: list[str]
    top_k: int
    timeout_seconds: float
    updated_at: Stamp
    updated_by: str

    @staticmethod
    def resolve_has_key(row: GatewaySetup) -> bool:
        return bool(row.sealed_key)


class TurnSetupsOut(Schema):
    """The set-up of the workspace, and those of its agents."""

    items: list[TurnSetupOut]
    next_cursor: str | None


@router.post("/recall", response=TurnRecalledOut, operation_id="recall_turn")
def recall_turn(request: ApiRequest, data: RecallTurnIn) -> dict[str, Any]:
    """Return the memory for a turn, before the model is called."""
    turn = Turn(
        conversation_id=data.conversation_id,
        prompt=data.prompt,
        asked_at=timezone.now(),
        user=data.user,
    )
    result = turn_memories.recall(turn, by=request.auth)
    return {
        "strategy": result.strategy.mode,
        "system_rule": result.strategy.system_rule,
        "tools": result.strategy,
        "snapshot": result.recall.snapshot,
        "reference": result.recall.reference,
        "memory_context": result.memory_context,
    }


@router.post("/persist", response=TurnPersistedOut, operation_id="persist_turn")
def persist_turn(request: ApiRequest, data: PersistTurnIn) -> dict[str, str]:
    """Store a turn after the answer; one that ended in an error is not stored."""
    now = timezone.now()
    turn = Turn(
        conversation_id=data.conversation_id,
        prompt=data.prompt,
        asked_at=data.asked_at or now,
    )
    outcome = Outcome(
        answer=data.answer,
        answered_at=data.answered_at or now,
        completion=data.completion,
    )
    return {"strategy": turn_memories.persist(turn, outcome, by=request.auth).mode}


# ── Set-ups ──────────────────────────────────────────────────────────────────
@router.get("/setups", response=TurnSetupsOut, operation_id="list_turn_setups")
def list_turn_setups(request: ApiRequest) -> dict[str, Any]:
    """List the set-ups of turns; admins only."""
    return {"items": gateway_settings.list_setups(request.auth), "next_cursor": None}


@router.post("/setups", response=TurnSetupOut, operation_id="choose_turn_setup")
def choose_turn_setup(request: ApiRequest, data: TurnSetupIn) -> GatewaySetup:
    """Choose where turns get their memory from; admins only."""
    section = {"mode": data.mode.value, "gateway": data.gateway}
    return gateway_settings.save(section, agent_id=data.agent_id, by=request.auth)
