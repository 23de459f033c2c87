"""What a backup leaves out and a restore works out again: words, pgvector's vectors."""

from __future__ import annotations

from typing import Final

from django.db import connection, transaction

from crewship_memory.backup import indexes, vectors
from memory.models import EntryWords
from memory.word_index import pg_table, storage

# The server looks at new tables by itself, but not at once, and at parents never.
_STATISTICS: Final = (
    "ANALYZE journal_words, journal_embeddings, journal_vectors"
    " (workspace_id, entry_id, crew_id, agent_id, entry_type, ts, model, dim)"
)


def fill() -> int:
    """Write the words of entries, and what pgvector searches. Safe to repeat.

    Return how many entries are embedded again, because their vectors are no good.
    """
    # All words or none were written: a second time there is little to add.
    rows = 0 if EntryWords.objects.exists() else indexes.LARGE
    with transaction.atomic(), indexes.left_out(connection, pg_table.TABLE, rows):
        storage.fill()
    vectors.fill()
    count = vectors.queue_without_vector()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_STATISTICS)
    return count
