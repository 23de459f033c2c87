"""What schemas share: a list's parameters, and values of rows written as JSON.

A handler returns rows or results of a service, and its schema reads them by name;
``validation_alias`` names an attribute that is called otherwise there. What needs the
database is read before, by the handler: pydantic takes an error that is raised while it
reads an attribute for a wrong value, and an outage would be a bug.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from memory.journal import append as journal
from memory.rules.shapes import Strict

Row = TypeVar("Row")


def annotated(row: Row, **values: object) -> Row:
    """Return a row with further attributes for its schema."""
    vars(row).update(values)
    return row


def _stamp(value: object) -> object:
    return journal.stamp(value) if isinstance(value, datetime) else value


# A moment, as RFC 3339 in UTC.
Stamp = Annotated[str, BeforeValidator(_stamp)]
# A text that rows keep as "" and answers as null when there is none.
TextOrNull = Annotated[str | None, BeforeValidator(lambda value: value or None)]


class Out(BaseModel):
    """A part of an answer, read from attributes.

    Not a Schema of Ninja's: that takes four times as long, for it looks every field up
    as a template would.
    """

    model_config = ConfigDict(from_attributes=True)


class ListParams(Strict):
    """The parameters of a list: its filters, then ``limit`` and ``cursor``."""

    def filters(self) -> dict[str, Any]:
        """Return the filters for the service, "" for one that is left out."""
        params = self.model_dump(exclude={"limit", "cursor"})
        return {name: value or "" for name, value in params.items()}
