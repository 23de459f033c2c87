"""What the mem0 integration promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

AT: Final = "/compat/mem0"
SELFTEST: Final = Selftest()


def _add(client: Client, text: str, user: str = "harriet") -> str:
    body = {"messages": [{"role": "user", "content": text}], "user_id": user}
    data = client.call("POST", f"{AT}/v3/memories/add/", body)
    return str(data["results"][0]["id"])


def _list(client: Client, user: str) -> list[dict[str, Any]]:
    body = {"filters": {"user_id": user}}
    return list(client.call("POST", f"{AT}/v3/memories/", body)["results"])


@SELFTEST.promise(
    gettext_noop("The client's first call names the key's workspace and project")
)
def ping(client: Client) -> None:
    data = client.call("GET", f"{AT}/v1/ping/")
    expect(data["org_id"] and data["project_id"], "it does not name them")


@SELFTEST.promise(
    gettext_noop("What is added for a user is found for that user and for nobody else")
)
def users(client: Client) -> None:
    _add(client, "The kiln stands in Porto")
    _add(client, "The kiln stands in Faro", "omar")
    body = {"query": "kiln", "filters": {"user_id": "harriet"}}
    results = client.call("POST", f"{AT}/v3/memories/search/", body)["results"]
    texts = {row["memory"] for row in results}
    expect(
        texts == {"The kiln stands in Porto"},
        "not exactly that user's memories were found",
    )


@SELFTEST.promise(gettext_noop("An update keeps the earlier text in the history"))
def history(client: Client) -> None:
    memory_id = _add(client, "Harriet likes tea")
    path = f"{AT}/v1/memories/{memory_id}"
    client.call("PUT", f"{path}/", {"text": "Harriet likes coffee"})
    steps = client.call("GET", f"{path}/history/")
    events = [step["event"] for step in steps]
    expect(events == ["ADD", "UPDATE"], "the history does not show both steps")
    expect(steps[1]["old_memory"] == "Harriet likes tea", "the old text is missing")


@SELFTEST.promise(gettext_noop("A deleted memory is gone with 404 and a detail"))
def deletion(client: Client) -> None:
    path = f"{AT}/v1/memories/{_add(client, 'Passing')}/"
    client.call("DELETE", path)
    expect("detail" in client.call("GET", path, status=404), "there is no detail")


@SELFTEST.promise(
    gettext_noop("Deleting all needs an entity, and leaves the memories of others")
)
def delete_all(client: Client) -> None:
    _add(client, "Hers")
    _add(client, "His", "omar")
    client.call("DELETE", f"{AT}/v1/memories/", status=400)
    client.call("DELETE", f"{AT}/v1/memories/", query={"user_id": "harriet"})
    expect(not _list(client, "harriet"), "they are still there")
    expect(len(_list(client, "omar")) == 1, "another user's are gone too")


@SELFTEST.promise(gettext_noop("Paging ends and lists each memory once"))
def pages(client: Client) -> None:
    """Page through three memories, two at a time."""
    for text in ("One fish", "Two lamps", "Three tins"):
        _add(client, text)
    body, path, ids = {"filters": {"user_id": "harriet"}}, f"{AT}/v3/memories/", []
    for page in (1, 2):
        size = {"page": page, "page_size": 2}
        data = client.call("POST", path, body, query=size)
        ids += [row["id"] for row in data["results"]]
    expect(data["next"] is None, "the last page has a next")
    expect(len(set(ids)) == 3, "not every memory was listed once")


@SELFTEST.promise(
    gettext_noop("A filter that is not understood is refused, not ignored")
)
def filters(client: Client) -> None:
    body = {"query": "x", "filters": {"user_id": "harriet", "mood": "calm"}}
    client.call("POST", f"{AT}/v3/memories/search/", body, status=400)
