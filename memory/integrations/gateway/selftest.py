"""What the Memory Gateway promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.gateway import users
from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

AT: Final = "/gateway/memories"
CHAT: Final = "chat-1"
SELFTEST: Final = Selftest()


def _user(client: Client, name: str) -> dict[str, Any]:
    issued = users.issue(client.agent(), name, by=client.system_actor)
    return {"user_id": name, "user_key": issued.token}


def _add(client: Client, credentials: dict[str, Any], text: str) -> None:
    session = {**credentials, "session_id": f"chat:{CHAT}"}
    message = {
        "sender_id": credentials["user_id"],
        "role": "user",
        "timestamp": 1_700_000_000_000,
        "content": text,
    }
    client.call(
        "POST", f"{AT}/add", {**session, "messages": [message]}, sender="nobody"
    )
    client.call("POST", f"{AT}/flush", session, sender="nobody")


def _texts(client: Client, credentials: dict[str, Any], query: str) -> list[str]:
    body = {**credentials, "query": query, "scope": ["all_user_memory"], "top_k": 8}
    data = client.call("POST", f"{AT}/search", body, sender="nobody")
    return [str(memory["text"]) for memory in data["results"]]


@SELFTEST.promise(
    gettext_noop("What was added is found once it is flushed, by its user alone")
)
def round_trip(client: Client) -> None:
    """Add as one user, search as two."""
    harriet, omar = _user(client, "harriet"), _user(client, "omar")
    _add(client, harriet, "I prefer green tea in the morning.")
    expect(any("tea" in text for text in _texts(client, harriet, "tea")), "not found")
    expect(not _texts(client, omar, "tea"), "another user sees it")


@SELFTEST.promise(gettext_noop("The same turn added again is stored once"))
def replay(client: Client) -> None:
    harriet = _user(client, "harriet")
    for _ in range(2):
        _add(client, harriet, "I prefer green tea in the morning.")
    expect(len(_texts(client, harriet, "tea")) == 1, "it was kept twice")


@SELFTEST.promise(
    gettext_noop(
        "An unknown user and a wrong key get one answer, which repeats neither"
    )
)
def refusal(client: Client) -> None:
    """Send two bad credentials."""
    harriet = _user(client, "harriet")
    search = {"query": "tea", "scope": ["all_user_memory"]}
    bodies = []
    for credentials in (
        {**harriet, "user_key": "wrong"},
        {**harriet, "user_id": "nobody"},
    ):
        response = client.send(
            "POST", f"{AT}/search", {**credentials, **search}, sender="nobody"
        )
        expect(response.status_code == 401, f"the status was {response.status_code}")
        bodies.append(response.text)
    expect(bodies[0] == bodies[1], "the answers differ")
    expect(harriet["user_key"] not in bodies[1], "the key came back")
