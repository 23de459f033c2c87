"""What the Model Context Protocol at ``/mcp`` promises."""

from __future__ import annotations

from typing import Any, Final

from memory import tool_registry
from memory.integrations.selftest_server import Client, Selftest, expect

SELFTEST: Final = Selftest()
MODERN: Final = "2026-07-28"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _speak(client: Client, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    found = client.call("POST", "/mcp", body)
    expect(found.get("id") == 7, "the answer does not carry the id of the request")
    expect("result" in found, "the answer is an error")
    return dict(found["result"])


@SELFTEST.promise("A client of 2025 shakes hands and is told the version it asked for")
def handshake(client: Client) -> None:
    """Initialize."""
    found = _speak(client, "initialize", protocolVersion="2025-11-25", capabilities={})
    expect(found["protocolVersion"] == "2025-11-25", "another version was answered")
    expect("tools" in found["capabilities"], "tools are not offered")


@SELFTEST.promise("A client of 2026 discovers without a handshake")
def discovery(client: Client) -> None:
    """Discover."""
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "server/discover",
        "params": {"_meta": _META},
    }
    heads = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    found = client.call("POST", "/mcp", body, headers=heads)
    expect(MODERN in found["result"]["supportedVersions"], "its version is not there")


@SELFTEST.promise(
    "An agent is offered every tool, with schemas of both sides and hints"
)
def offered(client: Client) -> None:
    """List."""
    found = {tool["name"]: tool for tool in _speak(client, "tools/list")["tools"]}
    missing = {tool.name for tool in tool_registry.registered()} - set(found)
    expect(not missing, f"not offered: {', '.join(sorted(missing))}")
    for name, tool in found.items():
        whole = {"title", "inputSchema", "outputSchema", "annotations"} <= set(tool)
        expect(whole, f"{name} is not described in full")


@SELFTEST.promise("What a tool is told to remember comes back as text and as data")
def round_trip(client: Client) -> None:
    """Remember and recall."""
    said = {"content": "The kiln stands in Porto"}
    _speak(client, "tools/call", name="memory__remember", arguments=said)
    asked = {"query": "kiln"}
    found = _speak(client, "tools/call", name="memory__recall", arguments=asked)
    memories = found["structuredContent"]["memories"]
    expect(memories and memories[0]["content"] == said["content"], "it is not found")
    expect(found["content"][0]["type"] == "text", "there is no text")


@SELFTEST.promise("A wrong argument is a tool error that a model can act on")
def faults(client: Client) -> None:
    """Make a mistake."""
    asked = {"query": "kiln", "k": "many"}
    found = _speak(client, "tools/call", name="recall", arguments=asked)
    expect(found["isError"], "it is no error")
    expect("k" in found["content"][0]["text"], "the sentence does not name it")


@SELFTEST.promise("Without a key nothing is told, and the answer is no redirect")
def closed(client: Client) -> None:
    """Knock without a key."""
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    client.call("POST", "/mcp", body, status=401, sender="nobody")
    client.call("POST", "/mcp/", body)
