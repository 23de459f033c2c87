"""Shapes of the rows of a plan on which a person decides."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from gdpr.models import Ground, Verdict
from memory.doors.schemas import Strict


class RowIn(Strict):
    """A row of the plan."""

    place: str = Field(min_length=1, max_length=32)
    id: str = Field(min_length=1, max_length=128)


class DoubtfulRowOut(Schema):
    """A row that may be about somebody else, or of which a person said that it stays.

    `verdict` is null while nobody decided.
    """

    place: str
    title: str
    id: str
    fate: str
    why: str
    text: str
    at: str | None
    verdict: Verdict | None
    ground: Ground | None
    reason: str | None
    decided_by: str | None
