"""A handler reads the database; the schema of its answer does not.

pydantic takes an error that is raised while it reads an attribute for a wrong value, so
that an outage there would be answered as a bug.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from memory.models import HeldFile
from tests.api.operations import BY_ID, OPERATIONS, Operation
from tests.world import ATTACK, World


def _write_twice(world: World) -> None:
    world.file()
    body = {"tier": "AGENT", "content": "More.", "mode": "append"}
    assert world.api("ada").post("/memory/tools/memory.write", body).data["ok"]


def _hold_a_record(world: World) -> None:
    if "held" not in world.kept:
        world.api("ada").post("/records", {"content": ATTACK})
        world.kept["held"] = HeldFile.objects.get(tier="records")


# What writes nothing, or the same again, with rows for every part of the answer.
REPEATABLE: Final = {
    **{op.id: op for op in OPERATIONS if op.method == "get" and not op.is_open},
    **{name: BY_ID[name] for name in ("why", "context", "search_records")},
    "recompute_health": BY_ID["recompute_health"],
    "recall": replace(
        BY_ID["recall"],
        body=lambda _: {"query": "refund", "explain": True},
        before=lambda world: world.indexed(),
    ),
    "list_memory_versions": replace(BY_ID["list_memory_versions"], before=_write_twice),
    "get_quarantine": replace(BY_ID["get_quarantine"], before=_hold_a_record),
}


@pytest.mark.parametrize("operation", REPEATABLE.values(), ids=lambda op: op.id)
def test_a_database_that_fails_at_the_last_statement_is_an_outage(
    world: World, operation: Operation
) -> None:
    url = operation.url(world)
    body = operation.body(world) if operation.body else None
    api = world.api(operation.caller)
    # The first request fills the caches.
    for _ in range(2):
        with CaptureQueriesContext(connection) as statements:
            assert api.send(operation.method, url, body).status < 300
    left = len(statements)

    def refuse(execute: Any, *rest: Any) -> Any:
        nonlocal left
        left -= 1
        if left <= 0:
            raise OperationalError("connection refused")
        return execute(*rest)

    with connection.execute_wrapper(refuse):
        reply = api.send(operation.method, url, body)
    assert (reply.status, reply.code) == (503, "database_unavailable")
