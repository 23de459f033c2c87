"""Shapes that request bodies share: ids, moments, a model without unknown fields."""

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

# PostgreSQL keeps no NUL, so no id holds one, and it must not even be asked for.
NO_NUL = r"^[^\x00]+$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=NO_NUL)]


def _written(value: object) -> object:
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


Moment = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_in_utc)]


class Strict(BaseModel):
    """A request body: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", strict=False, allow_inf_nan=False)
