"""Request and response shapes of cases, holds, the audit log and settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from gdpr.api.open_request_schemas import OpenRequestOut, RequestWarningOut
from gdpr.api.row_schemas import DoubtfulRowOut, Hash, Text, Version
from gdpr.models import (
    ActionKind,
    ActionStatus,
    CaseKind,
    CaseState,
    IdentityGround,
)
from gdpr.pagination import PageQuery
from memory.api.shapes import ListParams, Stamp, TextOrNull
from memory.rules.shapes import Id, Moment, Strict

Short = Annotated[str, Field(strict=True, max_length=200)]


# ── Requests ─────────────────────────────────────────────────────────────────
IdentityReason = Annotated[
    str,
    Field(
        strict=True,
        max_length=4_000,
        description="Why an erasure goes on without an identity check.",
    ),
]


class CasesQuery(ListParams):
    """Filters of the list; an omitted one matches all."""

    state: CaseState | Literal["open", "closed"] | None = None
    kind: CaseKind | None = None
    subject_id: str = Field("", max_length=32)
    assignee: str = Field("", max_length=254)
    due: Literal["overdue", "today", "soon"] | None = None
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None


class ActionsQuery(ListParams):
    """Filters of the audit log; an omitted one matches all."""

    subject_id: str = Field("", max_length=32)
    case_id: str = Field("", max_length=32)
    action: ActionKind | None = None
    status: ActionStatus | None = None
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None


class PrivacyPageQuery(ListParams):
    """Which page of a list."""

    limit: int = Field(200, ge=1, le=200)
    cursor: str | None = None

    def page(self) -> PageQuery:
        return PageQuery(limit=self.limit, cursor=self.cursor)


class HoldsQuery(PrivacyPageQuery):
    """Filters of holds."""

    state: Literal["standing", "released"] | None = None


class CaseIn(Strict):
    """A request of a person; ``received_at`` is now by default."""

    subject_id: Id
    kind: CaseKind
    reason: Text
    requester: Short = ""
    ticket: str = Field("", max_length=120)
    received_at: Moment | None = None
    correction: dict[str, Any] = Field(
        default_factory=dict, description="For rectification: what is wrong, and right."
    )
    identity_how: str = Field(
        "", strict=True, max_length=400, description="How it was verified already."
    )
    identity_ground: IdentityGround | None = None
    identity_reason: IdentityReason = ""


class IdentityIn(Strict):
    """How the person's identity was verified."""

    how: str = Field(strict=True, max_length=400)
    version: Version = None


class SkipIdentityIn(Strict):
    """On what ground an erasure goes on without an identity check, and why."""

    ground: IdentityGround
    reason: Text
    version: Version = None


class ApproveCaseIn(Strict):
    """The plan that is approved."""

    plan_hash: Hash
    version: Version = None


class ExecuteIn(Strict):
    """The plan that is carried out, and the phrase it shows, typed."""

    plan_hash: Hash
    phrase: Short
    break_glass: Text = Field(
        "", description="Why this goes on without the second person. Raises an alarm."
    )
    identity_ground: IdentityGround | None = None
    identity_reason: IdentityReason = ""
    version: Version = None


class ExtendIn(Strict):
    """By how many months, and why."""

    months: int = Field(ge=1, le=2)
    reason: Text
    version: Version = None


class RefuseIn(Strict):
    """Why; the person may read it."""

    reason: Text
    version: Version = None


class AssignIn(Strict):
    """Who works on it; empty is nobody."""

    assignee: str = Field(max_length=254)
    version: Version = None


class CommentIn(Strict):
    """A remark for the timeline."""

    text: Text


class AttachIn(Strict):
    """A document by its hash; its bytes are not sent."""

    name: Short
    sha256: Hash
    bytes: int = Field(0, ge=0, le=2**53 - 1)


class HoldIn(Strict):
    """A legal reason to keep data; ``scope`` is all, or where it is stored."""

    reason: Text
    review_at: Moment
    scope: str = Field("all", max_length=24)
    ground: Short = ""
    owner: str = Field("", max_length=254)


