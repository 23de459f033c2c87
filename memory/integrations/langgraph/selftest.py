"""What the LangGraph store promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Stand, Wire, demand

AT: Final = "/compat/langgraph"
ITEMS: Final = f"{AT}/store/items"
WIRE: Final = Wire(
    name="langgraph",
    title="LangGraph store",
    prefix=AT,
    client="langgraph-sdk 0.4.14",
    about="Values under a namespace and a key, each a record with its versions.",
    snippets={
        "Python": """from langgraph_sdk import get_sync_client

KEY = "…"  # an agent's key

store = get_sync_client(
    url="{url}/compat/langgraph", api_key=KEY
).store
store.put_item(["users", "harriet"], key="tea", value={{"likes": "green"}})
print(store.search_items(["users"], query="tea"))""",
        "curl": """curl -sS {url}/compat/langgraph/store/items/search \\
  -H "X-Api-Key: $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"namespace_prefix": ["users"], "query": "tea"}}'""",
    },
)


def _put(stand: Stand, key: str, value: dict[str, Any], *labels: str) -> None:
    body = {"namespace": ["users", *labels], "key": key, "value": value}
    stand.ask("PUT", ITEMS, body, status=204)


def _get(stand: Stand, key: str, **more: Any) -> Any:
    where = {"key": key, "namespace": "users"}
    return stand.ask("GET", ITEMS, query=where, **more)


@WIRE.promise("A value comes back as it was put, whatever is in it")
def whole(stand: Stand) -> None:
    """Put and get."""
    value = {"likes": "té", "cups": 3, "deep": [1, None, {"x": True}]}
    _put(stand, "tea", value)
    demand(_get(stand, "tea")["value"] == value, "it came back changed")


@WIRE.promise("An overwrite keeps the day of birth")
def overwrite(stand: Stand) -> None:
    """Put twice."""
    _put(stand, "tea", {"cups": 3})
    before = _get(stand, "tea")
    _put(stand, "tea", {"cups": 4})
    after = _get(stand, "tea")
    demand(after["value"] == {"cups": 4}, "the old value came back")
    demand(after["created_at"] == before["created_at"], "created_at changed")


@WIRE.promise("A prefix is whole labels; filters compare like with like")
def search(stand: Stand) -> None:
    """Search below a prefix."""
    for number in range(3):
        _put(stand, f"c{number}", {"n": number}, "cups")
    _put(stand, "odd", {"n": "2"}, "cupsful")
    body = {"namespace_prefix": ["users", "cups"], "filter": {"n": {"$gte": 1}}}
    found = stand.ask("POST", f"{ITEMS}/search", body)["items"]
    demand(
        [item["key"] for item in found] == ["c1", "c2"], "not exactly two were found"
    )


@WIRE.promise("Pages end, and namespaces are cut at a depth")
def pages(stand: Stand) -> None:
    """Page past the end."""
    _put(stand, "a", {"n": 1}, "x")
    _put(stand, "b", {"n": 2}, "y")
    body = {"namespace_prefix": [], "limit": 5, "offset": 2}
    demand(not stand.ask("POST", f"{ITEMS}/search", body)["items"], "there is more")
    found = stand.ask("POST", f"{AT}/store/namespaces", {"max_depth": 1})
    demand(found["namespaces"] == [["users"]], "the namespaces are not cut")


@WIRE.promise("DELETE reads its JSON body; what is gone answers 404")
def deletion(stand: Stand) -> None:
    """Delete, twice."""
    _put(stand, "tea", {"cups": 3})
    body = {"namespace": ["users"], "key": "tea"}
    for _ in range(2):
        stand.ask("DELETE", ITEMS, body, status=204)
    _get(stand, "tea", status=404)


@WIRE.promise("Another agent's items are not there")
def isolation(stand: Stand) -> None:
    """Look at another agent's."""
    _put(stand, "tea", {"cups": 3})
    _get(stand, "tea", status=404, who="other")
