"""What the LangGraph integration promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

AT: Final = "/compat/langgraph"
ITEMS: Final = f"{AT}/store/items"
SELFTEST: Final = Selftest()


def _put(client: Client, key: str, value: dict[str, Any], *labels: str) -> None:
    body = {"namespace": ["users", *labels], "key": key, "value": value}
    client.call("PUT", ITEMS, body, status=204)


def _get(client: Client, key: str, **options: Any) -> Any:
    where = {"key": key, "namespace": "users"}
    return client.call("GET", ITEMS, query=where, **options)


@SELFTEST.promise(gettext_noop("A value comes back as it was put, whatever is in it"))
def unchanged_value(client: Client) -> None:
    value = {"likes": "té", "cups": 3, "deep": [1, None, {"x": True}]}
    _put(client, "tea", value)
    expect(_get(client, "tea")["value"] == value, "it came back changed")


@SELFTEST.promise(gettext_noop("An overwrite keeps created_at"))
def overwrite(client: Client) -> None:
    _put(client, "tea", {"cups": 3})
    before = _get(client, "tea")
    _put(client, "tea", {"cups": 4})
    after = _get(client, "tea")
    expect(after["value"] == {"cups": 4}, "the old value came back")
    expect(after["created_at"] == before["created_at"], "created_at changed")


@SELFTEST.promise(
    gettext_noop("A prefix is whole labels; filters compare like with like")
)
def search(client: Client) -> None:
    for number in range(3):
        _put(client, f"c{number}", {"n": number}, "cups")
    _put(client, "odd", {"n": "2"}, "cupsful")
    body = {"namespace_prefix": ["users", "cups"], "filter": {"n": {"$gte": 1}}}
    items = client.call("POST", f"{ITEMS}/search", body)["items"]
    expect(
        [item["key"] for item in items] == ["c1", "c2"], "not exactly two were found"
    )


@SELFTEST.promise(gettext_noop("Paging ends, and namespaces are cut at a depth"))
def pages(client: Client) -> None:
    _put(client, "a", {"n": 1}, "x")
    _put(client, "b", {"n": 2}, "y")
    body = {"namespace_prefix": [], "limit": 5, "offset": 2}
    expect(not client.call("POST", f"{ITEMS}/search", body)["items"], "there is more")
    data = client.call("POST", f"{AT}/store/namespaces", {"max_depth": 1})
    expect(data["namespaces"] == [["users"]], "the namespaces are not cut")


@SELFTEST.promise(gettext_noop("DELETE reads its JSON body; what is gone answers 404"))
def deletion(client: Client) -> None:
    _put(client, "tea", {"cups": 3})
    body = {"namespace": ["users"], "key": "tea"}
    for _ in range(2):
        client.call("DELETE", ITEMS, body, status=204)
    _get(client, "tea", status=404)


@SELFTEST.promise(gettext_noop("Another agent's items are not there"))
def isolation(client: Client) -> None:
    _put(client, "tea", {"cups": 3})
    _get(client, "tea", status=404, sender="other")
