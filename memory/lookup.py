"""Find one row, or answer that there is none."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from memory.rules import errors

Row = TypeVar("Row", bound=Model)


def required(rows: QuerySet[Row], **conditions: Any) -> Row:
    """Return the row that fulfils the conditions, or raise NotFound.

    The rows are those that the caller may see: one of another workspace and one that
    does not exist are the same answer.
    """
    row = rows.filter(**conditions).first()
    if row is None:
        raise errors.NotFound
    return row
