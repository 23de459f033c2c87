"""What a busy PostgreSQL does once for many: appends that wait, words it looks for."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from memory import fulltext
from memory.journal import append as journal
from memory.journal import head as chain_head
from memory.journal import queries, verify
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from tests import factories, waiting
from tests.world import World

pytestmark = pytest.mark.postgres


def _scalar(sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def test_appends_that_wait_for_a_chain_are_one_transaction(shared_world: World) -> None:
    acme = shared_world.acme.id
    threads: list[threading.Thread] = []

    def start(summary: str, by: str = "ada") -> None:
        def run() -> None:
            try:
                factories.append(shared_world.actor(by), summary=summary)
            finally:
                connections.close_all()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()

    def is_waiting(count: int) -> bool:
        return len(journal._groups._open.get(acme, ())) == count

    with transaction.atomic():
        chain_head.locked(acme)
        for count in (1, 2, 3):
            start(f"note {count}")
            waiting.until(partial(is_waiting, count))
        # Another workspace's chain is free.
        start("note 4", by="olga")
        threads[-1].join(waiting.LIMIT_SECONDS)
        assert JournalEntry.objects.filter(summary="note 4").exists()
    for thread in threads:
        thread.join(waiting.LIMIT_SECONDS)
    rows = JournalEntry.objects.filter(summary__startswith="note", workspace_id=acme)
    summaries = rows.order_by("seq").values_list("summary", flat=True)
    assert list(summaries) == ["note 1", "note 2", "note 3"]
    where = f"workspace_id = '{acme}' AND summary LIKE 'note%'"
    sql = f"SELECT count(DISTINCT xmin::text) FROM journal_entries WHERE {where}"
    assert _scalar(sql) == 1
    by = shared_world.actor("operator")
    assert verify.verify(acme, by=by).ok


def test_a_search_makes_no_lexemes_again_of_what_it_looks_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.actor("ada")
    factories.append_many(ada, [f"refund {n}" for n in range(200)])
    with CaptureQueriesContext(connection) as captured:
        rows = queries.filtered(ada, JournalFilter(q="refund"))
    assert "tsvector" not in rows.order_by("-ts", "-seq")[:51].explain()
    assert rows.count() == 200
    assert _scalar("SHOW enable_seqscan") == "on"
    sql = next(q["sql"] for q in captured if q["sql"].startswith("WITH found"))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(fulltext._BY_INDEX)
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(line for [line] in cursor.fetchall())
        cursor.execute("SET LOCAL enable_seqscan = DEFAULT")
    assert "Bitmap Index Scan on journal_lexemes" in plan
    # Where they are many, the planner decides, and finds the same.
    for limit in (1, 50):
        monkeypatch.setattr(fulltext, "LIMIT", limit)
        assert queries.count(ada, JournalFilter(q="refund")) == 200
