"""The interfaces of stores, retrievers, extractors and tool providers."""

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
    """A tool as a host registers it; the mode says who runs it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    namespace: str = "memory"
    mode: str = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Filters of a search; a limit of 0 or less means RETRIEVED."""

    types: tuple[str, ...] = ()
    limit: int = 0
    min_confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A part of a list; a limit of 0 or less means LISTED."""

    types: tuple[str, ...] = ()
    limit: int = 0
    offset: int = 0


NO_FILTERS: Final = Retrieve()
FIRST_PAGE: Final = Listing()


class Store(Protocol):
    """Stores memories by scope; a scope matches only as a whole map."""

    def save(self, memory: Memory) -> None:
        """Save a memory; its id and times are set in place."""
        ...

    def retrieve(
        self, scope: Scope, query: str, options: Retrieve = NO_FILTERS
    ) -> Memories:
        """Return the memories that match a query; an empty one matches all."""
        ...

    def list(self, scope: Scope, options: Listing = FIRST_PAGE) -> Memories:
        """Return memories of a scope, oldest first."""
        ...

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Delete one; unknown ids and those of another scope are ignored."""
        ...

    def delete_all(self, scope: Scope) -> None:
        """Delete the memories of exactly this scope."""
        ...


class Retriever(Protocol):
    """Finds memories that fit a whole conversation."""

    def retrieve_context(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return the memories a model should see before it answers."""
        ...


class Extractor(Protocol):
    """Extracts memories from a conversation."""

    def extract(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return the memories worth saving, without saving them."""
        ...


class Registry(Protocol):
    """A host's registry of tools."""

    def register(self, descriptor: Descriptor) -> None: ...


@runtime_checkable
class ToolProvider(Protocol):
    """A store that adds tools to the same namespace."""

    def register_tools(self, registry: Registry) -> None: ...

    def execute(
        self, scope: Scope, name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run one of them in the scope an executor is bound to."""
        ...


@dataclass(slots=True)
class Turn:
    """The conversation and the prompt's variables, passed through the stages."""

    messages: list[Message] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
