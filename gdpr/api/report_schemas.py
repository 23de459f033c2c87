"""Request and response shapes of reports: month, register, record of processing."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from ninja import Schema
from pydantic import Field

from gdpr.models import CaseKind
from memory.api.shapes import ListParams
from memory.rules.shapes import Strict

Words = Annotated[str, Field(strict=True, max_length=2_000)]


class MonthQuery(ListParams):
    """Which month, in the workspace's calendar; omitted is the present one."""

    month: str = Field("", max_length=7, description="Such as 2026-11.")


class PeriodQuery(ListParams):
    """Days, both included; omitted is this year until today."""

    since: date | None = None
    until: date | None = None
    limit: int = Field(200, ge=1, le=200)
    cursor: str | None = None


class PeriodIn(Strict):
    """Days, both included; omitted is this year until today."""

    since: date | None = None
    until: date | None = None


class PurposeIn(Strict):
    """Why a place is processed, and on what ground; confirmed by sending it."""

    purpose: Words
    legal_basis: Words


# ── Responses ────────────────────────────────────────────────────────────────
class LateCaseOut(Schema):
    """An overdue case: where it stood when its deadline ran out."""

    case_id: str
    kind: str
    why: str = Field(
        description="entered_late, identity, plan, decisions, approval, start, running,"
        " partial or hold"
    )
    extended: bool
    open: bool


class RefusalOut(Schema):
    """A refused request and its ground; registered names are masked."""

    case_id: str
    kind: str
    ground: str


class MonthFiguresOut(Schema):
    """The numbers of a month; by kind: received, answered, open at its end.

    Days are calendar days from receipt to the answer; of no answer they are null.
    ``extended`` counts answered cases whose deadline had been extended.
    """

    month: str
    received: dict[CaseKind, int]
    answered: dict[CaseKind, int]
    open_at_end: dict[CaseKind, int]
    total_received: int
    total_answered: int
    total_open: int
    complete: int
    refused: int
    in_time: int
    answered_late: int
    open_overdue: int
    extended: int
    median_days: float | None
    p90_days: int | None
    longest_days: int | None
    why: dict[str, int]
    overdue: list[LateCaseOut]
    refusals: list[RefusalOut]


class MonthReportOut(Schema):
    """A month beside the one before; ``in_course``: it is not over yet."""

    time_zone: str
    in_course: bool
    figures: MonthFiguresOut
    previous: MonthFiguresOut


class RegisterLineOut(Schema):
    """A request without names; ``result`` of an open one is its state."""

    case_id: str
    kind: str
    received: date
    due: date
    extended_until: date | None
    extension_reason: str | None
    answered: date | None
    days: int | None
    in_time: bool | None
    result: str
    refusal_ground: str | None
    certificate_id: str | None


class RegisterOut(Schema):
    """The cases that were open at some time of the period, by their receipt."""

    since: date
    until: date
    items: list[RegisterLineOut]
    next_cursor: str | None


class ControllerOut(Schema):
    """Who answers for the processing; empty where nobody said."""

    controller: str
    controller_contact: str
    dpo_contact: str
    supervisory_authority: str
    automated_decisions: str
    third_countries: str


class ActivityOut(Schema):
    """One place of the data map; ``state`` is proposed or confirmed."""

    place: str
    title: str
    data: str
    people: str
    purpose: str
    legal_basis: str
    state: str
    confirmed_by: str | None
    confirmed_at: str | None
    recipients: list[str]
    retention: str
    derived: bool


class RecipientOut(Schema):
    """Whom data goes to, as it is set up."""

    kind: str
    name: str
    receives: str


class ProcessingRecordOut(Schema):
    """The record of processing activities (Article 30), drawn from the data map."""

    controller: ControllerOut
    activities: list[ActivityOut]
    recipients: list[RecipientOut]
    safeguards: list[str]
    out_of_reach: list[str]
