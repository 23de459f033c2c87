"""The official MCP client, in the mode that HOUSE_MODE names: auto or legacy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from steps import Steps

URL = os.environ["HOUSE_URL"] + "/mcp"
MODE = os.environ.get("HOUSE_MODE", "auto")
steps = Steps("mcp")


async def step(name: str, ask: Callable[[], Awaitable[Any]]) -> Any:
    """Await a call; an exception is the step's failure."""
    try:
        result = await ask()
    except BaseException as error:  # noqa: BLE001
        failure = error

        def fail() -> None:
            raise failure

        return steps.run(name, fail)
    return steps.run(name, lambda: result)


def plain(result: Any) -> dict[str, Any]:
    """Return a tool's result as JSON."""
    return {
        "error": bool(result.is_error),
        "data": result.structured_content,
        "text": "".join(getattr(part, "text", "") for part in result.content),
    }


def opened(key: str) -> Client:
    """Return a client that sends a key."""
    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
    )
    return Client(streamable_http_client(URL, http_client=http), mode=MODE)


async def tool_names(key: str) -> dict[str, Any]:
    """Return the tools listed for a key, by name."""
    async with opened(key) as client:
        tools = await client.list_tools()
    return {tool.name: tool.model_dump(mode="json") for tool in tools.tools}


CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("write", "memory.write", {"tier": "AGENT", "content": "MCP", "mode": "replace"}),
    ("read", "memory.read", {"tier": "AGENT"}),
    ("search", "memory.search", {"q": "MCP"}),
    ("append daily", "memory.append_daily", {"entry": "Spoke MCP"}),
    ("remember", "memory__remember", {"content": "Harriet likes tea", "mood": "calm"}),
    ("recall memories", "memory__recall", {"query": "tea"}),
    ("list memories", "memory__list", {}),
    ("forget nothing", "memory__forget", {"memory_id": "mem_gone"}),
    (
        "append",
        "journal.append",
        {"entry_type": "memory.recorded", "summary": "The kiln needs a new fuse"},
    ),
    ("recall", "recall", {"query": "kiln fuse"}),
    ("context", "context", {"query": "kiln fuse", "max_chars": 1000}),
]
FAULTS: list[tuple[str, str, dict[str, Any]]] = [
    ("no tier", "memory.read", {}),
    ("unknown argument", "recall", {"query": "x", "q": "x"}),
    ("wrong kind", "recall", {"query": "x", "k": "many"}),
    ("k too large", "recall", {"query": "x", "k": 51}),
    ("empty content", "memory__remember", {"content": ""}),
    ("bad type", "journal.append", {"entry_type": "nonsense", "summary": "x"}),
    (
        "over the cap",
        "memory.write",
        {"tier": "AGENT", "content": "x" * 9000, "mode": "replace"},
    ),
]


async def wrong_key() -> Any:
    """Send an unknown key."""
    try:
        await tool_names("cmk_wrong")
    except BaseException as error:  # noqa: BLE001
        return {"refused": True, "key": "cmk_wrong" in repr(error)}
    return {"refused": False}


async def main() -> None:
    """List, call each tool, make each mistake."""
    async with opened(os.environ["HOUSE_KEY"]) as client:
        steps.run("protocol", lambda: str(client.protocol_version))
        for name, tool, arguments in (*CALLS, *FAULTS):

            async def ask(
                tool: str = tool, tool_arguments: dict[str, Any] = arguments
            ) -> Any:
                return plain(await client.call_tool(tool, tool_arguments))

            result = await step(name, ask)
            wrong = (name, tool, arguments) in FAULTS
            fits = result is not None and result["error"] is wrong
            steps.expect(f"{name}: {'an error' if wrong else 'done'}", fits, result)

        async def unknown_tool() -> Any:
            """An unknown tool is a protocol error."""
            try:
                return plain(await client.call_tool("memory.dream", {}))
            except Exception as error:  # noqa: BLE001
                return {"raised": type(error).__name__, "text": str(error)}

        await step("unknown tool", unknown_tool)
    for key_name, name in (("KEY", "tools"), ("OPERATOR_KEY", "operator's tools")):
        key = os.environ[f"HOUSE_{key_name}"]
        await step(name, lambda key=key: tool_names(key))

    await step("wrong key", wrong_key)


asyncio.run(main())
steps.finish()
