"""An installation on PostgreSQL gets its words split by workspace, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import distribution, fulltext
from memory.fulltext import WordScope
from memory.journal import erasure
from memory.models import EntryWords, JournalEntry
from memory.word_index import ranking, storage
from tests.world import World

migration = import_module("memory.migrations.0010_words_by_workspace")
counted = import_module("memory.migrations.0012_counted_entries")

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def execute(sql: str, params: Sequence[int] = ()) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(params))


def split() -> None:
    with connection.schema_editor(atomic=False) as editor:
        migration.split(None, editor)


@pytest.fixture
def earlier(shared_world: World) -> Iterator[World]:
    """A world whose words are in one table."""
    shared_world.entry("before the harbour")
    with connection.schema_editor(atomic=False) as editor:
        migration.join(None, editor)
    yield shared_world
    split()
    # Tables that were made anew have the keys of their migration, not yet today's.
    with connection.cursor() as cursor:
        distribution.rekey(cursor)


def hit_ids(world: World, text: str) -> list[str]:
    scope = WordScope(world.acme.id)
    return [
        h.entry_id for h in ranking.search(fulltext.word_query(text), scope, 9).hits
    ]


def test_words_move_into_the_new_table(earlier: World) -> None:
    rows = list(JournalEntry.objects.order_by("docid"))
    assert EntryWords.objects.count() == len(rows)
    # Words that are missing are written, those of nobody are left behind.
    execute("DELETE FROM journal_words WHERE docid = %s", [rows[0].docid])
    execute("INSERT INTO journal_words VALUES (7, '')")
    split()
    docids = EntryWords.objects.order_by("docid").values_list("docid", flat=True)
    assert list(docids) == [row.docid for row in rows]
    row = next(row for row in rows if row.summary == "before the harbour")
    assert hit_ids(earlier, "harbour") == [row.id]
    assert fulltext.matching(earlier.acme.id, "harbour") is not None
    erasure.erase(earlier.acme.id, [row.id])
    assert hit_ids(earlier, "harbour") == []


def test_a_step_that_ended_before_it_was_noted_is_done_once(earlier: World) -> None:
    with connection.schema_editor(atomic=False) as editor:
        migration.join(None, editor)
        for act in (migration.make_counts, migration.drop_counts) * 2:
            act(apps, editor)
            act(apps, editor)
        migration.make_counts(apps, editor)
    split()
    split()
    row = earlier.entry("behind the harbour")
    assert row.id in hit_ids(earlier, "harbour")


def test_an_upgrade_that_was_broken_off_goes_on(
    earlier: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "ROWS_AT_ONCE", 1)
    store, calls = storage.store_split, list[int]()

    def failing(rows: list[tuple[int, bytes]], table: str) -> None:
        if len(calls) == 1:
            raise ConnectionError
        calls.append(rows[0][0])
        store(rows, table=table)

    monkeypatch.setattr(storage, "store_split", failing)
    with pytest.raises(ConnectionError):
        split()
    # What serves meanwhile is the one table; what changes there is copied again.
    execute("DELETE FROM journal_words WHERE docid = %s", [calls[0]])
    monkeypatch.setattr(storage, "store_split", store)
    split()
    assert EntryWords.objects.count() == JournalEntry.objects.count()
    (row,) = JournalEntry.objects.filter(summary="before the harbour")
    assert hit_ids(earlier, "harbour") == [row.id]


def test_indexes_that_were_exchanged_in_part_are_exchanged_again(
    shared_world: World,
) -> None:
    def definitions() -> list[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE indexname ~"
                " '^journal_(embeddable|unusable)' ORDER BY 1"
            )
            return list(cursor.fetchall())

    before = definitions()
    with connection.schema_editor(atomic=False) as editor:
        counted.exchange_back(None, editor)
        # Broken off: one is gone, the other one has its new one beside it.
        execute("DROP INDEX journal_embeddable")
        execute("CREATE INDEX journal_unusable_new ON journal_entries (seq)")
        with CaptureQueriesContext(connection) as queries:
            counted.exchange(None, editor)
    # Nobody waits for it who reads or appends.
    assert all(
        re.match(r"(CREATE|DROP) INDEX CONCURRENTLY|ALTER INDEX \w+ RENAME", q["sql"])
        for q in queries
    ), queries.captured_queries
    assert definitions() == before
    assert [name for name, _ in before] == list(counted.CONDITIONS)
