"""Runs the chosen strategy for agents that call over HTTP.

Recall runs before the model, persist after its answer. A gateway's failure never fails
the turn: it becomes a hidden event for operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from memory.integrations.gateway import secrets as gateway_secrets
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway import snapshots, strategies
from memory.integrations.gateway.client import (
    Category,
    GatewayClient,
    GatewayFailure,
    Operation,
)
from memory.integrations.gateway.config import GatewayConfig, Mode, Secret
from memory.integrations.gateway.events import Journal
from memory.integrations.gateway.strategies import (
    Gateway,
    MemoryStrategy,
    Outcome,
    Recall,
    Snapshot,
    Turn,
)
from memory.models import Agent, GatewaySetup
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory has for a turn, and the strategy it came from.

    ``memory_context`` is the text of memories, None when none were recalled.
    """

    strategy: MemoryStrategy
    recall: Recall
    memory_context: str | None = None


class _Unusable(GatewayClient):
    """Used when the key of a set-up cannot be opened: every call fails."""

    async def _post(
        self,
        operation: Operation,
        fields: dict[str, Any],  # noqa: ARG002
    ) -> dict[str, Any]:
        raise GatewayFailure(operation, Category.SETUP)


def _client(row: GatewaySetup) -> tuple[GatewayConfig, GatewayClient]:
    """Return a set-up's settings and client."""
    try:
        config = gateway_settings.settings_of(row).gateway
    except gateway_secrets.Broken:
        config = None
    if config is None:
        unusable = gateway_settings.gateway_of(row, Secret(""))
        return unusable, _Unusable(unusable)
    return config, GatewayClient(config)


def strategy(agent: Agent, look: Callable[[], Snapshot] = Snapshot) -> MemoryStrategy:
    """Return the strategy of an agent's turn; ``look`` reads its files."""
    row = gateway_settings.of_agent(agent.workspace_id, agent.id)
    mode = Mode(row.mode) if row else Mode.CURATED
    gateway = None
    if row is not None and mode is not Mode.CURATED:
        config, client = _client(row)
        gateway = Gateway(config, Journal(agent), client)
    # Read here: a strategy runs where the database may not be used.
    files = Snapshot() if mode is Mode.MEMORY_GATEWAY else look()
    return strategies.build(mode, gateway, lambda: files)


def _strategy_type(by: Actor) -> type[MemoryStrategy]:
    """Return the strategy type of an agent's turns; curated for other callers."""
    if not by.is_agent:
        return strategies.Curated
    row = gateway_settings.of_agent(by.workspace_id, by.id)
    return strategies.OF_MODE[Mode(row.mode) if row else Mode.CURATED]


def has_memory_tool(by: Actor) -> bool:
    """Whether a caller has the tools over memory files."""
    return _strategy_type(by).has_memory_tool


def has_session_search(by: Actor) -> bool:
    """Whether a caller has the tool that searches earlier sessions."""
    return by.is_agent and _strategy_type(by).has_session_search


def _agent(by: Actor) -> Agent:
    rows = Agent.objects.select_related("crew__workspace")
    return rows.get(pk=by.id, workspace_id=by.workspace_id)


def recall(turn: Turn, *, by: Actor) -> Recalled:
    """Run an agent's strategy before its run."""
    by.require("turns.recall")
    agent = _agent(by)
    agent_strategy = strategy(agent, lambda: snapshots.take(agent, turn, by=by))
    return Recalled(
        agent_strategy, async_to_sync(agent_strategy.recall_before_run)(turn)
    )


def persist(turn: Turn, outcome: Outcome, *, by: Actor) -> MemoryStrategy:
    """Run an agent's strategy after its run; return the strategy."""
    by.require("turns.persist")
    agent_strategy = strategy(_agent(by))
    async_to_sync(agent_strategy.persist_after_run)(turn, outcome)
    return agent_strategy
