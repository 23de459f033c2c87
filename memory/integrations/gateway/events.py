"""Hidden audit events of a turn's memory: each gateway operation and its outcome.

An event names the operation, the category and the status of a failure: no key, no
address, no text of the conversation. It is a journal entry that no agent sees and no
recall or search finds: the system writes it and retires it in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from asgiref.sync import sync_to_async
from django.db import transaction

from memory.integrations.gateway.client import GatewayFailure, Operation
from memory.journal import append as journal
from memory.journal import visibility
from memory.models import Agent
from memory.rules import entries, permissions
from memory.rules.entries import NewEntry, Severity

PREFIX: Final = "memory_gateway"
_VERBS: Final = {
    Operation.SEARCH: "recall",
    Operation.ADD: "add",
    Operation.FLUSH: "flush",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``context_visible`` is never true."""

    name: str
    payload: dict[str, Any] = field(default_factory=dict)
    context_visible: bool = field(default=False, init=False)

    @property
    def is_failure(self) -> bool:
        """Whether the operation failed."""
        return self.name.endswith("_failed")


def succeeded(operation: Operation, **payload: Any) -> Event:
    return Event(f"{PREFIX}_{_VERBS[operation]}_succeeded", payload)


def failed(failure: GatewayFailure, **details: Any) -> Event:
    """Return the event of an operation that failed."""
    payload: dict[str, Any] = {
        "operation": failure.operation.value,
        "category": failure.category.value,
    }
    if failure.status is not None:
        payload["status"] = failure.status
    name = f"{PREFIX}_{_VERBS[failure.operation]}_failed"
    return Event(name, payload | details)


class Sink(Protocol):
    """Where a strategy's events go; it handles its own failures."""

    async def record(self, event: Event) -> None:
        """Store an event."""
        ...


class Silent:
    """A sink that drops events."""

    async def record(self, event: Event) -> None:
        """Drop the event."""


class InMemory:
    """A sink that keeps events in a list, for programs without our journal."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        self.events.append(event)


def write(event: Event, agent: Agent) -> None:
    """Write an event of an agent's turn to the journal, hidden from recall."""
    action = event.name.removeprefix(f"{PREFIX}_")
    draft = NewEntry(
        entry_type=entries.UNSEARCHED + action,
        severity=Severity.WARN if event.is_failure else Severity.INFO,
        summary=f"Memory gateway: {action.replace('_', ' ')}",
        payload={"event": event.name, "agent_id": agent.id, **event.payload},
        refs={"context_visible": event.context_visible},
    )
    by = permissions.system(agent.workspace_id, "gateway")
    with transaction.atomic():
        row = journal.write([draft], by=by)[0]
        visibility.retire(agent.workspace_id, [row.id])


class Journal:
    """A sink over the journal of an agent's workspace."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def record(self, event: Event) -> None:
        """Write the event in the thread that owns the database connection."""
        await sync_to_async(write)(event, self._agent)