class ReleaseIn(Strict):
    """Why a hold ends."""

    reason: Text = "Released"


# ── Responses ────────────────────────────────────────────────────────────────
class CaseLineOut(Schema):
    """A case as a line of the list."""

    id: str
    subject_id: str
    kind: str
    state: str
    reason: str
    requester: str | None
    ticket: str | None
    assignee: str | None
    received_at: str
    opened_at: str
    opened_by: str
    due_at: str
    days_left: int
    due: str = Field(description="Days left in words: 6 days left, due today.")
    urgency: str = Field(description="overdue, today, soon, later or closed")
    extended_until: str | None
    extension_reason: str | None
    held_from: str | None
    identity_how: str | None
    identity_by: str | None
    identity_at: str | None
    identity_skipped_ground: str | None
    identity_skipped_reason: str | None
    approved_by: str | None
    approved_at: str | None
    approved_plan: str | None
    executed_by: str | None
    break_glass_reason: str | None
    refusal_reason: str | None
    closed_at: str | None
    closed_by: str | None
    correction: dict[str, Any] | None
    result: dict[str, Any] | None
    run: int
    version: int


class CaseListOut(Schema):
    """A page of cases, the most urgent first."""

    items: list[CaseLineOut]
    next_cursor: str | None


class CasePlanOut(Schema):
    """A dry run: what would be deleted, redacted or kept, and why.

    ``undecided`` addresses stand beside the person and are registered as nobody's.
    ``doubtful`` are rows that may be about somebody else, those that wait for a
    decision first, and at most 200; a plan runs when ``doubtful_undecided`` is 0.
    ``doubtful_by_form`` counts those that wait by the form of the name in them.
    """

    plan_hash: str
    phrase: str
    number: int
    made_at: str
    made_by: str
    holders: list[dict[str, Any]]
    total: dict[str, int]
    undecided: int
    doubtful: list[DoubtfulRowOut]
    doubtful_total: int
    doubtful_undecided: int
    doubtful_by_form: dict[str, int] = {}


class CaseStepOut(Schema):
    """A step of the latest run."""

    position: int
    name: str
    title: str
    state: str
    total: int
    done: int
    counts: dict[str, Any]
    fault: str | None
    started_at: str | None
    finished_at: str | None


class CaseEventOut(Schema):
    """A line of the timeline."""

    id: int
    kind: str
    state: str
    text: str
    data: dict[str, Any]
    at: str
    by: str


class CaseOut(CaseLineOut):
    """A case with its plan, its steps and its timeline, the newest event first."""

    plan: CasePlanOut | None
    steps: list[CaseStepOut]
    events: list[CaseEventOut]
    holds: list[str]
    allowed: list[str]
    approval_missing: bool
    approver_missing: bool = Field(
        description="Whether a second person is needed and nobody here may be it."
    )
    other_open_cases: list[OpenRequestOut] = Field(
        description="The person's other open cases, the earliest deadline first."
    )
    warnings: list[RequestWarningOut]


class LegalHoldOut(Schema):
    """A hold."""

    id: str
    subject_id: str
    scope: str
    ground: TextOrNull
    reason: str
    owner: str
    review_at: Stamp
    placed_at: Stamp
    placed_by: str
    released_at: Stamp | None
    released_by: TextOrNull
    release_reason: TextOrNull


class LegalHoldsOut(Schema):
    """Holds, the one to review next first."""

    items: list[LegalHoldOut]
    next_cursor: str | None


class LedgerActionOut(Schema):
    """A row of the audit log."""

    id: str
    subject_id: str = Field(validation_alias="subject_ref")
    case_id: TextOrNull = Field(validation_alias="case_ref")
    action: str
    status: str
    actor_id: str
    actor: TextOrNull = Field(validation_alias="actor_label")
    scope: dict[str, Any]
    reason: TextOrNull
    error: TextOrNull
    initiated_at: Stamp
    completed_at: Stamp | None


class ActionsOut(Schema):
    """A page of the audit log, the newest first."""

    items: list[LedgerActionOut]
    next_cursor: str | None
