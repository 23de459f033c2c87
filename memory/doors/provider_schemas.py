"""Request and response shapes of the provider wire; fields are only ever added."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from memory.doors.schemas import Strict

Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, StringConstraints(strict=True, max_length=320)]


class _For(Strict):
    """Whose memory: an agent's key may only name itself, a person names an agent."""

    workspace_id: Name
    agent_id: Name = ""
    crew_id: Name = ""


class RetainIn(_For):
    """A text to keep; mode has no default."""

    tier: Name
    key: Name = ""
    content: Text
    mode: Name
    subjects: tuple[str, ...] = ()


class ProviderRecallIn(_For):
    """A question; a limit out of 1..20 becomes 20."""

    tier: Name = ""
    query: Annotated[str, Field(strict=True, max_length=4_000)]
    limit: int = 20


class ForgetIn(_For):
    """Exactly one of id and data_subject_id."""

    id: Name = ""
    data_subject_id: Name = ""


class HealthQuery(Strict):
    """Whose memory, for people who want to look at one."""

    agent_id: str = Field("", max_length=128)
    crew_id: str = Field("", max_length=128)


class RetainedOut(Schema):
    """The item's id and its size now."""

    id: str
    bytes: int


class ProviderHitOut(Schema):
    """One answer."""

    source: str
    snippet: str
    line: int | None = None
    score: float | None = None


class RecalledOut(Schema):
    """Hits, best first; ``quarantined`` is for people and never for a model."""

    hits: list[ProviderHitOut]
    quarantined: list[str] | None = None


class ForgottenOut(Schema):
    """How many items went."""

    removed: int


class PulseOut(Schema):
    """How the provider is; a message only when it is not well."""

    ok: bool
    message: str | None = None
    checked_at: str
