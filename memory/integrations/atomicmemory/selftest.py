"""What the AtomicMemory wire promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Stand, Wire, demand

AT: Final = "/compat/atomicmemory/v1/memories"
USER: Final = {"user_id": "harriet"}
WIRE: Final = Wire(
    name="atomicmemory",
    title="AtomicMemory",
    prefix="/compat/atomicmemory",
    client="atomicmemory 1.1.4, atomicmemory-hermes 0.2.3",
    about="The core's routes: ingest, search, package, history and the handle.",
    snippets={
        "Python": """from atomicmemory import MemoryClient

KEY = "…"  # an agent's key

house = {{"apiUrl": "{url}/compat/atomicmemory", "apiKey": KEY}}
memory = MemoryClient(providers={{"atomicmemory": house}})
memory.initialize()
print(memory.search({{"query": "tea", "scope": {{"user": "harriet"}}}}))""",
        "curl": """curl -sS {url}/compat/atomicmemory/v1/memories/search/fast \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"user_id": "harriet", "query": "tea"}}'""",
        "Hermes plugin": """export ATOMICMEMORY_API_URL={url}/compat/atomicmemory
export ATOMICMEMORY_API_KEY=…
export ATOMICMEMORY_SCOPE_USER=harriet""",
    },
)


def _keep(stand: Stand, text: str, **more: Any) -> str:
    body = {
        **USER,
        "conversation": text,
        "source_site": "sdk",
        "source_url": "",
        "skip_extraction": True,
        **more,
    }
    found = stand.ask("POST", f"{AT}/ingest/quick", body)
    return str(found["stored_memory_ids"][0])


@WIRE.promise("An ingest is answered when it is done, with the ids it made")
def ingest(stand: Stand) -> None:
    """Keep a text; the status is demanded to be 200, never 202."""
    demand(_keep(stand, "Deploys wait for a green check."), "there is no id")


@WIRE.promise("A thread's search answers that thread's rows only, each naming it")
def threads(stand: Stand) -> None:
    """Search in a thread."""
    _keep(stand, "The kiln is in Porto.", session_id="t-1")
    _keep(stand, "The kiln is in Faro.", session_id="t-2")
    body = {**USER, "query": "kiln", "session_id": "t-1"}
    found = stand.ask("POST", f"{AT}/search/fast", body)["memories"]
    demand({row["session_id"] for row in found} == {"t-1"}, "another thread's row")


@WIRE.promise("A package says by a real boolean whether its budget cut it")
def package(stand: Stand) -> None:
    """Ask for a package."""
    _keep(stand, "The kiln is in Porto.")
    body = {
        **USER,
        "query": "kiln",
        "retrieval_mode": "flat",
        "token_budget": 200,
        "skip_repair": True,
    }
    found = stand.ask("POST", f"{AT}/search", body)
    demand(isinstance(found["budget_constrained"], bool), "it is no boolean")


@WIRE.promise("A memory can be read, deleted, and is 404 afterwards")
def deletion(stand: Stand) -> None:
    """Delete one."""
    path = f"{AT}/{_keep(stand, 'Passing.')}"
    demand(stand.ask("GET", path, query=USER)["content"] == "Passing.", "the content")
    stand.ask("DELETE", path, query=USER)
    demand("error" in stand.ask("GET", path, query=USER, status=404), "no error named")


@WIRE.promise("The trail of a memory tells its event under both names")
def trail(stand: Stand) -> None:
    """Read the audit."""
    path = f"{AT}/{_keep(stand, 'Deploys wait.')}/audit"
    found = stand.ask("GET", path, query=USER)["trail"]
    demand(found, "the trail is empty")
    names = {"event", "mutation_type"} & set(found[0])
    demand(names, "the event is not named")


@WIRE.promise("Health says ok and tells its configuration")
def health(stand: Stand) -> None:
    """Ask how it is."""
    found = stand.ask("GET", f"{AT}/health")
    demand(found["status"] == "ok" and found["config"], "it is not ok")


@WIRE.promise("Another agent's user of the same name has nothing")
def isolation(stand: Stand) -> None:
    """Search as another agent."""
    _keep(stand, "Mine alone.")
    body = {**USER, "query": "mine alone"}
    found = stand.ask("POST", f"{AT}/search/fast", body, who="other")
    demand(found["memories"] == [], "the other agent sees it")
