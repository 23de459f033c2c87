"""The base classes of all errors that a caller sees.

    AppError
    ├── Unauthenticated   401  no valid credential
    ├── Forbidden         403  the role does not allow it
    ├── NotFound          404  missing, or of another workspace: one answer
    ├── Conflict          409  the present state forbids it
    ├── TooLarge          413  more than fits
    ├── Invalid           422  the request is not valid
    ├── TooMany           429  a rate limit
    └── Unavailable       503  a service or setting is missing
        └── Outage             database or disk failed
            └── StorageFull   507  the disk has no room

An error carries a stable code, a status and the fields its sentence is built from. Only
the outermost layer turns it into problem+json, a dialect's own body, or a page.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import ClassVar, Final

from memory.rules.translation import gettext, gettext_noop

# The errors of a full disk and of an exhausted quota.
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class AppError(Exception):
    """The base of every error for a caller; ``fields`` are part of the response.

    ``title`` and ``sentence`` are marked with ``gettext_noop`` where a page shows them;
    an error has both in its reader's language.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: str = gettext_noop("Something went wrong")
    sentence: ClassVar[str] = gettext_noop("The request could not be carried out.")

    def __init__(self, detail: str | None = None, /, **fields: object) -> None:
        self.fields = fields
        self.title = gettext(type(self).title)
        self.detail = detail or gettext(self.sentence).format(**fields)
        self.problem_code = str(fields.pop("code", self.code))
        super().__init__(self.detail)


class Unauthenticated(AppError):
    """No credential, or one that no longer works."""

    code, status, title = "unauthenticated", 401, gettext_noop("Not signed in")
    sentence = gettext_noop(
        "Send a valid key as Authorization: Bearer cmk_…, or sign in."
    )


class Forbidden(AppError):
    """The actor is known and its role does not allow this."""

    code, status, title = "forbidden", 403, gettext_noop("Not allowed")
    sentence = gettext_noop("{role} may not do this: {action}.")


class NotFound(AppError):
    """Missing, or of another workspace: one answer, with one body."""

    code, status, title = "not_found", 404, gettext_noop("Not found")
    sentence = gettext_noop("There is nothing here under this address.")


class Conflict(AppError):
    """A valid request that the present state forbids."""

    code, status, title = "conflict", 409, gettext_noop("Conflict")
    sentence = gettext_noop("The state changed in the meantime.")


class TooLarge(AppError):
    """More bytes than fit."""

    code, status, title = "too_large", 413, gettext_noop("Too large")
    sentence = gettext_noop("{what} may hold {limit} bytes; this one has {size}.")


class Invalid(AppError):
    """An invalid request; ``errors`` says where and why."""

    code, status, title = "invalid", 422, gettext_noop("Invalid request")
    sentence = gettext_noop("The request is not valid.")


def bad_field(field: str, message: str, *, code: str) -> Invalid:
    """Return the error of one field of a request."""
    fault = {"field": field, "code": code, "message": message}
    return Invalid(message, code=code, errors=[fault])


def unknown_value(field: str, allowed: Iterable[str]) -> Invalid:
    """Return the error of a field that takes one of some values."""
    message = gettext("{field} is one of {values}.").format(
        field=field, values=", ".join(allowed)
    )
    fault = {"field": field, "code": "enum", "message": message}
    return Invalid(message, code=f"unknown_{field}", errors=[fault])


class TooMany(AppError):
    """A rate limit; ``retry_after`` is in seconds."""

    code, status, title = "too_many", 429, gettext_noop("Too many requests")
    sentence = gettext_noop("Slow down: try again in {retry_after} seconds.")


class Unavailable(AppError):
    """A service or setting is missing; ``reason`` says which."""

    code, status, title = "unavailable", 503, gettext_noop("Not available now")
    sentence = gettext_noop("Not available now: {reason}.")


class Outage(Unavailable):
    """Database or disk failed: an operator has to act."""

    code = "outage"


class StorageFull(Outage):
    """Nothing more can be written; reading goes on."""

    code, status, title = "storage_full", 507, gettext_noop("No room left")
    sentence = gettext_noop(
        "The disk is full, so this could not be written. What was acknowledged before"
        " is kept. An operator has to make room."
    )
