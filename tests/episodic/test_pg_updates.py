"""On PostgreSQL a change of importance touches no index of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from episodic.embedders.base import Vectors
from episodic.index import decay
from episodic.index import sweep as index
from episodic.models import Embedding
from memory.journal import erasure
from memory.models import JournalEntry
from tests import factories
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
COUNT = 300
_UPDATES = (
    "SELECT sum(n_tup_upd), sum(n_tup_hot_upd) FROM pg_stat_user_tables"
    " WHERE relname LIKE 'journal_vectors_%%'"
)


def _updates() -> tuple[int, int]:
    """Return how many rows were updated so far, and how many of them in their page."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")
        cursor.execute(_UPDATES)
        updated, hot = cursor.fetchone()
    return int(updated or 0), int(hot or 0)


def test_nights_of_decay_stay_on_their_pages(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(COUNT)])
    while index.sweep().indexed:
        pass
    before, nights = _updates(), 3
    for night in range(1, nights + 1):
        at = timezone.now() + timedelta(days=night)
        assert decay.run(world.acme.id, at=at).updated == COUNT
    updated, hot = (now - then for now, then in zip(_updates(), before, strict=True))
    assert updated == nights * COUNT
    assert hot / updated >= 0.7
    with connection.cursor() as cursor:
        cursor.execute("SELECT entry_id, importance FROM journal_vectors")
        importances = dict(cursor.fetchall())
    assert importances == dict(Embedding.objects.values_list("pk", "importance_score"))


def test_rows_are_locked_in_one_order_by_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decay locks them by id: whoever does otherwise may wait in a circle."""
    texts = [f"refund {n}" for n in range(12)]
    rows = factories.append_many(world.actor("ada"), texts)
    index.discover(world.acme.id)
    ids, embedded = [row.id for row in rows], list[str]()
    real = index.embed_rows

    def noted(batch: Sequence[JournalEntry]) -> list[tuple[JournalEntry, Vectors]]:
        embedded.extend(row.id for row in batch)
        return real(batch)

    monkeypatch.setattr(index, "embed_rows", noted)
    index.embed(ids)
    assert embedded == sorted(ids)
    marked: list[str] = []

    def note(execute: Any, sql: str, params: Any, is_batch: Any, context: Any) -> Any:
        if sql == index._REFERENCED:
            marked.append(params[-1])
        return execute(sql, params, is_batch, context)

    with connection.execute_wrapper(note):
        index.mark_referenced(dict.fromkeys(reversed(ids), 1), timezone.now())
    assert marked == sorted(ids)
    with CaptureQueriesContext(connection) as queries:
        erasure.erase(world.acme.id, ids)
    first = next(q["sql"] for q in queries if '"journal_embeddings"' in q["sql"])
    assert "ORDER BY" in first
    assert "FOR UPDATE" in first


def test_a_recall_counted_writes_no_vector(world: World) -> None:
    row = world.indexed("refund")
    before = _updates()
    index.mark_referenced({row.id: 2}, timezone.now())
    assert _updates() == before
