"""What a backup leaves out and a restore works out again: words, pgvector's vectors."""

from __future__ import annotations

from crewship_memory.backup import vectors
from memory.word_index import storage


def fill() -> None:
    """Write the words of entries, and what pgvector searches. Safe to repeat."""
    storage.fill()
    vectors.fill()
