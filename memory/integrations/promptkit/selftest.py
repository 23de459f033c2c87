"""What PromptKit's four tools, and our two beside them, promise over plain HTTP."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Stand, Wire, demand

TOOLS: Final = "/api/v1/tools"
WIRE: Final = Wire(
    name="promptkit",
    title="PromptKit tools",
    prefix=TOOLS,
    client="contract vectors",
    about="memory__recall, memory__remember, memory__list and memory__forget by name, "
    "and memory__history and memory__revise, which are ours.",
    snippets={
        "curl": """curl -sS {url}/api/v1/tools/memory__remember \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"content": "Harriet prefers tea", "type": "preference"}}'""",
        "Python": """import httpx

KEY = "…"  # an agent's key

house = httpx.Client(
    base_url="{url}/api/v1/tools/",
    headers={{"Authorization": f"Bearer {{KEY}}"}},
)
print(house.post("memory__recall", json={{"query": "tea"}}).json())""",
    },
)


def _call(stand: Stand, tool: str, **arguments: Any) -> dict[str, Any]:
    return dict(stand.ask("POST", f"{TOOLS}/{tool}", arguments))


@WIRE.promise(
    "The contract's four tools and our two, with schemas of what they take and answer"
)
def tools(stand: Stand) -> None:
    """List the tools: the contract's in its order, then ours."""
    listed = stand.ask("GET", TOOLS)["tools"]
    verbs = ("recall", "remember", "list", "forget", "history", "revise")
    names = [tool["name"] for tool in listed]
    demand(names == [f"memory__{verb}" for verb in verbs], "they are not these six")
    demand(all(tool["mode"] == "memory" for tool in listed), "the mode is not memory")
    whole = ("input_schema", "output_schema")
    demand(all(tool[part] for tool in listed for part in whole), "a schema is missing")


@WIRE.promise("A corrected memory says what it said before")
def corrected(stand: Stand) -> None:
    """Revise a memory and ask for its history."""
    first, second = "Harriet prefers tea", "Harriet prefers coffee"
    kept = _call(stand, "memory__remember", content=first)
    _call(stand, "memory__revise", memory_id=kept["id"], content=second)
    history = _call(stand, "memory__history", memory_id=kept["id"])
    texts = [version["content"] for version in history["versions"]]
    demand(sorted(texts) == sorted([first, second]), "a version is missing")


@WIRE.promise("Remembering fills in general, 0.8 and user_requested")
def defaults(stand: Stand) -> None:
    """Remember with nothing but content."""
    _call(stand, "memory__remember", content="Harriet prefers tea")
    found = _call(stand, "memory__list")["memories"][0]
    demand((found["type"], found["confidence"]) == ("general", 0.8), "the defaults")
    demand(found["metadata"]["provenance"] == "user_requested", "the provenance")


@WIRE.promise("Nobody chooses their own provenance")
def provenance(stand: Stand) -> None:
    """Spoof in both ways."""
    mine = {"provenance": "operator_curated"}
    _call(stand, "memory__remember", content="Spoofed", metadata=mine, **mine)
    found = _call(stand, "memory__list")["memories"][0]
    demand(found["metadata"]["provenance"] == "user_requested", "it was chosen")


@WIRE.promise("Nothing found is an empty list, never null")
def nothing(stand: Stand) -> None:
    """Look into the void."""
    found = _call(stand, "memory__recall", query="zeppelin")
    demand(found == {"memories": [], "count": 0}, "it is not an empty list")


@WIRE.promise("Another agent's memories are not there, and cannot be forgotten")
def isolation(stand: Stand) -> None:
    """Look at another agent's."""
    made = _call(stand, "memory__remember", content="Mine alone")
    path = f"{TOOLS}/memory__list"
    theirs = stand.ask("POST", path, {}, who="other")
    demand(theirs["count"] == 0, "the other agent sees it")
    asked = {"memory_id": made["id"]}
    stand.ask("POST", f"{TOOLS}/memory__forget", asked, who="other")
    demand(_call(stand, "memory__list")["count"] == 1, "the other agent forgot it")


@WIRE.promise("Forgetting works, again and for what never was")
def forgetting(stand: Stand) -> None:
    """Forget twice."""
    made = _call(stand, "memory__remember", content="Passing")
    for memory_id in (made["id"], made["id"], "mem_never"):
        found = _call(stand, "memory__forget", memory_id=memory_id)
        demand(found["status"] == "forgotten", "it is not forgotten")
    demand(_call(stand, "memory__list")["count"] == 0, "it is still there")


@WIRE.promise("Empty content is refused with a sentence that names the tool")
def empty(stand: Stand) -> None:
    """Remember nothing."""
    path = f"{TOOLS}/memory__remember"
    found = stand.ask("POST", path, {"content": ""}, status=422)
    demand("memory remember: content is required" in found["detail"], "the sentence")
