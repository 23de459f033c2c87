"""Request and response shapes of records."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from memory import records
from memory.api.shapes import Stamp
from memory.models import Record
from memory.records import KEEP, Amendment, Criteria, Match, Order
from memory.rules.scopes import Scope
from memory.rules.shapes import NO_NUL, Id, Moment, Strict

Text = Annotated[str, Field(strict=True)]
Short = Annotated[str, Field(strict=True, max_length=256)]
Type = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=40)]
ScopeMap = Annotated[
    dict[str, Short],
    Field(
        description="Your own partition: user, agent, namespace, thread, and any other"
        " names; kept unchanged.",
        examples=[{"user": "u1", "namespace": "billing"}],
    ),
]
Subjects = Annotated[
    list[Text], Field(description="Aliases of people this record is about.")
]
FILTER = (
    "and, or, not over {field, op, value}; ops eq neq gt gte lt lte in contains exists;"
    " fields content, type, confidence, provenance, session_id, external_id,"
    " created_at, updated_at, expires_at, metadata.<name>."
)


class RecordIn(Strict):
    """A statement to remember. The server sets the provenance, not the caller."""

    content: Text = Field(examples=["Refunds above $200 need a supervisor."])
    type: Type = "statement"
    confidence: float = Field(1.0, ge=0, le=1)
    metadata: dict[str, Any] = Field(default_factory=dict)
    scope: ScopeMap = Field(default_factory=dict)
    session_id: Short = ""
    expires_at: Moment | None = None
    external_id: Annotated[str, Field(strict=True, max_length=200)] = Field(
        "",
        description="Your own id; the same again is the next version of that record.",
    )
    subjects: Subjects = Field(default_factory=list)
    crew_id: Id | None = Field(None, description="For people: whose record it is.")
    agent_id: Id | None = Field(None, description="For people: whose record it is.")
    shared: bool = Field(default=False, description="The crew's own; leads only.")


class SupersedeIn(RecordIn):
    """A statement that replaces others."""

    sources: list[Id] = Field(min_length=1, max_length=100)
    reason: str = Field("", strict=True, max_length=1_000)


class RecordPatch(Strict):
    """The fields to change; ``version`` makes it fail unless that one is current."""

    content: Text | None = None
    type: Type | None = None
    confidence: float | None = Field(None, ge=0, le=1)
    metadata: dict[str, Any] | None = None
    expires_at: Moment | None = Field(None, description="Null: it does not expire.")
    subjects: Subjects = Field(default_factory=list)
    version: int | None = Field(None, ge=1)
    reason: str = Field("", strict=True, max_length=1_000)

    def amendment(self) -> Amendment:
        """Return the change for the service."""
        due = self.expires_at if "expires_at" in self.model_fields_set else KEEP
        return Amendment(
            content=self.content,
            metadata=self.metadata,
            confidence=self.confidence,
            kind=self.type,
            expires_at=due,
            subjects=tuple(self.subjects),
        )


class ForgetRecordIn(Strict):
    """The reason for forgetting a record."""

    reason: str = Field("", strict=True, max_length=1_000)


class RecordsQuery(Strict):
    """The filters of a list of records. ``type`` is comma-separated."""

    crew_id: Id | None = None
    agent_id: Id | None = None
    user: str = Field("", max_length=256)
    agent: str = Field("", max_length=256)
    namespace: str = Field("", max_length=256)
    thread: str = Field("", max_length=256)
    match: Match = Match.NARROW
    type: str = Field("", max_length=1_000)
    session_id: str = Field("", max_length=256)
    external_id: str = Field("", max_length=200)
    min_confidence: float = Field(0.0, ge=0, le=1)
    status: Literal["current", "superseded", "all"] = Field(
        "current", description="For people; an agent gets what is current."
    )
    q: str = Field("", max_length=500, description="A part of the content.")
    as_of: Moment | None = None
    order: Order = Order.NEWEST
    limit: int = Field(50, ge=1, le=500)
    cursor: str | None = Field(None, max_length=2_000)

    def record_filter(self) -> Criteria:
        all_statuses = ("current", "superseded")
        return Criteria(
            crew_id=self.crew_id,
            agent_id=self.agent_id,
            scope=Scope(
                user=self.user,
                agent=self.agent,
                namespace=self.namespace,
                thread=self.thread,
            ),
            match=self.match,
            kinds=tuple(t for t in self.type.split(",") if t.strip()),
            session_id=self.session_id,
            external_id=self.external_id,
            min_confidence=self.min_confidence,
            statuses=all_statuses if self.status == "all" else (self.status,),
            text=self.q,
            as_of=self.as_of,
        )


class RecordSearchIn(Strict):
    """A search over records. Without a query, the newest come first."""

    query: Annotated[str, Field(strict=True, max_length=4_000)] = ""
    scope: ScopeMap = Field(default_factory=dict)
    match: Match = Match.NARROW
    types: list[Type] = Field(default_factory=list, max_length=50)
    session_id: Short = ""
    min_confidence: float = Field(0.0, ge=0, le=1)
    min_score: float = Field(0.0, ge=0, le=1, description="The lowest relevance.")
    limit: int = Field(10, ge=1, le=100)
    offset: int = Field(0, ge=0, le=10_000)
    as_of: Moment | None = Field(None, description="Search what was valid then.")
    filter: dict[str, Any] | None = Field(None, description=FILTER)
    crew_id: Id | None = None
    agent_id: Id | None = None

    def record_filter(self) -> Criteria:
        return Criteria(
            crew_id=self.crew_id,
            agent_id=self.agent_id,
            scope=Scope.of(self.scope),
            match=self.match,
            kinds=tuple(self.types),
            session_id=self.session_id,
            min_confidence=self.min_confidence,
            filter=self.filter,
            as_of=self.as_of,
        )


class RecordOut(Schema):
    """A record; ``scope`` is the caller's map, unchanged."""

    id: str
    content: str
    type: str = Field(validation_alias="kind")
    confidence: float
    metadata: dict[str, Any]
    provenance: str
    scope: dict[str, str]
    session_id: str
    turn_range: list[int] | None
    external_id: str
    status: str
    version: int
    created_at: Stamp
    updated_at: Stamp
    expires_at: Stamp | None
    superseded_by: str | None = Field(validation_alias="superseded_by_id")
    entry_id: str | None = Field(validation_alias="current_entry_id")
    crew_id: str | None
    agent_id: str | None

    @staticmethod
    def resolve_scope(row: Record) -> dict[str, str]:
        return records.scope_of(row).as_map()


