"""What the Memory Gateway's wire promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.gateway import users
from memory.integrations.selftest_server import Stand, Wire, demand

AT: Final = "/gateway/memories"
CHAT: Final = "chat-1"
WIRE: Final = Wire(
    name="gateway",
    title="Memory Gateway",
    prefix="/gateway",
    client="the design's exact payloads",
    about="Search before a run, add and flush after it, with a user's own key.",
    snippets={
        "curl": """curl -sS {url}/gateway/memories/search \\
  -H "Content-Type: application/json" \\
  -d '{{"user_id": "harriet", "user_key": "'$GATEWAY_USER_KEY'",
       "query": "tea", "scope": ["all_user_memory"]}}'""",
        "Client config": """{{
  "memory": {{
    "mode": "memory_gateway",
    "gateway": {{
      "baseUrl": "{url}/gateway",
      "userId": "harriet",
      "userKey": "…",
      "scope": ["current_chat", "resources"]
    }}
  }}
}}""",
    },
)


def _user(stand: Stand, name: str) -> dict[str, Any]:
    made = users.issue(stand.agent(), name, by=stand.house)
    return {"user_id": name, "user_key": made.token}


def _add(stand: Stand, who: dict[str, Any], text: str) -> None:
    session = {**who, "session_id": f"chat:{CHAT}"}
    message = {
        "sender_id": who["user_id"],
        "role": "user",
        "timestamp": 1_700_000_000_000,
        "content": text,
    }
    stand.ask("POST", f"{AT}/add", {**session, "messages": [message]}, who="nobody")
    stand.ask("POST", f"{AT}/flush", session, who="nobody")


def _texts(stand: Stand, who: dict[str, Any], query: str) -> list[str]:
    body = {**who, "query": query, "scope": ["all_user_memory"], "top_k": 8}
    found = stand.ask("POST", f"{AT}/search", body, who="nobody")
    return [str(one["text"]) for one in found["results"]]


@WIRE.promise("What was added is found once it is flushed, by its user alone")
def round_trip(stand: Stand) -> None:
    """Add as one, search as two."""
    harriet, omar = _user(stand, "harriet"), _user(stand, "omar")
    _add(stand, harriet, "I prefer green tea in the morning.")
    demand(any("tea" in text for text in _texts(stand, harriet, "tea")), "not found")
    demand(not _texts(stand, omar, "tea"), "another user sees it")


@WIRE.promise("The same turn again is kept once")
def replay(stand: Stand) -> None:
    """Add twice."""
    harriet = _user(stand, "harriet")
    for _ in range(2):
        _add(stand, harriet, "I prefer green tea in the morning.")
    demand(len(_texts(stand, harriet, "tea")) == 1, "it was kept twice")


@WIRE.promise("An unknown user and a wrong key get one answer, which repeats neither")
def refusal(stand: Stand) -> None:
    """Knock with two bad credentials."""
    harriet = _user(stand, "harriet")
    search = {"query": "tea", "scope": ["all_user_memory"]}
    bodies = []
    for bad in ({**harriet, "user_key": "wrong"}, {**harriet, "user_id": "nobody"}):
        found = stand.send("POST", f"{AT}/search", {**bad, **search}, who="nobody")
        demand(found.status_code == 401, f"the status was {found.status_code}")
        bodies.append(found.text)
    demand(bodies[0] == bodies[1], "the answers differ")
    demand(harriet["user_key"] not in bodies[1], "the key came back")
