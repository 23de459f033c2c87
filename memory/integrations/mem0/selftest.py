"""What the mem0 wire promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Stand, Wire, demand

AT: Final = "/compat/mem0"
WIRE: Final = Wire(
    name="mem0",
    title="mem0",
    prefix=AT,
    client="mem0ai 2.2.1",
    about="The platform's routes, for its clients with another host.",
    snippets={
        "Python": """from mem0 import MemoryClient

KEY = "…"  # an agent's key

memory = MemoryClient(api_key=KEY, host="{url}/compat/mem0")
memory.add("I prefer green tea.", user_id="harriet")
print(memory.search("tea", filters={{"user_id": "harriet"}}))""",
        "curl": """curl -sS {url}/compat/mem0/v3/memories/search/ \\
  -H "Authorization: Token $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"query": "tea", "filters": {{"user_id": "harriet"}}}}'""",
    },
)


def _add(stand: Stand, text: str, user: str = "harriet") -> str:
    body = {"messages": [{"role": "user", "content": text}], "user_id": user}
    found = stand.ask("POST", f"{AT}/v3/memories/add/", body)
    return str(found["results"][0]["id"])


def _listed(stand: Stand, user: str) -> list[dict[str, Any]]:
    body = {"filters": {"user_id": user}}
    return list(stand.ask("POST", f"{AT}/v3/memories/", body)["results"])


@WIRE.promise("The client's first call tells whose key it is")
def ping(stand: Stand) -> None:
    """Ping."""
    found = stand.ask("GET", f"{AT}/v1/ping/")
    demand(found["org_id"] and found["project_id"], "it does not say")


@WIRE.promise("What is added for a user is found for that user and for nobody else")
def users(stand: Stand) -> None:
    """Add for two."""
    _add(stand, "The kiln stands in Porto")
    _add(stand, "The kiln stands in Faro", "omar")
    body = {"query": "kiln", "filters": {"user_id": "harriet"}}
    found = stand.ask("POST", f"{AT}/v3/memories/search/", body)["results"]
    told = {row["memory"] for row in found}
    demand(told == {"The kiln stands in Porto"}, "not exactly hers were found")


@WIRE.promise("An update is kept beside what was said before")
def history(stand: Stand) -> None:
    """Change a memory."""
    one = _add(stand, "Harriet likes tea")
    path = f"{AT}/v1/memories/{one}"
    stand.ask("PUT", f"{path}/", {"text": "Harriet likes coffee"})
    found = stand.ask("GET", f"{path}/history/")
    events = [step["event"] for step in found]
    demand(events == ["ADD", "UPDATE"], "the history does not tell of both")
    demand(found[1]["old_memory"] == "Harriet likes tea", "the old text is not told")


@WIRE.promise("A deleted memory is gone with 404 and a detail")
def deletion(stand: Stand) -> None:
    """Delete a memory."""
    path = f"{AT}/v1/memories/{_add(stand, 'Passing')}/"
    stand.ask("DELETE", path)
    demand("detail" in stand.ask("GET", path, status=404), "there is no detail")


@WIRE.promise("Deleting all needs a name, and leaves everybody else's")
def delete_all(stand: Stand) -> None:
    """Delete a user's."""
    _add(stand, "Hers")
    _add(stand, "His", "omar")
    stand.ask("DELETE", f"{AT}/v1/memories/", status=400)
    stand.ask("DELETE", f"{AT}/v1/memories/", query={"user_id": "harriet"})
    demand(not _listed(stand, "harriet"), "hers are still there")
    demand(len(_listed(stand, "omar")) == 1, "his are gone too")


@WIRE.promise("Pages end")
def pages(stand: Stand) -> None:
    """Walk a list of three by two."""
    for text in ("One fish", "Two lamps", "Three tins"):
        _add(stand, text)
    body, path, seen = {"filters": {"user_id": "harriet"}}, f"{AT}/v3/memories/", []
    for page in (1, 2):
        size = {"page": page, "page_size": 2}
        found = stand.ask("POST", path, body, query=size)
        seen += [row["id"] for row in found["results"]]
    demand(found["next"] is None, "the last page has a next")
    demand(len(set(seen)) == 3, "not every memory was listed once")


@WIRE.promise("A filter that is not understood is refused, not ignored")
def filters(stand: Stand) -> None:
    """Ask with an unknown field."""
    body = {"query": "x", "filters": {"user_id": "harriet", "mood": "calm"}}
    stand.ask("POST", f"{AT}/v3/memories/search/", body, status=400)
