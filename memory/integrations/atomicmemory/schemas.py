"""Requests of AtomicMemory's clients; unknown body fields are refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from memory.rules.shapes import NO_NUL, Moment, Strict

CONVERSATION_CHARS = 100_000
NAME_CHARS = 256
LEAST_TOKENS, MOST_TOKENS = 100, 50_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _name(value: str) -> str:
    """Refuse a blank name and one with control characters."""
    if not value.strip():
        raise ValueError("must not be blank")
    if _CONTROL.search(value):
        raise ValueError("must not hold control characters")
    return value


Text = Annotated[str, Field(strict=True, pattern=NO_NUL)]
Name = Annotated[str, Field(strict=True, max_length=NAME_CHARS), AfterValidator(_name)]
Conversation = Annotated[
    str,
    Field(strict=True, min_length=1, max_length=CONVERSATION_CHARS, pattern=NO_NUL),
]


class UserScoped(BaseModel):
    """The user; with a workspace also the agent in it."""

    user_id: Name
    workspace_id: Name | None = None
    agent_id: Name | None = None


class _Body(UserScoped, Strict):
    agent_scope: str | list[str] | None = None


class IngestIn(_Body):
    """A text to ingest."""

    conversation: Conversation
    source_site: Annotated[str, Field(strict=True, max_length=200)] = "sdk"
    source_url: Annotated[str, Field(strict=True, max_length=2_000)] = ""
    session_id: Name | None = None
    namespace_scope: Name | None = None
    content_class: Literal["summary", "redacted", "raw"] | None = None
    skip_extraction: bool = False
    metadata: dict[str, Any] | None = None
    visibility: str | None = None
    config_override: dict[str, Any] | None = None


class SearchIn(_Body):
    """A search."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    limit: Any = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    namespace_scope: Name | None = None
    session_id: Name | None = None
    as_of: Moment | None = None
    retrieval_mode: Literal["flat", "tiered", "abstract-aware"] | None = None
    token_budget: Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)] | None = None
    skip_repair: bool = False
    source_site: Annotated[str, Field(strict=True, max_length=200)] | None = None
    config_override: dict[str, Any] | None = None


class ExpandIn(_Body):
    """Ids to return in full text."""

    memory_ids: Annotated[list[Name], Field(max_length=100)]


class UserIn(Strict):
    """A user, and flags of the lifecycle operations."""

    user_id: Name
    execute: bool = False
    dry_run: bool = True


class ResetIn(Strict):
    """A source to forget."""

    user_id: Name
    source_site: Annotated[str, Field(strict=True, min_length=1, max_length=200)]


class OneQuery(UserScoped):
    """The query string that names a memory's user; unknown parameters are ignored."""


class ListQuery(OneQuery):
    """A page of a user's memory."""

    limit: Any = None
    offset: Any = None
    session_id: Name | None = None
    namespace_scope: Name | None = None
    source_site: str | None = None
    episode_id: str | None = None
