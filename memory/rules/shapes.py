"""Types that request bodies share: ids, times, a model without unknown fields."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
)

# PostgreSQL stores no NUL and fails on a query with one, so no id may contain it.
NO_NUL = r"^[^\x00]+$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=NO_NUL)]


def _refuse_numbers(value: object) -> object:
    """Refuse numbers, which pydantic would read as seconds since 1970."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\d[Tt ]", value):
        raise ValueError("should be a date and a time as in RFC 3339")
    if not isinstance(value, (str, datetime)):
        raise ValueError("should be a text as in RFC 3339")
    return value


def _in_utc(value: datetime) -> datetime:
    """Return the moment in UTC; PostgreSQL knows no offset of sixteen hours or more."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years 1 to 9999") from None


Moment = Annotated[
    AwareDatetime, BeforeValidator(_refuse_numbers), AfterValidator(_in_utc)
]


class Strict(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=False, allow_inf_nan=False)
