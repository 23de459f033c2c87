"""What the Model Context Protocol at ``/mcp`` promises."""

from __future__ import annotations

from typing import Any, Final

from memory import tool_registry
from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

SELFTEST: Final = Selftest()
MODERN: Final = "2026-07-28"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _request(client: Client, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    message = client.call("POST", "/mcp", body)
    expect(message.get("id") == 7, "the answer does not carry the id of the request")
    expect("result" in message, "the answer is an error")
    return dict(message["result"])


@SELFTEST.promise(
    gettext_noop("A client of 2025 initializes and gets the version it asked for")
)
def handshake(client: Client) -> None:
    result = _request(
        client, "initialize", protocolVersion="2025-11-25", capabilities={}
    )
    expect(result["protocolVersion"] == "2025-11-25", "another version was answered")
    expect("tools" in result["capabilities"], "tools are not offered")


@SELFTEST.promise(
    gettext_noop("A client of 2026 discovers the server without initializing")
)
def discovery(client: Client) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "server/discover",
        "params": {"_meta": _META},
    }
    heads = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    message = client.call("POST", "/mcp", body, headers=heads)
    expect(MODERN in message["result"]["supportedVersions"], "its version is not there")


@SELFTEST.promise(
    gettext_noop("An agent is offered every tool, with schemas of both sides and hints")
)
def tools_listed(client: Client) -> None:
    tools = {tool["name"]: tool for tool in _request(client, "tools/list")["tools"]}
    absent = {tool.name for tool in tool_registry.registered()} - set(tools)
    expect(not absent, f"not offered: {', '.join(sorted(absent))}")
    for name, tool in tools.items():
        is_complete = {"title", "inputSchema", "outputSchema", "annotations"} <= set(
            tool
        )
        expect(is_complete, f"{name} is not described in full")


@SELFTEST.promise(gettext_noop("What a tool remembers comes back as text and as data"))
def round_trip(client: Client) -> None:
    memory = {"content": "The kiln stands in Porto"}
    _request(client, "tools/call", name="memory__remember", arguments=memory)
    query = {"query": "kiln"}
    result = _request(client, "tools/call", name="memory__recall", arguments=query)
    memories = result["structuredContent"]["memories"]
    expect(memories and memories[0]["content"] == memory["content"], "it is not found")
    expect(result["content"][0]["type"] == "text", "there is no text")


@SELFTEST.promise(
    gettext_noop("A wrong argument is a tool error that a model can act on")
)
def faults(client: Client) -> None:
    arguments = {"query": "kiln", "k": "many"}
    result = _request(client, "tools/call", name="recall", arguments=arguments)
    expect(result["isError"], "it is no error")
    expect("k" in result["content"][0]["text"], "the sentence does not name it")


@SELFTEST.promise(gettext_noop("Without a key the answer is 401 and no redirect"))
def no_key(client: Client) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    client.call("POST", "/mcp", body, status=401, sender="nobody")
    client.call("POST", "/mcp/", body)
