"""mem0's own client: eleven calls, two mistakes, and somebody else's memories."""

from __future__ import annotations

import os

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import MemoryClient
from mem0.exceptions import MemoryNotFoundError
from steps import Steps

URL = os.environ["HOUSE_URL"] + "/compat/mem0"
steps = Steps("mem0ai")
client = steps.run(
    "ping", lambda: MemoryClient(api_key=os.environ["HOUSE_KEY"], host=URL)
)
HARRIET = {"user_id": "harriet", "run_id": "r1"}
TURNS = [
    {"role": "user", "content": "I prefer green tea. What time is it?"},
    {"role": "assistant", "content": "It is noon. I like coffee."},
    {"role": "user", "content": "The kiln in Porto was booked for Friday."},
]


def results_of(answer):
    return [row["memory"] for row in answer["results"]]


added = steps.run(
    "add", lambda: client.add(TURNS, **HARRIET, metadata={"source": "chat"})
)
ids = [row["id"] for row in added["results"]]
steps.expect("two statements were kept", len(ids) == 2, added)
repeated = steps.run("add again", lambda: client.add(TURNS, **HARRIET))
steps.expect(
    "nothing is kept twice",
    {r["event"] for r in repeated["results"]} == {"NONE"},
    repeated,
)
other_user = client.add("Booked the kiln in Faro.", user_id="omar", infer=False)
hits = steps.run(
    "search", lambda: client.search("kiln in Porto", filters={"user_id": "harriet"})
)
steps.expect(
    "the right one is first", results_of(hits)[:1] == [TURNS[2]["content"]], hits
)
steps.expect(
    "another user's is not among them",
    "Booked the kiln in Faro." not in results_of(hits),
)
nested = steps.run(
    "search with AND",
    lambda: client.search(
        "tea",
        filters={"AND": [{"user_id": "harriet"}, {"metadata": {"source": "chat"}}]},
    ),
)
steps.expect(
    "a filter keeps what fits", "I prefer green tea." in results_of(nested), nested
)
none = client.search(
    "tea", filters={"user_id": "harriet", "metadata": {"source": "fax"}}
)
steps.expect("a filter drops the rest", none["results"] == [], none)
all_memories = steps.run(
    "get all", lambda: client.get_all(filters={"user_id": "harriet"})
)
steps.expect(
    "all are listed",
    all_memories["count"] == 2 and all_memories["next"] is None,
    all_memories,
)
pages, page = [], 1
while page and page < 9:
    page_data = client.get_all(filters={"user_id": "harriet"}, page=page, page_size=1)
    pages += results_of(page_data)
    page = page + 1 if page_data["next"] else 0
steps.expect(
    "paging ends with every memory once", len(pages) == len(set(pages)) == 2, pages
)
memory = steps.run("get", lambda: client.get(ids[0]))
steps.expect(
    "the row names its user",
    memory["user_id"] == "harriet" and memory["run_id"] == "r1",
    memory,
)
updated = steps.run("update", lambda: client.update(ids[0], text="I prefer black tea."))
steps.expect("the text changed", updated["memory"] == "I prefer black tea.", updated)
past = steps.run("history", lambda: client.history(ids[0]))
steps.expect(
    "both versions are told", [p["event"] for p in past] == ["ADD", "UPDATE"], past
)
steps.expect(
    "with what was said before", past[1]["old_memory"] == "I prefer green tea.", past
)
steps.run("delete", lambda: client.delete(ids[0]))


def is_gone(memory_id):
    """Return whether a memory is refused as the client's own error."""
    try:
        client.get(memory_id)
    except MemoryNotFoundError:
        return True
    return False


steps.expect("a deleted memory is not found", is_gone(ids[0]))
steps.expect("nor is one that never was", is_gone("rec_0000000000000000"))
people = steps.run("users", lambda: client.users())
names = {(row["type"], row["name"]) for row in people["results"]}
steps.expect(
    "both users are listed", {("user", "harriet"), ("user", "omar")} <= names, people
)
steps.run("delete all", lambda: client.delete_all(user_id="harriet"))
rest = client.get_all(filters={"user_id": "harriet"})
steps.expect("nothing of hers is left", rest["count"] == 0, rest)
steps.expect(
    "his is",
    results_of(client.get_all(filters={"user_id": "omar"}))
    == ["Booked the kiln in Faro."],
)
steps.run("delete users", lambda: client.delete_users(user_id="omar"))
steps.expect(
    "nothing of his is left", client.get_all(filters={"user_id": "omar"})["count"] == 0
)


def refusal(call):
    """Return the error that a call ends with, without the key in it."""
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return {"error": type(error).__name__, "text": str(error)}
    return {}


page_data = refusal(lambda: client.add("I like rain."))
steps.expect(
    "somebody has to be named", "user_id" in page_data.get("text", ""), page_data
)
page_data = refusal(lambda: client.delete_all())
steps.expect(
    "nobody is not everybody", "user_id" in page_data.get("text", ""), page_data
)
page_data = refusal(lambda: MemoryClient(api_key="cmk_wrong", host=URL))
steps.expect(
    "a wrong key is refused",
    bool(page_data) and "cmk_wrong" not in page_data["text"],
    page_data,
)
steps.finish()
