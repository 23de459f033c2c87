"""The ten optional extensions of a provider, beside the five operations all have.

A provider declares each with a flag; a flag without its method, or a method without its
flag, is a ConfigError at start-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

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
        own = self.required_scope.get(operation)
        return self.required_scope["default"] if own is None else own


# ── The ten ──────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Extension:
    """One of the ten: its name, the seed's name and its methods.

    ``NativeProvider`` shows what each method takes and returns.
    """

    name: str
    alias: str
    methods: tuple[str, ...]


TEN: Final = (
    Extension("update", "updater", ("update",)),
    Extension("package", "packager", ("package",)),
    Extension("temporal", "temporalSearch", ("search_as_of",)),
    Extension("graph", "graphSearch", ("search_graph",)),
    Extension("forget", "forgetter", ("forget",)),
    Extension("profile", "profiler", ("profile",)),
    Extension("reflect", "reflector", ("reflect",)),
    Extension("versioning", "versioner", ("history",)),
    Extension("batch", "batchOps", ("batch_ingest", "batch_delete")),
    Extension("health", "healthCheck", ("health",)),
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
