"""Requests of mem0's clients, and records as rows of mem0's API."""

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

# mem0's entity ids and our scope fields.
ENTITIES: Final = {
    "user_id": "user",
    "agent_id": "agent",
    "app_id": "namespace",
    "run_id": "thread",
}
KINDS: Final = {name.removesuffix("_id"): field for name, field in ENTITIES.items()}
ENTITY_REQUIRED: Final = "Name one of user_id, agent_id, app_id and run_id."
Text = Annotated[str, Field(strict=True)]


class Loose(BaseModel):
    """A request body; unknown options are ignored.

    Unknown filters are not: see ``filters``.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class EntityScoped(Loose):
    """The entity ids at the top level."""

    user_id: Text | None = None
    agent_id: Text | None = None
    app_id: Text | None = None
    run_id: Text | None = None

    def scope(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the scope of the entity ids, here or in filters; top level wins."""
        own = {name: getattr(self, name) for name in ENTITIES}
        inner = {k: v for k, v in (filters or {}).items() if k in ENTITIES}
        values = {**inner, **{k: v for k, v in own.items() if v}}
        if not all(isinstance(value, str) for value in values.values()):
            raise errors.Invalid("An entity's id is a text.", code="bad_entity")
        return {ENTITIES[name]: value for name, value in values.items() if value}


class MessageIn(Loose):
    role: Text = "user"
    content: Text


class AddIn(EntityScoped):
    messages: Text | Annotated[list[MessageIn], Field(max_length=200)]
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    infer: bool = True
    expiration_date: date | None = None

    def turns(self) -> list[MessageIn]:
        """Return the messages; a bare text is one message of the user."""
        if isinstance(self.messages, str):
            return [MessageIn(content=self.messages)]
        return self.messages


class SearchIn(EntityScoped):
    query: Text = Field(min_length=1, max_length=4_000)
    filters: dict[str, Any] | None = None
    top_k: Annotated[int, Field(strict=True, ge=1, le=200)] | None = None
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] | None = None
    threshold: float | None = Field(None, ge=0, le=1)


class ListIn(EntityScoped):
    filters: dict[str, Any] | None = None


class PageQuery(EntityScoped):
    """A page of a list, from 1."""

    page: int = Field(1, ge=1, le=100_000)
    page_size: int = Field(100, ge=1, le=200)


class UpdateIn(Loose):
    """The fields to change; a null date removes the expiry."""

    text: Text | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: date | None = None


class OneIn(UpdateIn):
    memory_id: Text


class BatchIn(Loose):
    memories: list[OneIn] = Field(min_length=1, max_length=1_000)


def end_of(day: date | None) -> datetime | None:
    """Return the end of a day in UTC: a memory lives through its last day."""
    if day is None or day == date.max:
        return None
    return datetime.combine(day + timedelta(days=1), time(0), tzinfo=UTC)


def row(record: Record, score: float | None = None) -> dict[str, Any]:
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
    """Return a record's history: the text before and after each version."""
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
