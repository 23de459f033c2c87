"""What the store's clients send."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from memory.rules.shapes import Strict

MAX_LIMIT: Final = 1_000
MAX_TTL_MINUTES: Final = 10 * 366 * 24 * 60
Label = Annotated[str, Field(strict=True, min_length=1, max_length=256)]
Namespace = Annotated[list[Label], Field(max_length=20)]
Key = Annotated[str, Field(strict=True, min_length=1, max_length=200)]


class ItemIn(Strict):
    namespace: Namespace = Field(min_length=1)
    key: Key


class PutIn(ItemIn):
    """An item; ``ttl`` is in minutes, ``index`` is accepted and has no effect here."""

    value: dict[str, Any]
    index: bool | list[str] | None = None
    ttl: float | None = Field(None, gt=0, le=MAX_TTL_MINUTES)


class ItemQuery(Strict):
    """The address of an item, in the query string."""

    key: str = Field(min_length=1, max_length=200)
    namespace: str = Field(min_length=1, max_length=600)
    refresh_ttl: bool | None = None


class SearchIn(Strict):
    namespace_prefix: Namespace
    filter: dict[str, Any] | None = None
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)] = 10
    offset: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    query: str | None = Field(None, max_length=4_000)
    refresh_ttl: bool | None = None


class NamespacesIn(Strict):
    """A list of namespaces: which, how deep, which page."""

    prefix: Namespace | None = None
    suffix: Namespace | None = None
    max_depth: Annotated[int, Field(strict=True, ge=1, le=20)] | None = None
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
