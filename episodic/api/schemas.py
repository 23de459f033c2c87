"""Request and response schemas of recall and the index."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from ninja import Schema
from pydantic import (
    AfterValidator,
    AliasPath,
    Field,
    model_validator,
)

from episodic.recall.request import Mode, Request
from episodic.recall.results import Hit
from episodic.scopes import Scope
from memory.api.shapes import Out, Stamp
from memory.rules.fusion import Fusion
from memory.rules.shapes import NO_NUL, Id, Moment, Strict

Rounded4 = Annotated[float, AfterValidator(partial(round, ndigits=4))]
Rounded6 = Annotated[float, AfterValidator(partial(round, ndigits=6))]
EntryType = Annotated[str, Field(strict=True, max_length=80, pattern=NO_NUL)]


class RecallIn(Strict):
    """One question."""

    query: str = Field(
        strict=True, min_length=1, max_length=4_000, examples=["lost receipt refund"]
    )
    scope: Scope | None = Field(None, description="Default by the agent's role.")
    crew_id: Id | None = None
    agent_id: Id | None = Field(None, description="For people: recall as this agent.")
    k: Annotated[int, Field(strict=True, ge=1, le=50)] = 5
    mode: Mode = Mode.HYBRID
    fusion: Fusion | None = Field(None, description="Default: the workspace's.")
    entry_types: list[EntryType] = Field(default_factory=list, max_length=50)
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(
        None, description="Only entries that the journal held by then."
    )
    min_score: float | None = Field(
        None,
        strict=True,
        ge=-1,
        le=1,
        description="Least cosine; entries without a vector pass.",
    )
    walk_depth: Annotated[int, Field(strict=True, ge=0, le=1)] | None = None
    explain: Annotated[bool, Field(strict=True)] = False
    mark: Annotated[bool, Field(strict=True)] = True

    def request(self) -> Request:
        fields = {name: getattr(self, name) for name in RecallIn.model_fields}
        fields["scope"] = self.scope.value if self.scope else None
        fields["entry_types"] = tuple(self.entry_types)
        return Request(**fields)


class WhyIn(RecallIn):
    """One question about one entry."""

    entry_id: Id


class RanksOut(Out):
    """Rank in each ranking, from 1; null when the ranking did not find it."""

    dense: int | None
    sparse: int | None


class PartsOut(Out):
    """What each signal adds to a score of convex; they sum up to it."""

    meaning: Rounded6
    words: Rounded6
    context: Rounded6
    substance: Rounded6
    neighbours: Rounded6
    conversation: Rounded6
    preference: Rounded6


class HitOut(Out):
    """One entry of the answer."""

    entry_id: str
    score: Rounded6 = Field(
        description="What the order is by: in convex 0..1, in rrf the sum of "
        "reciprocal ranks, in mode dense cosine × importance. Of one answer alone."
    )
    cosine: Rounded6 | None
    importance: Rounded4
    ranks: RanksOut
    rrf: Rounded6
    age_seconds: Annotated[float, AfterValidator(partial(round, ndigits=1))]
    ts: Stamp
    summary: str
    entry_type: str
    severity: str
    agent_id: str | None
    crew_id: str | None
    payload: dict[str, Any]
    via: str = Field(
        description="Which ranking found it: both, dense, words; context when only the "
        "words around it did; relation:entry_id for a neighbour of a hit."
    )
    parts: PartsOut | None = Field(
        None, description="With explain, of convex; null for neighbours."
    )

    @model_validator(mode="before")
    @classmethod
    def _fields(cls, hit: Hit) -> dict[str, object]:
        """Return the fields of a hit and of its entry under the API's names."""
        entry = hit.entry
        return {
            "entry_id": entry.id,
            "score": hit.score,
            "cosine": hit.cosine,
            "importance": hit.importance,
            "ranks": {"dense": hit.dense_rank, "sparse": hit.sparse_rank},
            "rrf": hit.rrf,
            "age_seconds": hit.age_seconds,
            "ts": entry.ts,
            "summary": entry.summary,
            "entry_type": entry.entry_type,
            "severity": entry.severity,
            "agent_id": entry.agent_id,
            "crew_id": entry.crew_id,
            "payload": entry.payload,
            "via": hit.via,
            "parts": hit.parts,
        }


