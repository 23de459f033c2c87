"""What the AtomicMemory integration promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

AT: Final = "/compat/atomicmemory/v1/memories"
USER: Final = {"user_id": "harriet"}
SELFTEST: Final = Selftest()


def _keep(client: Client, text: str, **fields: Any) -> str:
    body = {
        **USER,
        "conversation": text,
        "source_site": "sdk",
        "source_url": "",
        "skip_extraction": True,
        **fields,
    }
    data = client.call("POST", f"{AT}/ingest/quick", body)
    return str(data["stored_memory_ids"][0])


@SELFTEST.promise(
    gettext_noop("An ingest is answered when it is done, with the ids it made")
)
def ingest(client: Client) -> None:
    """Ingest a text; the status has to be 200, never 202."""
    expect(_keep(client, "Deploys wait for a green check."), "there is no id")


@SELFTEST.promise(
    gettext_noop("A thread's search answers that thread's rows only, each naming it")
)
def threads(client: Client) -> None:
    _keep(client, "The kiln is in Porto.", session_id="t-1")
    _keep(client, "The kiln is in Faro.", session_id="t-2")
    body = {**USER, "query": "kiln", "session_id": "t-1"}
    memories = client.call("POST", f"{AT}/search/fast", body)["memories"]
    expect({row["session_id"] for row in memories} == {"t-1"}, "another thread's row")


@SELFTEST.promise(
    gettext_noop("A package says with a boolean whether its budget cut it")
)
def package(client: Client) -> None:
    _keep(client, "The kiln is in Porto.")
    body = {
        **USER,
        "query": "kiln",
        "retrieval_mode": "flat",
        "token_budget": 200,
        "skip_repair": True,
    }
    data = client.call("POST", f"{AT}/search", body)
    expect(isinstance(data["budget_constrained"], bool), "it is no boolean")


@SELFTEST.promise(gettext_noop("A memory can be read, deleted, and is 404 afterwards"))
def deletion(client: Client) -> None:
    path = f"{AT}/{_keep(client, 'Passing.')}"
    expect(client.call("GET", path, query=USER)["content"] == "Passing.", "the content")
    client.call("DELETE", path, query=USER)
    expect(
        "error" in client.call("GET", path, query=USER, status=404), "no error named"
    )


@SELFTEST.promise(
    gettext_noop("The audit trail of a memory carries its event under both names")
)
def trail(client: Client) -> None:
    path = f"{AT}/{_keep(client, 'Deploys wait.')}/audit"
    steps = client.call("GET", path, query=USER)["trail"]
    expect(steps, "the trail is empty")
    names = {"event", "mutation_type"} & set(steps[0])
    expect(names, "the event is not named")


@SELFTEST.promise(gettext_noop("Health answers ok with its configuration"))
def health(client: Client) -> None:
    data = client.call("GET", f"{AT}/health")
    expect(data["status"] == "ok" and data["config"], "it is not ok")


@SELFTEST.promise(gettext_noop("Another agent's user of the same name has nothing"))
def isolation(client: Client) -> None:
    _keep(client, "Mine alone.")
    body = {**USER, "query": "mine alone"}
    data = client.call("POST", f"{AT}/search/fast", body, sender="other")
    expect(data["memories"] == [], "the other agent sees it")
