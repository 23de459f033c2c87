"""The data types of the capability contract: frozen, unknown fields refused.

Names are snake_case here and camelCase outside; either is read. Two hit fields and the
retrieval receipt are snake_case on both sides, as the contract has it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictFloat,
    StrictInt,
)
from pydantic.alias_generators import to_camel

Mode = Literal["text", "messages", "verbatim"]
Kind = Literal["fact", "episode", "summary", "procedure", "document"]
Event = Literal["created", "updated", "superseded", "invalidated"]
Format = Literal["flat", "tiered", "structured"]
GraphScope = Literal["nodes", "edges", "episodes"]
ContentClass = Literal["summary", "redacted", "raw"]
KINDS: Final = get_args(Kind)
SCOPE_FIELDS: Final = ("user", "agent", "namespace", "thread")
# The seed's names of two modes.
_MODES: Final = {"message": "messages", "memory": "verbatim"}


def iso(value: datetime) -> str:
    """Return a time in UTC with milliseconds and Z."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


Moment = Annotated[
    AwareDatetime, PlainSerializer(iso, return_type=str, when_used="json")
]


class Shape(BaseModel):
    """The base: frozen, unknown names refused, snake_case and camelCase accepted."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: camelCase, without absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Scope(Shape):
    """Whose memory, in the caller's own parts."""

    user: str | None = None
    agent: str | None = None
    namespace: str | None = None
    thread: str | None = None


class MemoryRef(Shape):
    id: Annotated[str, Field(min_length=1)]
    scope: Scope


class Provenance(Shape):
    """The caller's own description of a text's source; not verified."""

    source: str | None = None
    source_url: str | None = None
    source_id: str | None = None
    extractor: str | None = None


class Memory(Shape):
    """A stored memory; unknown fields are ignored on reading."""

    model_config = ConfigDict(extra="ignore")

    id: str
    content: str
    scope: Scope
    kind: Kind | None = None
    created_at: Moment
    updated_at: Moment | None = None
    provenance: Provenance | None = None
    metadata: dict[str, Any] | None = None


# ── Ingest ───────────────────────────────────────────────────────────────────
class Message(Shape):
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    name: str | None = None


class _Ingest(Shape):
    scope: Scope
    provenance: Provenance | None = None
    metadata: dict[str, Any] | None = None
    content_class: ContentClass | None = Field(default=None, alias="content_class")


def mode_of(value: object) -> object:
    """Return a mode for its name or its seed name."""
    return _MODES.get(value, value) if isinstance(value, str) else value


_Normal = BeforeValidator(mode_of)


class TextIngest(_Ingest):
    """Text from which statements are extracted."""

    mode: Annotated[Literal["text"], _Normal] = "text"
    content: Annotated[str, Field(min_length=1)]


class MessageIngest(_Ingest):
    """A conversation from which statements are extracted."""

    mode: Annotated[Literal["messages"], _Normal] = "messages"
    messages: Annotated[list[Message], Field(min_length=1)]


class VerbatimIngest(_Ingest):
    """A text stored verbatim, as one memory."""

    mode: Annotated[Literal["verbatim"], _Normal] = "verbatim"
    content: Annotated[str, Field(min_length=1)]
    kind: Kind | None = None


Ingest = TextIngest | MessageIngest | VerbatimIngest
INGESTS: Final[dict[str, type[TextIngest | MessageIngest | VerbatimIngest]]] = {
    "text": TextIngest,
    "messages": MessageIngest,
    "verbatim": VerbatimIngest,
}


class IngestResult(Shape):
    """The ids of created, updated and already stored memories."""

    created: list[str] = []
    updated: list[str] = []
    unchanged: list[str] = []


# ── Search ───────────────────────────────────────────────────────────────────
class SearchRequest(Shape):
    """A search; ``threshold`` is the least relevance, ``cursor`` the next page."""

    query: Annotated[str, Field(min_length=1)]
    scope: Scope
    limit: Annotated[int, Field(ge=1, le=100)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    filter: dict[str, Any] | None = None
    reranker: str | None = None
    cursor: str | None = None


class AsOfRequest(SearchRequest):
    as_of: AwareDatetime


class PackageRequest(SearchRequest):
    """A search whose result is packed into a token budget."""

    token_budget: Annotated[int, Field(ge=1)] | None = None
    format: Format | None = None


class ListRequest(Shape):
    scope: Scope
    limit: Annotated[int, Field(ge=1, le=100)] | None = None
    cursor: str | None = None
    filter: dict[str, Any] | None = None


class GraphSearchRequest(Shape):
    """A search in the graph of records, their journal entries and links."""

    query: Annotated[str, Field(min_length=1)]
    scope: Scope
    limit: Annotated[int, Field(ge=1, le=100)] | None = None
    graph_scope: GraphScope | None = None
    reranker: str | None = None


class SearchResult(Shape):
    """One hit. Scores compare within one answer of one provider only."""

    memory: Memory
    score: float
    similarity: float | None = None
    ranking_score: float | None = None
    relevance: Annotated[float, Field(ge=0, le=1)] | None = None
    version_id: str | None = Field(default=None, alias="version_id")
    observed_at: str | None = Field(default=None, alias="observed_at")


class RetrievalReceipt(BaseModel):
    """How hits were found; enough to repeat the search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedding_provider: str | None = None
    embedding_model: Annotated[str, Field(min_length=1)]
    embedding_model_version: Annotated[str, Field(min_length=1)]
    embedding_dimensions: Annotated[int, Field(ge=1)]
    query_text: str
    candidate_ids: list[str]
    trace_id: Annotated[str, Field(min_length=1)]


class SearchResultPage(Shape):
    """Hits, best first."""

    results: list[SearchResult]
    cursor: str | None = None
    retrieval: RetrievalReceipt | None = None


class ListResultPage(Shape):
    """A page; ``cursor`` is set while more may follow."""

    memories: list[Memory]
    cursor: str | None = None


class ContextPackage(Shape):
    """Text for a prompt. ``budget_constrained`` says that something did not fit."""

    text: str
    results: list[SearchResult]
    tokens: StrictInt
    budget_constrained: StrictBool


class GraphNode(Shape):
    """A record, a person or a journal entry."""

    id: str
    label: str
    summary: str | None = None
    score: float | None = None


class GraphEdge(Shape):
    """A fact that connects two nodes, and when it was valid."""

    id: str
    fact: str
    from_: str = Field(alias="from")
    to: str
    valid_at: Moment | None = None
    invalid_at: Moment | None = None
    score: float | None = None


class GraphResult(Shape):
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []


class Profile(Shape):
    """A summary of a scope; facts cite the memories they rest on."""

    summary: str
    facts: list[str] | None = None
    updated_at: Moment | None = None


class Insight(Shape):
    """A conclusion, its confidence, and the memories it rests on."""

    content: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    supporting_memory_ids: list[str]


class MemoryVersion(Shape):
    id: str
    content: str
    created_at: Moment
    parent_id: str | None = None
    event: Event


class HealthStatus(Shape):
    ok: StrictBool
    latency_ms: StrictInt | StrictFloat | None = None
    version: str | None = None
