"""LangGraph's own client on its store: put, get, search, namespaces, delete."""

from __future__ import annotations

import os

from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import NotFoundError
from steps import Steps

URL = os.environ["HOUSE_URL"] + "/compat/langgraph"
steps = Steps("langgraph-sdk")
store = get_sync_client(url=URL, api_key=os.environ["HOUSE_KEY"]).store
HOME = ["users", "harriet"]
TEA = {"likes": "green tea", "cups": 3, "nested": {"deep": [1, None, True]}}


def keys(answer):
    """Return the keys of found items."""
    return [item["key"] for item in answer["items"]]


def is_missing(call):
    """Return whether a call ends with the client's own not-found error."""
    try:
        call()
    except NotFoundError:
        return True
    return False


steps.run("put", lambda: store.put_item(HOME, key="tea", value=TEA))
item = steps.run("get", lambda: store.get_item(HOME, key="tea"))
steps.expect("the value comes back whole", item["value"] == TEA, item)
steps.expect("so does the namespace", item["namespace"] == HOME, item)
store.put_item(HOME, key="tea", value={**TEA, "cups": 4})
after = store.get_item(HOME, key="tea")
steps.expect("an overwrite changes the value", after["value"]["cups"] == 4, after)
steps.expect("and not its birthday", after["created_at"] == item["created_at"], after)
steps.expect("but its last change", after["updated_at"] >= item["updated_at"], after)
for number in range(12):
    store.put_item([*HOME, "cups"], key=f"c{number:02}", value={"n": number})
store.put_item(["users", "harrietta"], key="tea", value={"likes": "matcha"})
searched = steps.run(
    "search by query", lambda: store.search_items(HOME, query="green tea")
)
steps.expect("the item is found", keys(searched)[:1] == ["tea"], searched)
page = steps.run("search", lambda: store.search_items(HOME))
steps.expect("ten are the default", len(page["items"]) == 10, keys(page))
steps.expect(
    "a prefix is whole labels",
    all(
        item["namespace"][:2] == HOME
        for item in store.search_items(HOME, limit=100)["items"]
    ),
)
all_items, offset = [], 0
while len(all_items) < 100:
    part = keys(store.search_items([*HOME, "cups"], limit=5, offset=offset))
    if not part:
        break
    all_items, offset = all_items + part, offset + 5
steps.expect(
    "paging ends with every item once",
    all_items == [f"c{n:02}" for n in range(12)],
    all_items,
)
for name, value_filter, expected in (
    ("equal", {"n": 4}, ["c04"]),
    ("$eq", {"n": {"$eq": 4}}, ["c04"]),
    ("$gt", {"n": {"$gt": 9}}, ["c10", "c11"]),
    ("$gte and $lt", {"n": {"$gte": 2, "$lt": 4}}, ["c02", "c03"]),
    ("$lte", {"n": {"$lte": 1}}, ["c00", "c01"]),
    ("a text is no number", {"n": {"$lte": "1"}}, []),
):
    results = store.search_items([*HOME, "cups"], filter=value_filter, limit=50)
    steps.expect(f"filter {name}", keys(results) == expected, keys(results))
results = store.search_items([*HOME, "cups"], filter={"n": {"$ne": 4}}, limit=50)
steps.expect(
    "filter $ne", len(keys(results)) == 11 and "c04" not in keys(results), keys(results)
)
spaces = steps.run("namespaces", lambda: store.list_namespaces(prefix=["users"]))
expected = [HOME, [*HOME, "cups"], ["users", "harrietta"]]
steps.expect(
    "every namespace", sorted(spaces["namespaces"]) == sorted(expected), spaces
)
flat = store.list_namespaces(prefix=["users"], max_depth=1)["namespaces"]
steps.expect("cut at a depth, once", flat == [["users"]], flat)
last = store.list_namespaces(suffix=["cups"])["namespaces"]
steps.expect("by their end", last == [[*HOME, "cups"]], last)
steps.run("delete", lambda: store.delete_item(HOME, key="tea"))
steps.expect(
    "a deleted item is not found", is_missing(lambda: store.get_item(HOME, key="tea"))
)
steps.run("delete again", lambda: store.delete_item(HOME, key="tea"))
steps.expect(
    "nor one that never was", is_missing(lambda: store.get_item(HOME, key="coffee"))
)
store.put_item(HOME, key="tea", value={"likes": "oolong"}, ttl=5)
born = store.get_item(HOME, key="tea")
steps.expect("a key may be used again", born["value"] == {"likes": "oolong"}, born)
other = get_sync_client(url=URL, api_key=os.environ["HOUSE_OTHER_KEY"]).store
steps.expect(
    "another agent sees nothing", is_missing(lambda: other.get_item(HOME, key="tea"))
)
steps.expect(
    "and lists nothing", other.list_namespaces(prefix=["users"])["namespaces"] == []
)
steps.finish()
