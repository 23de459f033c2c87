"""The word ranking of recall, for the database at hand."""

from __future__ import annotations

from collections.abc import Sequence

from memory import fulltext
from memory.fulltext import WordQuery, WordScope
from memory.word_index import postgres, sqlite, terms
from memory.word_index.answers import WordAnswer
from memory.word_index.cache import indexes
from memory.word_index.rows import stored_words


def search(
    query: WordQuery, scope: WordScope, limit: int, also: Sequence[str] = ()
) -> WordAnswer:
    """Return the ranking of a question, with at most ``limit`` hits of each kind.

    ``also`` are entries whose details will be asked for: reading them with the context
    hits is quicker, and the answer is the same.
    """
    if fulltext.is_sqlite():
        return sqlite.search(query, scope, limit)
    return postgres.CandidateAnswer(query, scope, limit, also)


def matching_words(
    workspace_id: str, words: Sequence[str], entry_docids: dict[str, int]
) -> dict[str, list[str]]:
    """Return, per entry id, which of a question's words it holds; for explaining."""
    low, high = fulltext.docids(workspace_id)
    own = {e: docid for e, docid in entry_docids.items() if low <= docid <= high}
    stored = stored_words(list(own.values()))
    matches: dict[str, list[str]] = {entry_id: [] for entry_id in entry_docids}
    for entry_id, docid in own.items():
        numbers = _numbers(stored.get(docid))
        matches[entry_id] = [
            word for word in words if not numbers.isdisjoint(terms.of_word(word))
        ]
    return matches


def _numbers(blob: bytes | None) -> frozenset[int]:
    """Return the terms of stored words."""
    return frozenset(terms.unpack([blob]).terms.tolist() if blob else ())


def forget(workspace_id: str) -> None:
    """Drop words kept in memory, and the words of erased entries."""
    terms.forget()
    indexes.catch_up(workspace_id)
