"""Anthropic's memory tool on Crewship Memory.

    from anthropic_memory import CrewshipMemory

    memory = CrewshipMemory("http://127.0.0.1:8000", key="cmk_…")
    client.beta.messages.tool_runner(tools=[memory], …)

What the model writes under ``/memories`` is kept as records of the agent: scanned,
versioned, searchable, and forgotten for good when it is deleted.
"""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError


class CrewshipMemory(BetaAbstractMemoryTool):
    """Sends each command to the server and returns its text to the model."""

    def __init__(self, url: str, *, key: str) -> None:
        super().__init__()
        self._http = httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30
        )

    def _post(self, command: Any) -> str:
        body = command.model_dump(mode="json", exclude_none=True)
        reply = self._http.post("/compat/anthropic/memory", json=body)
        if reply.is_error:
            raise ToolError(reply.json()["error"]["message"])
        return str(reply.json()["content"])

    view = create = str_replace = insert = delete = rename = _post
