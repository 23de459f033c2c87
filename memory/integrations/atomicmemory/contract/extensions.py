"""The ten things a provider may do beyond the five that everyone does.

A provider says which it does by a flag; a flag without its method, or a method without
its flag, is a lie that is found at start-up.
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
    """Which of the ten a provider does; all ten are always there."""

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
    """Refuse an operation or a scope field that the contract does not know."""
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
    """A vendor's own feature."""

    version: str | None = None
    description: str | None = None


class Capabilities(Shape):
    """What a provider can do, checked against what it is when it starts."""

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


# ── What each of the ten is ──────────────────────────────────────────────────
class Updater(Protocol):
    """Changes a memory's words."""

    def update(self, ref: types.MemoryRef, content: str) -> types.Memory:
        """Return the memory with its new words; the old version is in its history."""
        ...


class Packager(Protocol):
    """Fits an answer into a budget."""

    def package(self, request: types.PackageRequest) -> types.ContextPackage:
        """Return text for a prompt, never above the budget."""
        ...


class TemporalSearch(Protocol):
    """Answers as of a time."""

    def search_as_of(
        self, request: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        """Return what would have been found then, without what was forgotten since."""
        ...


class GraphSearch(Protocol):
    """Answers with a graph."""

    def search_graph(self, request: types.GraphSearchRequest) -> types.GraphResult:
        """Return nodes and the statements that join them."""
        ...


class Forgetter(Protocol):
    """Forgets, and says why."""

    def forget(self, ref: types.MemoryRef, reason: str | None = None) -> None:
        """Take a memory's words away, now and in its history."""
        ...


class Profiler(Protocol):
    """Tells whom a scope is about."""

    def profile(
        self, scope: types.Scope, instructions: str | None = None
    ) -> types.Profile:
        """Return a summary and the facts under it."""
        ...


class Reflector(Protocol):
    """Draws conclusions."""

    def reflect(self, query: str, scope: types.Scope) -> list[types.Insight]:
        """Return insights, each with the memories it rests on."""
        ...


class Versioner(Protocol):
    """Knows how a memory became what it is."""

    def history(self, ref: types.MemoryRef) -> list[types.MemoryVersion]:
        """Return the versions, oldest first, each naming its parent."""
        ...


class BatchOps(Protocol):
    """Many at once."""

    def batch_ingest(self, inputs: Sequence[types.Ingest]) -> list[types.IngestResult]:
        """Return one result for each input, in order."""
        ...

    def batch_delete(self, refs: Sequence[types.MemoryRef]) -> None:
        """Delete each; one that is gone already is no error."""
        ...


class Health(Protocol):
    """Tells whether it works."""

    def health(self) -> types.HealthStatus:
        """Return the state; never raises once initialized."""
        ...


@dataclass(frozen=True, slots=True)
class Extension:
    """One of the ten: its real name, the seed's name, and the methods it stands for."""

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
    """Return every claim that does not hold, as sentences; empty when all do."""
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
