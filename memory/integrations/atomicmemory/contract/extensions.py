"""The ten optional extensions of a provider, beside the five operations all have.

A provider declares each with a flag; a flag without its method, or a method without its
flag, is a ConfigError at start-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import AfterValidator, Field

from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.contract.types import Shape

OPERATIONS: Final = (
    "ingest search get delete list update package temporal graph forget profile"
    " reflect versioning batch"
).split()
FilterOp = Literal["eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "exists"]


class Extensions(Shape):
    """Which of the ten a provider supports; all ten flags are always present."""

    update: bool = False
    package: bool = False
    temporal: bool = False
    graph: bool = False
    forget: bool = False
    profile: bool = False
    reflect: bool = False
    versioning: bool = False
    batch: bool = False
    health: bool = False


def _fields(value: dict[str, list[str]]) -> dict[str, list[str]]:
    """Refuse operations and scope fields that the contract does not have."""
    unknown = set(value) - {"default", *OPERATIONS}
    unknown |= {name for names in value.values() for name in names} - set(
        types.SCOPE_FIELDS
    )
    if unknown:
        raise ValueError(f"knows no {', '.join(sorted(unknown))}")
    return {"default": [], **value}


# Which scope fields an operation needs; ``default`` where it has no list of its own.
RequiredScope = Annotated[dict[str, list[str]], AfterValidator(_fields)]


class Custom(Shape):
    """A vendor's own extension."""

    version: str | None = None
    description: str | None = None


class Capabilities(Shape):
    """What a provider supports, checked against its methods at start-up."""

    ingest_modes: Annotated[list[types.Mode], Field(min_length=1)]
    required_scope: RequiredScope = {"default": []}
    extensions: Extensions = Extensions()
    custom_extensions: dict[str, Custom] | None = None
    supported_rerankers: list[str] | None = None
    supported_filter_ops: list[FilterOp] | None = None
    max_token_budget: Annotated[int, Field(ge=1)] | None = None

    def needs(self, operation: str) -> list[str]:
        """Return the scope fields an operation needs."""
        own = self.required_scope.get(operation)
        return self.required_scope["default"] if own is None else own


# ── The ten protocols ────────────────────────────────────────────────────────
class Updater(Protocol):
    """Changes a memory's text."""

    def update(self, ref: types.MemoryRef, content: str) -> types.Memory:
        """Return the memory with its new text; the old version is in its history."""
        ...


class Packager(Protocol):
    """Packs hits into a token budget."""

    def package(self, request: types.PackageRequest) -> types.ContextPackage:
        """Return text for a prompt, never above the budget."""
        ...


class TemporalSearch(Protocol):
    """Searches as of a time."""

    def search_as_of(
        self, request: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        """Return the hits as of then, without what was forgotten since."""
        ...


class GraphSearch(Protocol):
    """Returns search results as a graph."""

    def search_graph(self, request: types.GraphSearchRequest) -> types.GraphResult:
        """Return nodes and the facts that connect them."""
        ...


class Forgetter(Protocol):
    """Forgets with a reason."""

    def forget(self, ref: types.MemoryRef, reason: str | None = None) -> None:
        """Erase a memory's text, now and in its history."""
        ...


class Profiler(Protocol):
    """Summarises a scope."""

    def profile(
        self, scope: types.Scope, instructions: str | None = None
    ) -> types.Profile:
        """Return a summary and the facts it rests on."""
        ...


class Reflector(Protocol):
    """Draws conclusions."""

    def reflect(self, query: str, scope: types.Scope) -> list[types.Insight]:
        """Return insights, each with the memories it rests on."""
        ...


class Versioner(Protocol):
    """Keeps the versions of a memory."""

    def history(self, ref: types.MemoryRef) -> list[types.MemoryVersion]:
        """Return the versions, oldest first, each naming its parent."""
        ...


class BatchOps(Protocol):
    """Ingests or deletes many memories at once."""

    def batch_ingest(self, inputs: Sequence[types.Ingest]) -> list[types.IngestResult]:
        """Return one result for each input, in order."""
        ...

    def batch_delete(self, refs: Sequence[types.MemoryRef]) -> None:
        """Delete each; idempotent."""
        ...


class Health(Protocol):
    """Reports the provider's state."""

    def health(self) -> types.HealthStatus:
        """Return the state; never raises once initialized."""
        ...


@dataclass(frozen=True, slots=True)
class Extension:
    """One of the ten: its name, the seed's name, its protocol and methods."""

    name: str
    alias: str
    protocol: type[Any]
    methods: tuple[str, ...]


TEN: Final = (
    Extension("update", "updater", Updater, ("update",)),
    Extension("package", "packager", Packager, ("package",)),
    Extension("temporal", "temporalSearch", TemporalSearch, ("search_as_of",)),
    Extension("graph", "graphSearch", GraphSearch, ("search_graph",)),
    Extension("forget", "forgetter", Forgetter, ("forget",)),
    Extension("profile", "profiler", Profiler, ("profile",)),
    Extension("reflect", "reflector", Reflector, ("reflect",)),
    Extension("versioning", "versioner", Versioner, ("history",)),
    Extension("batch", "batchOps", BatchOps, ("batch_ingest", "batch_delete")),
    Extension("health", "healthCheck", Health, ("health",)),
)
ALIASES: Final = {
    **{extension.name: extension.name for extension in TEN},
    **{extension.alias: extension.name for extension in TEN},
    "batch_ops": "batch",
}


def dishonest(provider: object, capabilities: Capabilities) -> list[str]:
    """Return each mismatch of flags and methods as a sentence; empty for none."""
    problems = []
    for extension in TEN:
        claimed = getattr(capabilities.extensions, extension.name)
        present = [
            name
            for name in extension.methods
            if callable(getattr(provider, name, None))
        ]
        absent = [name for name in extension.methods if name not in present]
        if claimed and absent:
            problems.append(
                f"{extension.name} is declared and {', '.join(absent)} is missing"
            )
        if not claimed and present:
            problems.append(
                f"{', '.join(present)} is there and {extension.name} is not declared"
            )
    return problems
