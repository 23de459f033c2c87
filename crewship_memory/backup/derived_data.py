"""What a backup leaves out and a restore works out again: words, pgvector's vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from django.db import connection

from episodic.models import Embedding
from episodic.vectors import pg
from memory.word_index import storage

CHUNK: Final = 2_000
_INDEXES: Final = (
    "SELECT indexname, indexdef FROM pg_indexes"
    " WHERE tablename = 'journal_embeddings' AND indexdef LIKE '%USING hnsw%'"
)
_MEMORY: Final = "SET maintenance_work_mem = '512MB'"


def fill() -> None:
    """Write the words of entries, and what pgvector searches. Safe to repeat."""
    storage.fill()
    if connection.vendor == "postgresql":
        with _without_vector_indexes():
            _fill_vectors()


@contextmanager
def _without_vector_indexes() -> Iterator[None]:
    """Make the indexes of vectors once, at the end: row by row is many times slower."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(_MEMORY)
            for _, definition in indexes:
                cursor.execute(definition)
            cursor.execute("RESET maintenance_work_mem")


def _fill_vectors() -> None:
    rows = Embedding.objects.filter(dim__gt=0).order_by("pk")
    after = ""
    while chunk := list(rows.filter(pk__gt=after)[:CHUNK]):
        pg.store(
            [(row.pk, np.frombuffer(bytes(row.vector), dtype="<f4")) for row in chunk]
        )
        after = chunk[-1].pk
