"""The commands of Anthropic's memory tool at ``/compat/anthropic/memory``.

One address takes the tool's own input and answers ``{content}``; a subclass of the
client's abstract memory tool needs one line per command (see
``examples/anthropic_memory.py``).
"""

from __future__ import annotations

from typing import Any, Final

from memory import records
from memory.integrations.anthropic.filesystem import FileTree
from memory.integrations.anthropic.schemas import CommandIn
from memory.integrations.base import (
    Answer,
    Call,
    Dialect,
    Route,
    agent_only,
    headers_of,
)
from memory.rules import errors


def run(call: Call) -> dict[str, Any]:
    """Run a command; its text goes back to the model unchanged."""
    command = call.read(CommandIn).root
    action = "records.read" if command.command == "view" else "records.write"
    by = agent_only(call.by, action)
    files = FileTree(by, records.owner_for(by))
    # The schema allows the six commands only; each is a method of its name.
    execute = getattr(files, command.command)
    return {"content": execute(**command.model_dump(exclude={"command"}))}


KINDS: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def refuse(error: errors.AppError) -> Answer:
    status = 400 if error.status in (409, 422) else error.status
    kind = KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    body = {"type": "error", "error": {"type": kind, "message": error.detail}}
    return Answer(body, status, headers_of(error))


DIALECT: Final = Dialect(
    prefix="/compat/anthropic",
    routes=(Route("memory", {"POST": run}),),
    refuse=refuse,
)
