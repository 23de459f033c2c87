"""An agent gets another name while its entries are erased, or decay."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from episodic.index import decay
from memory.journal import erasure
from memory.models import Agent
from tests import waiting
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
_WAITS = "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"


def _ids(world: World) -> tuple[str, str]:
    """Return two entries of ada's: the later one has the id that is locked first."""
    ids = [world.indexed().id]
    while min(ids) == ids[0]:
        ids.append(world.indexed().id)
    return min(ids), ids[0]


def _is_waiting(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, [pid])
        return bool(cursor.fetchone()[0])


@pytest.mark.parametrize("act", ["erased", "decays"])
def test_one_waits_for_the_other(world: World, act: str) -> None:
    acts: dict[str, Callable[[list[str]], object]] = {
        "erased": lambda ids: erasure.erase(world.acme.id, ids),
        "decays": decay.refresh,
    }
    agent, pids = world.agents["ada"], list[int]()

    def rename() -> None:
        try:
            connection.ensure_connection()
            pids.append(connection.connection.info.backend_pid)
            # LOCAL: the connection goes back to the pool.
            with transaction.atomic(), connection.cursor() as cursor:
                # By itself it comes to the rows as they were written.
                cursor.execute(
                    "SET LOCAL enable_indexscan = off;"
                    " SET LOCAL enable_bitmapscan = off"
                )
                Agent.objects.filter(pk=agent.pk).update(name="Grace")
        finally:
            connection.close()

    first, second = _ids(world)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            acts[act]([first])
            renaming = pool.submit(rename)
            waiting.until(lambda: pids and _is_waiting(pids[0]))
            acts[act]([second])
        renaming.result()
    agent.refresh_from_db()
    assert agent.name == "Grace"
