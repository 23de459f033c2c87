"""What the handlers of the JSON API share: the typed request and its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from django.http import HttpRequest
from ninja.params.functions import Header

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

# A repeated request with the same key and body gets the answer of the first one.
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


class ApiRequest(HttpRequest):
    """A request whose credential has been resolved to an actor."""

    auth: Actor
