"""Every operation of the API, as a request that succeeds for whom it is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.world import World

# Who is asked for in the permission matrix, in the order of its columns.
WHO: Final = (
    "owner",
    "operator",
    "compliance",
    "viewer",
    "ada",
    "reader",
    "looker",
    "stranger",
    "nobody",
    "expired",
    "revoked",
)


@dataclass(frozen=True)
class Operation:
    """One operation: how to call it, and the status everybody gets, as one line."""

    id: str
    method: str
    path: str
    statuses: str
    body: Callable[[World], Any] | None = None

    def expected(self, who: str) -> int:
        """Return somebody's status."""
        return int(self.statuses.split()[WHO.index(who)])

    def url(self, world: World) -> str:
        """Return the path with an entry of ada's in it."""
        if "{entry_id}" in self.path:
            return self.path.replace("{entry_id}", world.entry().id)
        return self.path


def _entry(_: World) -> Any:
    return {"entry_type": "peer.escalation", "summary": "Refund above $200"}


def _batch(world: World) -> Any:
    return {"entries": [_entry(world)]}


def _why(world: World) -> Any:
    return {"query": "refund", "entry_id": world.entry().id}


# The one table. Columns: owner operator compliance viewer agent, the agent's read-only
# key, the owner's read-only key, an admin of another workspace, nobody, expired,
# revoked. A stranger reads their own workspace, so lists answer 200 and ids 404.
OPERATIONS: Final = (
    #                                           own ope com vie age red loo str nob exp rev
    Operation("append_entry", "post", "/journal",
              "403 403 403 403 201 403 403 403 401 401 401", _entry),
    Operation("append_batch", "post", "/journal/batch",
              "403 403 403 403 200 403 403 403 401 401 401", _batch),
    Operation("list_entries", "get", "/journal",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("count_entries", "get", "/journal/count",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("verify_chain", "get", "/journal/verify",
              "200 200 403 403 403 403 200 200 401 401 401"),
    Operation("get_entry", "get", "/journal/{entry_id}",
              "200 200 200 200 200 200 200 404 401 401 401"),
    Operation("set_entry_priority", "post", "/journal/{entry_id}/priority",
              "200 200 403 403 403 403 403 404 401 401 401",
              lambda _: {"priority": "pin", "reason": "watch"}),
    Operation("recall", "post", "/episodic/recall",
              "200 200 200 200 200 200 200 200 401 401 401",
              lambda _: {"query": "refund"}),
    Operation("why", "post", "/episodic/why",
              "200 200 200 200 200 200 200 404 401 401 401", _why),
    Operation("index_status", "get", "/episodic/index",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("index_now", "post", "/episodic/index",
              "200 200 403 403 403 403 403 200 401 401 401", lambda _: {"limit": 1}),
    Operation("whoami", "get", "/me",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("list_crews", "get", "/crews",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("list_agents", "get", "/agents",
              "200 200 200 200 200 200 200 200 401 401 401"),
)  # fmt: skip
BY_ID: Final = {operation.id: operation for operation in OPERATIONS}
