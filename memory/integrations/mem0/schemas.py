"""What mem0's clients send, and a record as one of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from memory import records
from memory.integrations.base import moment
from memory.models import Record
from memory.records.drafts import Scope
from memory.rules import errors

# Their names of who a memory belongs to, and ours.
ENTITIES: Final = {
    "user_id": "user",
    "agent_id": "agent",
    "app_id": "namespace",
    "run_id": "thread",
}
KINDS: Final = {
    "user": "user",
    "agent": "agent",
    "app": "namespace",
    "run": "thread",
}
ENTITY_REQUIRED: Final = "Name one of user_id, agent_id, app_id and run_id."
Text = Annotated[str, Field(strict=True)]


class Loose(BaseModel):
    """A body of theirs: their options are many, and what is none of ours is left out.

    What narrows an answer is never left out: see ``mem0_filters``.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class EntityScoped(Loose):
    """Whose memory, at the top level."""

    user_id: Text | None = None
    agent_id: Text | None = None
    app_id: Text | None = None
    run_id: Text | None = None

    def scope(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return who is named, here or in filters; the top level wins."""
        own = {name: getattr(self, name) for name in ENTITIES}
        inner = {k: v for k, v in (filters or {}).items() if k in ENTITIES}
        values = {**inner, **{k: v for k, v in own.items() if v}}
        if not all(isinstance(value, str) for value in values.values()):
            raise errors.Invalid("An entity's id is a text.", code="bad_entity")
        return {ENTITIES[name]: value for name, value in values.items() if value}


class MessageIn(Loose):
    """One turn."""

    role: Text = "user"
    content: Text


class AddIn(EntityScoped):
    """What to remember."""

    messages: Text | Annotated[list[MessageIn], Field(max_length=200)]
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    infer: bool = True
    expiration_date: date | None = None

    def turns(self) -> list[MessageIn]:
        """Return the turns; a bare text is one of the user's."""
        if isinstance(self.messages, str):
            return [MessageIn(content=self.messages)]
        return self.messages


class SearchIn(EntityScoped):
    """What to look for."""

    query: Text = Field(min_length=1, max_length=4_000)
    filters: dict[str, Any] | None = None
    top_k: Annotated[int, Field(strict=True, ge=1, le=200)] | None = None
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] | None = None
    threshold: float | None = Field(None, ge=0, le=1)


class ListIn(EntityScoped):
    """Which memories to list."""

    filters: dict[str, Any] | None = None


class PageQuery(EntityScoped):
    """Which page of a list, from 1."""

    page: int = Field(1, ge=1, le=100_000)
    page_size: int = Field(100, ge=1, le=200)


class UpdateIn(Loose):
    """What to change; a null date makes a memory stay."""

    text: Text | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: date | None = None


class OneIn(UpdateIn):
    """One of a batch."""

    memory_id: Text


class BatchIn(Loose):
    """Several at once."""

    memories: list[OneIn] = Field(min_length=1, max_length=1_000)


def end_of(day: date | None) -> datetime | None:
    """Return when a day is over, in UTC: a memory lives through its last day."""
    if day is None or day == date.max:
        return None
    return datetime.combine(day + timedelta(days=1), time(0), tzinfo=UTC)


def row(record: Record, score: float | None = None) -> dict[str, Any]:
    """Return a record as a memory of theirs."""
    scope: Scope = records.scope_of(record)
    due = record.expires_at
    data: dict[str, Any] = {
        "id": record.id,
        "memory": record.content,
        **{
            field: getattr(scope, scope_name) or None
            for field, scope_name in ENTITIES.items()
        },
        "hash": record.sha256,
        "metadata": record.metadata,
        "categories": [],
        "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
        "expiration_date": (
            (due - timedelta(microseconds=1)).date().isoformat() if due else None
        ),
    }
    return data if score is None else {**data, "score": round(score, 4)}


EVENTS: Final = {
    "created": "ADD",
    "updated": "UPDATE",
    "superseded": "UPDATE",
    "invalidated": "DELETE",
}


def steps(record: Record, versions: list[records.Version]) -> list[dict[str, Any]]:
    """Return a record's past as theirs: what it said before and after each step."""
    rows, before = [], None
    for version in versions:
        event = EVENTS[version.event]
        after = None if event == "DELETE" else version.content
        rows.append(
            {
                "id": version.id,
                "memory_id": record.id,
                "event": event,
                "old_memory": before,
                "new_memory": after,
                "user_id": records.scope_of(record).user or None,
                "metadata": version.metadata,
                "created_at": moment(version.created_at),
                "updated_at": moment(version.created_at),
            }
        )
        before = after
    return rows
