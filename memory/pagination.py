"""Signed list cursors, bound to their workspace and to the list's filters."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from django.core import signing
from django.utils.dateparse import parse_datetime

from memory.rules import entries, errors
from memory.rules.translation import gettext

_SALT = "crewship.cursor"


def digest(question: object) -> str:
    """Return a short digest of a list's filters."""
    text = entries.canonical(json.loads(json.dumps(question, default=str)))
    # Half a surrogate pair is refused with the filter, and is no fault of the digest.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def make(workspace_id: str, question: str, position: list[str | int]) -> str:
    """Return a signed cursor for a position in one list of one workspace."""
    return signing.dumps([workspace_id, question, position], salt=_SALT, compress=False)


def read(cursor: str, workspace_id: str, question: str) -> list[str | int]:
    """Return the position in a cursor.

    Raises NotFound for another workspace's cursor, like everything else of another
    workspace; Invalid for a damaged one or one of a list with other filters.
    """
    try:
        cursor_workspace, cursor_question, position = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise errors.Invalid(
            gettext("The cursor is damaged."), code="bad_cursor"
        ) from None
    if cursor_workspace != workspace_id:
        raise errors.NotFound
    if cursor_question != question:
        detail = gettext("The cursor belongs to a list with other filters.")
        raise errors.Invalid(detail, code="bad_cursor")
    return list(position)


def moment(value: str | int) -> datetime:
    """Return the time in a cursor's position."""
    parsed = parse_datetime(str(value))
    if parsed is None:
        raise errors.Invalid(gettext("The cursor is damaged."), code="bad_cursor")
    return parsed
