"""Requests to the gateway; unknown fields are ignored, and errors show no value."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

Name = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=65_536)]
SafeName = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^/\\\x00-\x1f]+$")
]


class _In(BaseModel):
    """Strict about known fields, ignores others; its errors show no value."""

    model_config = ConfigDict(strict=True, extra="ignore", hide_input_in_errors=True)


class Credentials(_In):
    """The user and key, and the app, project and agent of the request."""

    user_id: Name
    user_key: Annotated[str, Field(min_length=1, max_length=512, repr=False)]
    app_id: Name = "default"
    project_id: Name = "default"
    agent_id: Annotated[str, StringConstraints(max_length=128)] | None = None


class SearchIn(_In):
    """A search; without a conversation the scope ``current_chat`` is empty."""

    conversation_id: Annotated[str, StringConstraints(max_length=128)] | None = None
    query: Words
    scope: list[Literal["current_chat", "resources", "all_user_memory"]] = Field(
        min_length=1
    )
    top_k: Annotated[int, Field(ge=1, le=100)] = 8


class Message(_In):
    """One message; ``sender_id`` becomes part of paths elsewhere: it has no slash."""

    sender_id: SafeName
    role: Literal["user", "assistant", "tool"]
    timestamp: Annotated[int, Field(gt=0, lt=2**53)]
    content: Words

    @field_validator("sender_id")
    @classmethod
    def no_dots(cls, value: str) -> str:
        """Refuse ``.`` and ``..``."""
        if value in (".", ".."):
            message = "is not a name"
            raise ValueError(message)
        return value


class SessionIn(_In):
    session_id: Name


class AddIn(SessionIn):
    messages: list[Message] = Field(min_length=1, max_length=500)
