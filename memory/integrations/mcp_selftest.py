"""What the Model Context Protocol at ``/mcp`` promises."""

from __future__ import annotations

from typing import Any, Final

from memory import tool_registry
from memory.integrations.selftest_server import Stand, Wire, demand

WIRE: Final = Wire(
    name="mcp",
    title="MCP",
    prefix="/mcp",
    client="mcp 2.3.0",
    about="Every tool of the house for agents' hosts, with an agent's key as Bearer.",
    snippets={
        "MCP config": """{{
  "mcpServers": {{
    "crewship-memory": {{
      "type": "http",
      "url": "{url}/mcp",
      "headers": {{"Authorization": "Bearer ${{CREWSHIP_KEY}}"}}
    }}
  }}
}}""",
        "Python": """import asyncio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

KEY = "…"  # an agent's key
head = {{"Authorization": f"Bearer {{KEY}}"}}

async def main():
    http = httpx2.AsyncClient(headers=head)
    async with Client(streamable_http_client("{url}/mcp", http_client=http)) as client:
        print(await client.call_tool("recall", {{"query": "refund"}}))

asyncio.run(main())""",
        "curl": """curl -sS {url}/mcp \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}'""",
    },
)
MODERN: Final = "2026-07-28"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _speak(stand: Stand, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    found = stand.ask("POST", "/mcp", body)
    demand(found.get("id") == 7, "the answer does not carry the id of the request")
    demand("result" in found, "the answer is an error")
    return dict(found["result"])


@WIRE.promise("A client of 2025 shakes hands and is told the version it asked for")
def handshake(stand: Stand) -> None:
    """Initialize."""
    found = _speak(stand, "initialize", protocolVersion="2025-11-25", capabilities={})
    demand(found["protocolVersion"] == "2025-11-25", "another version was answered")
    demand("tools" in found["capabilities"], "tools are not offered")


@WIRE.promise("A client of 2026 discovers without a handshake")
def discovery(stand: Stand) -> None:
    """Discover."""
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "server/discover",
        "params": {"_meta": _META},
    }
    heads = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    found = stand.ask("POST", "/mcp", body, headers=heads)
    demand(MODERN in found["result"]["supportedVersions"], "its version is not there")


@WIRE.promise("An agent is offered every tool, with schemas of both sides and hints")
def offered(stand: Stand) -> None:
    """List."""
    found = {tool["name"]: tool for tool in _speak(stand, "tools/list")["tools"]}
    missing = {tool.name for tool in tool_registry.registered()} - set(found)
    demand(not missing, f"not offered: {', '.join(sorted(missing))}")
    for name, tool in found.items():
        whole = {"title", "inputSchema", "outputSchema", "annotations"} <= set(tool)
        demand(whole, f"{name} is not described in full")


@WIRE.promise("What a tool is told to remember comes back as text and as data")
def round_trip(stand: Stand) -> None:
    """Remember and recall."""
    said = {"content": "The kiln stands in Porto"}
    _speak(stand, "tools/call", name="memory__remember", arguments=said)
    asked = {"query": "kiln"}
    found = _speak(stand, "tools/call", name="memory__recall", arguments=asked)
    memories = found["structuredContent"]["memories"]
    demand(memories and memories[0]["content"] == said["content"], "it is not found")
    demand(found["content"][0]["type"] == "text", "there is no text")


@WIRE.promise("A wrong argument is a tool error that a model can act on")
def faults(stand: Stand) -> None:
    """Make a mistake."""
    asked = {"query": "kiln", "k": "many"}
    found = _speak(stand, "tools/call", name="recall", arguments=asked)
    demand(found["isError"], "it is no error")
    demand("k" in found["content"][0]["text"], "the sentence does not name it")


@WIRE.promise("Without a key nothing is told, and the answer is no redirect")
def closed(stand: Stand) -> None:
    """Knock without a key."""
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    stand.ask("POST", "/mcp", body, status=401, who="nobody")
    stand.ask("POST", "/mcp/", body)