class AlikeOut(Schema):
    """A record with nearly the same content."""

    id: str = Field(validation_alias="record_id")
    content: str
    similarity: float


class SavedRecordOut(RecordOut):
    """A saved record, the action taken, and records with nearly the same content."""

    action: Literal["created", "updated", "unchanged"]
    alike: list[AlikeOut]


class RecordsOut(Schema):
    """A page of records; a page may be short, only the last has no cursor."""

    items: list[RecordOut]
    next_cursor: str | None


class RecordHitOut(Schema):
    """A hit; ``relevance`` is comparable between searches, ``score`` is not."""

    record: RecordOut
    score: float
    similarity: float | None
    relevance: float


class RecordSearchOut(Schema):
    """Hits, best first; ``withheld`` is the number of hits kept from the model."""

    hits: list[RecordHitOut]
    withheld: int
    degraded: bool


class RecordVersionOut(Schema):
    """One version of a record."""

    id: str
    number: int
    event: Literal["created", "updated", "superseded", "invalidated"]
    content: str
    type: str = Field(validation_alias="kind")
    confidence: float
    metadata: dict[str, Any]
    provenance: str
    parent_id: str | None
    author: str
    author_type: str
    reason: str
    entry_id: str
    superseded_by: str | None = Field(validation_alias="other_id")
    created_at: Stamp
    valid_to: Stamp | None


class RecordHistoryOut(Schema):
    """A record's versions, oldest first."""

    id: str
    versions: list[RecordVersionOut]


class ForgottenRecordOut(Schema):
    """The answer to forgetting a record."""

    id: str
    status: Literal["forgotten"]


# Ids come from a path, where PostgreSQL takes no NUL.
RecordId = Annotated[str, StringConstraints(max_length=64, pattern=NO_NUL)]
