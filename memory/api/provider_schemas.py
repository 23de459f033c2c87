"""Request and response shapes of the provider contract; fields are only ever added."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BeforeValidator, Field, StringConstraints

from memory.api.shapes import Stamp, TextOrNull
from memory.rules.shapes import Strict

Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, StringConstraints(strict=True, max_length=320)]


Part = Annotated[str, StringConstraints(strict=True, max_length=256)]


class OwnerIn(Strict):
    """The owner of the memory: an agent names only itself, a person any agent."""

    workspace_id: Name
    agent_id: Name = ""
    crew_id: Name = ""


class RetainIn(OwnerIn):
    """A text to store; ``mode`` has no default."""

    tier: Name
    key: Name = ""
    content: Text
    mode: Name
    subjects: tuple[str, ...] = ()


class ProviderRecallIn(OwnerIn):
    """A query; a limit outside 1 to 20 becomes 20."""

    tier: Name = ""
    query: Annotated[str, Field(strict=True, max_length=4_000)]
    limit: int = 20


class ForgetIn(OwnerIn):
    """What to remove: exactly one of ``id`` and ``data_subject_id``."""

    id: Name = ""
    data_subject_id: Name = ""


class ScopeIn(Strict):
    """A part of the agent's memories; ``user`` at least is given."""

    user: Part = ""
    agent: Part = ""
    namespace: Part = ""
    thread: Part = ""

    def non_empty(self) -> dict[str, str]:
        """Return the names with a value."""
        return {name: value for name, value in self.model_dump().items() if value}


class ReflectIn(OwnerIn):
    """A query whose hits the conclusions are drawn from."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    scope: ScopeIn


class ProfileIn(OwnerIn):
    """The scope to describe; ``instructions`` say what to put first."""

    scope: ScopeIn
    instructions: Annotated[str, Field(strict=True, max_length=1_000)] = ""


class GraphIn(OwnerIn):
    """A query, and which part of the graph around its hits; all when left out."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    scope: ScopeIn
    limit: int = Field(10, ge=1, le=100)
    graph_scope: Literal["nodes", "edges", "episodes"] | None = None


class RefIn(Strict):
    """A memory to delete."""

    id: Name
    scope: ScopeIn


class BatchIngestIn(OwnerIn):
    """Inputs to store, all or none, or refs to delete: one of the two."""

    inputs: list[dict[str, Any]] = Field(
        default_factory=list,
        max_length=100,
        description="Each as the capability contract has it: mode text, messages or"
        " verbatim, scope with its user, content or messages.",
    )
    refs: list[RefIn] = Field(default_factory=list, max_length=100)


class HealthQuery(Strict):
    """The agent or crew whose memory to check; for people."""

    agent_id: str = Field("", max_length=128)
    crew_id: str = Field("", max_length=128)


class RetainedOut(Schema):
    """The item's id and its present size."""

    id: str
    bytes: int


class ProviderHitOut(Schema):
    """One hit."""

    source: str
    snippet: str
    line: int | None = None
    score: float | None = None


class RecalledOut(Schema):
    """Hits, best first; ``quarantined`` is for people and never for a model."""

    hits: list[ProviderHitOut]
    quarantined: Annotated[
        list[str] | None, BeforeValidator(lambda ids: ids or None)
    ] = None


class ForgottenOut(Schema):
    """How many items were removed."""

    removed: int


class PulseOut(Schema):
    """The provider's status; ``message`` only when ``ok`` is false."""

    ok: bool
    message: TextOrNull = None
    checked_at: Stamp


class MakerOut(Schema):
    """What made an answer: a model, or extraction; ``fault`` says why no model did."""

    how: Literal["model", "extractive"]
    model: str | None
    fault: str | None


class InsightOut(Schema):
    """A conclusion with its confidence and the memories that support it."""

    content: str
    confidence: float
    supporting_memory_ids: list[str]


class ReflectedOut(Schema):
    """Conclusions, highest confidence first."""

    insights: list[InsightOut]
    maker: MakerOut


class ProfiledOut(Schema):
    """A profile; facts cite their memories, ``maker`` is what wrote the summary."""

    summary: str
    facts: list[str]
    updated_at: str | None
    maker: MakerOut


class GraphNodeOut(Schema):
    """A memory, a person that it names, or an entry that it rests on."""

    id: str
    label: str
    summary: str | None = None
    score: float | None = None


class GraphEdgeOut(Schema):
    """A statement that connects two nodes, and when it was valid."""

    id: str
    fact: str
    source: str = Field(alias="from")
    to: str
    valid_at: str | None = None
    invalid_at: str | None = None
    score: float | None = None


class GraphOut(Schema):
    """A part of the graph."""

    nodes: list[GraphNodeOut]
    edges: list[GraphEdgeOut]


class IngestedOut(Schema):
    """The ids that one input created, updated, and found unchanged."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]


class BatchedOut(Schema):
    """A result for each input, in their order; or the deleted ids."""

    results: list[IngestedOut]
    deleted: list[str]