class TimingsOut(Out):
    """Milliseconds per stage.

    ``embed`` is the question, and what of its scope was written a moment ago.
    """

    embed: float
    dense: float
    sparse: float
    fuse: float
    load: float
    total: float


class LegEntryOut(Out):
    """One entry of one ranking."""

    entry_id: str
    rank: int
    summary: str
    cosine: float | None = None
    importance: float | None = None
    words: list[str] | None = None


class FusionOut(Out):
    """How the score was made; version and weights are those of convex.

    ``name`` is what decided: rrf or convex, product (cosine × importance) in mode
    dense, and rrf when words alone were asked.
    """

    name: str
    version: int | None = None
    weights: dict[str, float] | None = None


class PreferredTimeOut(Out):
    """A time that the question names, at its characters ``start`` to ``end``."""

    text: str
    start: int
    end: int
    since: str | None
    until: str | None
    meaning: str


class PreferredNameOut(Out):
    """Somebody that the question names, and whose entries are meant."""

    text: str
    start: int
    end: int
    name: str
    agent_ids: list[str]
    crew_ids: list[str]
    actor_ids: list[str]


class PreferencesOut(Out):
    """What the question prefers. It leaves nothing out; only convex uses it."""

    times: list[PreferredTimeOut]
    names: list[PreferredNameOut]
    sentences: list[str]


class ExplainOut(Out):
    """How the answer came about; ``context`` ranks by the words around an entry."""

    fusion: FusionOut
    preferences: PreferencesOut
    scope: str
    considered: int
    terms: list[str]
    dropped: list[str]
    dense: list[LegEntryOut]
    sparse: list[LegEntryOut]
    context: list[LegEntryOut]
    below: list[HitOut]


class RecallOut(Out):
    """The answer; ``degraded`` says what is missing, null when nothing is."""

    query: str = Field(validation_alias=AliasPath("answer", "request", "query"))
    mode: str = Field(validation_alias=AliasPath("answer", "request", "mode", "value"))
    fusion: str = Field(
        validation_alias=AliasPath("answer", "request", "fused_by", "value")
    )
    degraded: str | None = Field(
        validation_alias=AliasPath("answer", "rankings", "degraded")
    )
    hits: list[HitOut] = Field(validation_alias=AliasPath("answer", "hits"))
    timings_ms: TimingsOut = Field(validation_alias=AliasPath("answer", "timings"))
    model: str | None = Field(validation_alias=AliasPath("answer", "model"))
    explain: ExplainOut | None = None


class CheckOut(Schema):
    """One check; the verdict is pass, fail or none."""

    name: str
    verdict: str
    text: str


class WhyOut(Schema):
    """Why an entry is, or is not, in the answer."""

    entry_id: str = Field(validation_alias="entry.id")
    returned: bool
    rank: int | None
    finding: str
    would_need_k: int | None
    checks: list[CheckOut]
    degraded: str | None = Field(validation_alias="answer.rankings.degraded")


class IndexOut(Schema):
    """How complete the index is, for the model in use."""

    embeddable: int
    indexed: int
    pending: int
    failed: int
    model: str | None
    dim: int | None
    oldest_pending_seconds: float | None


class IndexIn(Strict):
    """What to embed now: the named entries, or the pending ones."""

    entry_ids: list[Id] | None = Field(None, max_length=1_000)
    limit: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 256


class IndexedOut(Schema):
    """How many entries were indexed, skipped and failed."""

    indexed: int
    skipped: int
    failed: int
