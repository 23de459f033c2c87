"""Schemas of the rows of a plan on which a person decides."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from gdpr.cases.transitions import TEXT_CHARS
from gdpr.models import Ground, Verdict
from memory.rules.shapes import Strict

Text = Annotated[str, Field(strict=True, max_length=TEXT_CHARS)]
Hash = Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")]
Code = Annotated[str, Field(strict=True, min_length=1, max_length=32)]
Version = Annotated[
    int | None,
    Field(description="The version that was read; another one now is 409."),
]


class RowIn(Strict):
    """A row of the plan."""

    place: str = Field(min_length=1, max_length=32)
    id: str = Field(min_length=1, max_length=128)


class DoubtfulRowOut(Schema):
    """A row that may be about somebody else, or that was decided to stay.

    `form` is the code of how the name is written; `verdict` is null while nobody
    decided.
    """

    place: str
    title: str
    id: str
    fate: str
    why: str
    form: str = ""
    text: str
    at: str | None
    verdict: Verdict | None
    ground: Ground | None
    reason: str | None
    decided_by: str | None


class DecideIn(Strict):
    """A decision: rows are this person's, or stay, with a ground and a reason."""

    plan_hash: Hash
    verdict: Verdict
    rows: list[RowIn] = Field(default_factory=list, max_length=10_000)
    all_doubtful: bool = Field(
        default=False, description="Decides on every doubtful row that waits."
    )
    forms: list[Code] = Field(
        default_factory=list,
        max_length=50,
        description="Decides on the rows that wait with one of these forms.",
    )
    places: list[Code] = Field(
        default_factory=list,
        max_length=50,
        description="Decides on the rows that wait in one of these places.",
    )
    ground: Ground | None = Field(
        None, description="Why rows stay; the certificate counts rows by it."
    )
    reason: Text = Field(
        "", description="In words; kept in the case until it is closed."
    )
    version: Version = None
