"""A generated journal on PostgreSQL is one that the application can work with."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from crewship_memory.bench import dataset, scale_naive, scale_rows, scale_space
from crewship_memory.bench.scale_rows import MODEL
from crewship_memory.bench.scale_topics import DIM, Topics
from episodic.models import Embedding, State
from episodic.vectors import pg_counts, pg_mean, pg_pages
from episodic.vectors.base import VectorScope
from episodic.vectors.pg import PgIndex
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry
from memory.word_index import storage

COUNT = 240
# Bytes of an entry's rows in all tables, and of its places in the trees. What pages
# that are not full and the lists of words take depends on how many entries there are.
ROWS, MOST_BYTES, MOST_INDEXED, VECTORS_ON_A_PAGE = 2_000, 2_850, 1_700, 7
GROWING = ("entries", "embeddings", "words", "vectors")
_SIZE = "SELECT avg(pg_column_size(t.*)) FROM journal_{} t"
_TREES = (
    "SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0) FROM pg_index i"
    " JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
    " WHERE a.amname = 'btree' AND i.indrelid::regclass::text LIKE 'journal\\_%'"
    " AND pg_relation_size(i.indexrelid) > 16384"
)
_PAGES = "SELECT count(DISTINCT (ctid::text::point)[0]) FROM journal_vectors"


def _bytes_of_trees() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_TREES)
        return int(cursor.fetchone()[0])


def _filled(upto: int = COUNT) -> dataset.BenchWorkspace:
    workspace = dataset.open_workspace("scale")
    agents = dataset.open_agents(workspace, 3)
    scale_rows.drop_graphs()
    scale_rows.fill(workspace, upto, agents=agents)
    scale_rows.build_graphs()
    return workspace


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_filled_workspace_is_searched_counted_and_appended_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scale_rows, "CHUNK", 50)
    workspace = _filled(COUNT // 2)
    _filled()
    entries = JournalEntry.objects.filter(workspace_id=workspace.workspace_id)
    generated = entries.filter(salt__isnull=False, embeddable=True)
    vectors = Embedding.objects.filter(state=State.INDEXED, model=MODEL)
    assert entries.count() == COUNT == scale_rows.entries_in(workspace.workspace_id)
    assert generated.count() == vectors.count() > COUNT // 2
    scope = VectorScope(workspace_id=workspace.workspace_id, model=MODEL)
    with connection.cursor() as cursor:
        assert pg_counts.of(cursor, scope, DIM).scope == vectors.count()
        cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
        assert cursor.fetchone()[0] >= 3
    # Whose words are stored, none is left to write.
    assert storage.rows_of(workspace.workspace_id).count() == COUNT
    assert storage.fill() == 0
    row = journal.append(
        NewEntry(entry_type="memory.recorded", summary="after"), by=workspace.actor
    )
    assert row.seq == COUNT + 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_obvious_design_answers_the_same_question() -> None:
    workspace = _filled()
    scope = VectorScope(workspace_id=workspace.workspace_id, model=MODEL)
    question = Topics().directions[0]
    exact = PgIndex(is_exact=True).search(question, scope, 10, centred=True)
    with connection.cursor() as cursor:
        mean = pg_mean.of(cursor, scope, DIM)
    assert mean is not None
    scale_naive.build()
    ids, count = scale_naive.search(question, mean, scope, 10)
    scale_naive.drop()
    assert count == exact.considered
    assert len(set(ids) & {hit.entry_id for hit in exact.hits}) >= 9


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_space_of_a_row_is_that_of_its_tables() -> None:
    _filled()
    space = scale_space.measure(COUNT)
    assert space["tables"]["journal_vectors"]["hnsw"] > 0
    assert space["bytes_per_row"] > space["tables"]["journal_entries"]["table"]
    assert scale_space.database_bytes() > COUNT * space["bytes_per_row"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_row_takes_no_more_than_operating_says() -> None:
    workspace = dataset.open_workspace("scale")
    # The nightly job has run with an embedder whose vectors are longer.
    pg_pages.fit(workspace.workspace_id, 1_024)
    # Deleted rows of other tests have left pages.
    before = _bytes_of_trees()
    scale_rows.drop_graphs()
    scale_rows.fill(workspace, ROWS, agents=dataset.open_agents(workspace, 3))
    scale_rows.build_graphs()
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(map(_SIZE.format, GROWING)))
        sizes = [float(size) for (size,) in cursor.fetchall()]
        cursor.execute(_PAGES)
        [[pages]] = cursor.fetchall()
    assert sum(sizes) < MOST_BYTES
    assert (_bytes_of_trees() - before) / ROWS < MOST_INDEXED
    assert round(ROWS / pages) == VECTORS_ON_A_PAGE


def test_scale_asks_for_a_postgresql_database() -> None:
    with pytest.raises(CommandError, match="URL of a PostgreSQL database"):
        call_command("bench", "scale", keep="sqlite:///x", stderr=io.StringIO())
