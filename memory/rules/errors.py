"""Every way the house says no.

    HouseError
    ├── Unauthenticated   401  nobody we know
    ├── Forbidden         403  known, but not allowed
    ├── NotFound          404  missing, or not yours: the same answer
    ├── Conflict          409  the state of things forbids it
    ├── TooLarge          413  more than fits
    ├── Invalid           422  the request makes no sense
    ├── TooMany           429  slower, please
    └── Unavailable       503  something the house stands on is down
        └── Outage             database or disk fail
            └── StorageFull   507  the disk has no room

An error carries a stable code, a status and the fields its sentence is built from. Only
the roof turns it into problem+json, a dialect's own body, or a page.
"""

from __future__ import annotations

import errno
from typing import ClassVar, Final

# How a system says that a disk, or somebody's share of it, is full.
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class HouseError(Exception):
    """The base of every refusal; ``fields`` are shown to the caller."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"
    sentence: ClassVar[str] = "The request could not be carried out."

    def __init__(self, detail: str | None = None, /, **fields: object) -> None:
        self.fields = fields
        self.detail = detail or self.sentence.format(**fields)
        self.problem_code = str(fields.pop("code", self.code))
        super().__init__(self.detail)


class Unauthenticated(HouseError):
    """No credential, or one that no longer works."""

    code, status, title = "unauthenticated", 401, "Not signed in"
    sentence = "Send a valid key as Authorization: Bearer cmk_…, or sign in."


class Forbidden(HouseError):
    """The actor is known and its role does not allow this."""

    code, status, title = "forbidden", 403, "Not allowed"
    sentence = "{role} may not do this: {action}."


class NotFound(HouseError):
    """Missing and not yours are one answer, with one body."""

    code, status, title = "not_found", 404, "Not found"
    sentence = "There is nothing here under this address."


class Conflict(HouseError):
    """The request is fine, the state of things is not."""

    code, status, title = "conflict", 409, "Conflict"
    sentence = "The state changed in the meantime."


class TooLarge(HouseError):
    """More bytes than fit."""

    code, status, title = "too_large", 413, "Too large"
    sentence = "{what} may hold {limit} bytes; this one has {size}."


class Invalid(HouseError):
    """The request makes no sense; ``errors`` says where and why."""

    code, status, title = "invalid", 422, "Invalid request"
    sentence = "The request is not valid."


class TooMany(HouseError):
    """A rate limit; ``retry_after`` is in seconds."""

    code, status, title = "too_many", 429, "Too many requests"
    sentence = "Slow down: try again in {retry_after} seconds."


class Unavailable(HouseError):
    """Something the house stands on does not answer; ``reason`` says what."""

    code, status, title = "unavailable", 503, "Not available now"
    sentence = "Not available now: {reason}."


class Outage(Unavailable):
    """Database or disk fail: an operator has to act, and nobody else can."""

    code = "outage"


class StorageFull(Outage):
    """Nothing more can be written; reading goes on."""

    code, status, title = "storage_full", 507, "No room left"
    sentence = (
        "The disk is full, so this could not be written. What was acknowledged before"
        " is kept. An operator has to make room."
    )
