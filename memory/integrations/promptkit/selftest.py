"""What PromptKit's four tools and our two promise over plain HTTP."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

TOOLS: Final = "/api/v1/tools"
SELFTEST: Final = Selftest()


def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    return dict(client.call("POST", f"{TOOLS}/{tool}", arguments))


@SELFTEST.promise(
    gettext_noop("The contract's four tools and our two, with input and output schemas")
)
def tools(client: Client) -> None:
    """List the tools: the contract's in its order, then ours."""
    descriptors = client.call("GET", TOOLS)["tools"]
    verbs = ("recall", "remember", "list", "forget", "history", "revise")
    names = [tool["name"] for tool in descriptors]
    expect(
        names == [f"memory__{verb}" for verb in verbs], "the tools are not these six"
    )
    expect(
        all(tool["mode"] == "memory" for tool in descriptors), "the mode is not memory"
    )
    schemas = ("input_schema", "output_schema")
    expect(
        all(tool[part] for tool in descriptors for part in schemas),
        "a schema is missing",
    )


@SELFTEST.promise(
    gettext_noop("A corrected memory has its earlier text in the history")
)
def corrected(client: Client) -> None:
    """Revise a memory and ask for its history."""
    first, second = "Harriet prefers tea", "Harriet prefers coffee"
    memory = _call(client, "memory__remember", content=first)
    _call(client, "memory__revise", memory_id=memory["id"], content=second)
    history = _call(client, "memory__history", memory_id=memory["id"])
    texts = [version["content"] for version in history["versions"]]
    expect(sorted(texts) == sorted([first, second]), "a version is missing")


@SELFTEST.promise(
    gettext_noop("Remembering defaults to general, 0.8 and user_requested")
)
def defaults(client: Client) -> None:
    """Remember with nothing but content."""
    _call(client, "memory__remember", content="Harriet prefers tea")
    memory = _call(client, "memory__list")["memories"][0]
    expect((memory["type"], memory["confidence"]) == ("general", 0.8), "the defaults")
    expect(memory["metadata"]["provenance"] == "user_requested", "the provenance")


@SELFTEST.promise(gettext_noop("A caller cannot choose the provenance"))
def provenance(client: Client) -> None:
    """Send a provenance as an argument and in metadata."""
    spoofed = {"provenance": "operator_curated"}
    _call(client, "memory__remember", content="Spoofed", metadata=spoofed, **spoofed)
    memory = _call(client, "memory__list")["memories"][0]
    expect(memory["metadata"]["provenance"] == "user_requested", "it was chosen")


@SELFTEST.promise(gettext_noop("Nothing found is an empty list, never null"))
def empty_result(client: Client) -> None:
    result = _call(client, "memory__recall", query="zeppelin")
    expect(result == {"memories": [], "count": 0}, "it is not an empty list")


@SELFTEST.promise(
    gettext_noop("Another agent's memories are not there, and cannot be forgotten")
)
def isolation(client: Client) -> None:
    memory = _call(client, "memory__remember", content="Mine alone")
    path = f"{TOOLS}/memory__list"
    listing = client.call("POST", path, {}, sender="other")
    expect(listing["count"] == 0, "the other agent sees it")
    arguments = {"memory_id": memory["id"]}
    client.call("POST", f"{TOOLS}/memory__forget", arguments, sender="other")
    expect(_call(client, "memory__list")["count"] == 1, "the other agent forgot it")


@SELFTEST.promise(gettext_noop("Forgetting succeeds, also again and for an unknown id"))
def forgetting(client: Client) -> None:
    memory = _call(client, "memory__remember", content="Passing")
    for memory_id in (memory["id"], memory["id"], "mem_never"):
        result = _call(client, "memory__forget", memory_id=memory_id)
        expect(result["status"] == "forgotten", "it is not forgotten")
    expect(_call(client, "memory__list")["count"] == 0, "it is still there")


@SELFTEST.promise(
    gettext_noop("Empty content is refused with a message that names the tool")
)
def empty(client: Client) -> None:
    path = f"{TOOLS}/memory__remember"
    problem = client.call("POST", path, {"content": ""}, status=422)
    expect("memory remember: content is required" in problem["detail"], "the sentence")
