"""Request and response shapes of the provider wire; fields are only ever added."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from memory.rules.shapes import Strict

Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, StringConstraints(strict=True, max_length=320)]


Part = Annotated[str, StringConstraints(strict=True, max_length=256)]


class _OwnerIn(Strict):
    """Whose memory: an agent's key may only name itself, a person names an agent."""

    workspace_id: Name
    agent_id: Name = ""
    crew_id: Name = ""


class RetainIn(_OwnerIn):
    """A text to keep; mode has no default."""

    tier: Name
    key: Name = ""
    content: Text
    mode: Name
    subjects: tuple[str, ...] = ()


class ProviderRecallIn(_OwnerIn):
    """A question; a limit out of 1..20 becomes 20."""

    tier: Name = ""
    query: Annotated[str, Field(strict=True, max_length=4_000)]
    limit: int = 20


class ForgetIn(_OwnerIn):
    """Exactly one of id and data_subject_id."""

    id: Name = ""
    data_subject_id: Name = ""


class ScopeIn(Strict):
    """Whose memories of the agent's, by the contract's names: the user at least."""

    user: Part = ""
    agent: Part = ""
    namespace: Part = ""
    thread: Part = ""

    def non_empty(self) -> dict[str, str]:
        """Return the names that say something."""
        return {name: value for name, value in self.model_dump().items() if value}


class ReflectIn(_OwnerIn):
    """A question whose answer is drawn from what it finds."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    scope: ScopeIn


class ProfileIn(_OwnerIn):
    """Whom to describe; ``instructions`` say what comes first."""

    scope: ScopeIn
    instructions: Annotated[str, Field(strict=True, max_length=1_000)] = ""


class GraphIn(_OwnerIn):
    """A question, and which part of the graph around its answers; left out, all."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    scope: ScopeIn
    limit: int = Field(10, ge=1, le=100)
    graph_scope: Literal["nodes", "edges", "episodes"] | None = None


class RefIn(Strict):
    """A memory to delete."""

    id: Name
    scope: ScopeIn


class BatchIngestIn(_OwnerIn):
    """Inputs to keep, all or none, or refs to delete: one of the two."""

    inputs: list[dict[str, Any]] = Field(
        default_factory=list,
        max_length=100,
        description="Each as the capability contract has it: mode text, messages or"
        " verbatim, scope with its user, content or messages.",
    )
    refs: list[RefIn] = Field(default_factory=list, max_length=100)


class HealthQuery(Strict):
    """Whose memory, for people who want to look at one."""

    agent_id: str = Field("", max_length=128)
    crew_id: str = Field("", max_length=128)


class RetainedOut(Schema):
    """The item's id and its size now."""

    id: str
    bytes: int


class ProviderHitOut(Schema):
    """One answer."""

    source: str
    snippet: str
    line: int | None = None
    score: float | None = None


class RecalledOut(Schema):
    """Hits, best first; ``quarantined`` is for people and never for a model."""

    hits: list[ProviderHitOut]
    quarantined: list[str] | None = None


class ForgottenOut(Schema):
    """How many items went."""

    removed: int


class PulseOut(Schema):
    """How the provider is; a message only when it is not well."""

    ok: bool
    message: str | None = None
    checked_at: str


class MakerOut(Schema):
    """Who made an answer: a model, or extraction; ``fault`` says why not the model."""

    how: Literal["model", "extractive"]
    model: str | None
    fault: str | None


class InsightOut(Schema):
    """A conclusion, how sure, and the memories it rests on."""

    content: str
    confidence: float
    supporting_memory_ids: list[str]


class ReflectedOut(Schema):
    """Conclusions, the surest first."""

    insights: list[InsightOut]
    maker: MakerOut


class ProfiledOut(Schema):
    """A profile; facts cite the memories they rest on, ``maker`` wrote the summary."""

    summary: str
    facts: list[str]
    updated_at: str | None
    maker: MakerOut


class GraphNodeOut(Schema):
    """A memory, a person it names, or an entry it rests on."""

    id: str
    label: str
    summary: str | None = None
    score: float | None = None


class GraphEdgeOut(Schema):
    """A statement that joins two nodes, and when it held."""

    id: str
    fact: str
    source: str = Field(alias="from")
    to: str
    valid_at: str | None = None
    invalid_at: str | None = None
    score: float | None = None


class GraphOut(Schema):
    """A piece of the graph."""

    nodes: list[GraphNodeOut]
    edges: list[GraphEdgeOut]


class IngestedOut(Schema):
    """The ids that one input made, changed, and found to be there already."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]


class BatchedOut(Schema):
    """A result for each input, in their order; or the ids that are gone."""

    results: list[IngestedOut]
    deleted: list[str]
