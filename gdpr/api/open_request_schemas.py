"""Schemas of the open requests of one person beside each other."""

from __future__ import annotations

from ninja import Schema


class OpenRequestOut(Schema):
    """An open case of a person, as a line beside another."""

    id: str
    kind: str
    state: str
    due_at: str
    days_left: int
    due: str
    urgency: str


class RequestWarningOut(Schema):
    """Another open request to look at first.

    ``code`` is `same_kind`, or `access_first` for an erasure of somebody who also asked
    for access.
    """

    code: str
    case_id: str
    detail: str
