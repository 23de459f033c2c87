"""What the handlers of the JSON API share: the typed request and its headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from django.http import HttpRequest
from ninja.params.functions import Header

from memory.journal import append as journal
from memory.rules.shapes import Strict

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

# A repeated request with the same key and body gets the answer of the first one.
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


class ApiRequest(HttpRequest):
    """A request whose credential has been resolved to an actor."""

    auth: Actor


def once(
    key: str | None, data: Strict, act: Callable[[], dict[str, Any]], *, by: Actor
) -> dict[str, Any]:
    """Act, or return the first answer when the key was used for this body before."""
    if key is None:
        return act()
    return journal.once(key, data.model_dump(mode="json"), act, by=by)
