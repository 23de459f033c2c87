"""The end user an agent speaks to, so that one agent keeps its users' memories apart.

It comes from the key when that was issued for one user, else from the header
``X-End-User``, else from the ``_meta`` of an MCP request. Two users are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from memory.rules import entries, errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext

HEADER: Final = "X-End-User"
META: Final = "crewship/end-user"
CHARS: Final = 256


def validate(text: str) -> str:
    """Return the id of an end user as it is stored, or raise Invalid."""
    user = text.strip()
    if not user or len(user) > CHARS or not entries.is_storable(user):
        message = gettext("An end user is 1 to {limit} characters of text.").format(
            limit=CHARS
        )
        raise errors.bad_field("end_user", message, code="bad_end_user")
    return user


def from_header(value: str | None) -> str | None:
    """Return a header's text, which is UTF-8 that the server decoded as Latin-1."""
    if value is None:
        return None
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def with_end_user(by: Actor, names: Iterable[str | None]) -> Actor:
    """Return an agent's actor with the end user whom a request names.

    Raises Forbidden when its key was issued for another user, Invalid for two users.
    A person's actor has no end user.
    """
    users = {validate(text) for text in names if text is not None}
    if not users or not by.is_agent:
        return by
    if by.end_user and users != {by.end_user}:
        detail = "This key was issued for one end user; the request names another."
        raise errors.Forbidden(detail, code="other_end_user")
    if len(users) > 1:
        message = "The request names two end users."
        raise errors.Invalid(message, code="bad_end_user")
    return replace(by, end_user=users.pop())
