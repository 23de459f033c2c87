"""Request and response schemas of people and of suppressed names."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from gdpr.api.open_request_schemas import OpenRequestOut
from gdpr.models import AliasKind, Consent
from gdpr.subjects.registry import MOST_ALIASES, NAME_CHARS, NOTE_CHARS, VALUE_CHARS
from memory.api.shapes import ListParams, Stamp, TextOrNull
from memory.rules.shapes import NO_NUL, Id, Strict

Value = Annotated[
    str, Field(strict=True, min_length=1, max_length=VALUE_CHARS, pattern=NO_NUL)
]
Note = Annotated[str, Field(strict=True, max_length=NOTE_CHARS)]


class SubjectsQuery(ListParams):
    """Filters of the list: an id, an alias or a part of a name."""

    q: str = Field("", max_length=VALUE_CHARS)
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None


class SuppressionsQuery(ListParams):
    """Whether lifted suppressions are listed too."""

    lifted: bool = False
    limit: int = Field(200, ge=1, le=200)
    cursor: str | None = None


class AliasIn(Strict):
    """One name; the kind decides how it is looked for."""

    kind: AliasKind
    value: Value


class SubjectIn(Strict):
    """A person: a display name, and the aliases that texts use."""

    display_name: str = Field("", max_length=NAME_CHARS)
    aliases: list[AliasIn] = Field(default_factory=list, max_length=MOST_ALIASES)


class MergeIn(Strict):
    """Into which subject another is merged."""

    into: Id


class ConsentIn(Strict):
    """A person's consent; without ``opted_out`` opting out does not change."""

    consent: Consent
    note: Note = ""
    opted_out: bool | None = None


class ReasonIn(Strict):
    """The reason."""

    reason: str = Field(max_length=2_000)


class AliasOut(Schema):
    """An alias; ``searched``: stored rows were searched for it.

    ``common`` names are ordinary words, very short or small numbers: they are looked
    for in links and in fields that say who, in no text. Of such a handle its
    ``@handle`` makes a row doubtful, so that a person decides.
    """

    id: int
    kind: str
    value: str
    added_at: str
    added_by: str
    searched: bool
    common: bool


class SubjectOut(Schema):
    """A person."""

    id: str
    display_name: str
    aliases: list[AliasOut]
    consent: str
    consent_note: str
    consent_at: str | None
    opted_out_at: str | None
    restricted_at: str | None
    erased_at: str | None
    merged_into: str | None
    created_at: str
    created_by: str


class PlaceOut(Schema):
    """How many rows of a place, such as the journal, are about a person."""

    name: str
    title: str
    derived: bool
    count: int
    shared: int
    kept: int
    newest: str | None
    oldest: str | None
    samples: list[str]


class MomentOut(Schema):
    """One line of the timeline."""

    at: str
    kind: str
    text: str
    ref: str | None


class SuggestedAliasOut(Schema):
    """A suggested alias: an address near the person's name, registered for nobody."""

    kind: str
    value: str
    count: int
    why: str
    samples: list[str]


class LiftingOut(Schema):
    """A restriction that ended."""

    restricted_at: str | None
    lifted_at: str | None
    lifted_by: str | None
    reason: str


class SubjectProfileOut(SubjectOut):
    """A person with everything that is stored about them."""

    rows: int
    links: int
    holders: list[PlaceOut]
    beside: list[SuggestedAliasOut]
    restrictions_lifted: list[LiftingOut]
    timeline: list[MomentOut]
    cases: list[str]
    open_cases: list[OpenRequestOut]
    holds: list[str]


class SubjectListOut(Schema):
    """One page of people."""

    items: list[SubjectOut]
    next_cursor: str | None


class SuppressionOut(Schema):
    """A suppressed name; the name itself is not stored."""

    id: int
    kind: str
    subject_id: str = Field(validation_alias="subject_ref")
    case_id: TextOrNull = Field(validation_alias="case_ref")
    since: Stamp
    lifted_at: Stamp | None
    lifted_by: TextOrNull
    lift_reason: TextOrNull


class SuppressionListOut(Schema):
    """The list of suppressed names."""

    items: list[SuppressionOut]
    next_cursor: str | None
