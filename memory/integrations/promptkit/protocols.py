"""What a store, a retriever, an extractor and a provider of tools must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from memory.integrations.promptkit.memories import Memory, Message, Scope

DEFAULT_RETRIEVE: Final = 10
DEFAULT_LIST: Final = 50
Memories: TypeAlias = list[Memory]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A tool as a host registers it; the mode says who carries it out."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    namespace: str = "memory"
    mode: str = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """What may come back; a limit of 0 or less means RETRIEVED."""

    types: tuple[str, ...] = ()
    limit: int = 0
    min_confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which part of a list; a limit of 0 or less means LISTED."""

    types: tuple[str, ...] = ()
    limit: int = 0
    offset: int = 0


NO_FILTERS: Final = Retrieve()
FIRST_PAGE: Final = Listing()


class Store(Protocol):
    """Keeps memories by scope; a scope matches only as a whole map."""

    def save(self, memory: Memory) -> None:
        """Keep a memory; its id and times are filled in place."""
        ...

    def retrieve(
        self, scope: Scope, query: str, options: Retrieve = NO_FILTERS
    ) -> Memories:
        """Return what answers a query; an empty one matches everything."""
        ...

    def list(self, scope: Scope, options: Listing = FIRST_PAGE) -> Memories:
        """Return memories of a scope, oldest first."""
        ...

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Delete one; unknown ids and those of another scope are silently fine."""
        ...

    def delete_all(self, scope: Scope) -> None:
        """Delete what is in exactly this scope."""
        ...


class Retriever(Protocol):
    """Finds what a whole conversation calls for."""

    def retrieve_context(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return the memories a model should see before it answers."""
        ...


class Extractor(Protocol):
    """Finds what a conversation leaves behind."""

    def extract(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return what is worth keeping; nothing is saved here."""
        ...


class Registry(Protocol):
    """Where a host keeps the tools it offers."""

    def register(self, descriptor: Descriptor) -> None:
        """Offer a tool."""
        ...


@runtime_checkable
class ToolProvider(Protocol):
    """A store that brings tools of its own into the same namespace."""

    def register_tools(self, registry: Registry) -> None:
        """Add them."""
        ...

    def execute(
        self, scope: Scope, name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Carry one of them out in the scope an executor is bound to."""
        ...


@dataclass(slots=True)
class Turn:
    """What passes through the stages: the conversation, and the prompt's variables."""

    messages: list[Message] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
