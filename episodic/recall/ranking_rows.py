"""The head of each ranking with its entries, as the API and the explorer show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from episodic.recall import surroundings
from episodic.recall.search import Answer
from memory.word_index import ranking as word_ranking

ROW_LIMIT: Final = 20


@dataclass(frozen=True, slots=True)
class RankingRow:
    """One entry of one ranking: numbers in the dense one, hit words in the others.

    ``product`` is cosine × importance, by which the dense ranking is in order but in
    convex, where the centred cosine is.
    """

    entry_id: str
    rank: int
    summary: str
    cosine: float | None = None
    importance: float | None = None
    product: float | None = None
    words: list[str] | None = None


def of(
    answer: Answer, limit: int = ROW_LIMIT
) -> tuple[list[RankingRow], list[RankingRow]]:
    """Return the dense and the word ranking; word scores say nothing to a reader."""
    dense = answer.rankings.dense.hits[:limit]
    word_ids = answer.rankings.word_ids[:limit]
    rows = answer.reach.load(list({hit.entry_id for hit in dense} | set(word_ids)))
    words = word_ranking.matching_words(
        answer.reach.workspace_id,
        answer.rankings.word_query.terms,
        {e: rows[e].docid for e in word_ids if e in rows},
    )
    dense_rows = [
        RankingRow(
            hit.entry_id,
            rank,
            rows[hit.entry_id].summary,
            cosine=round(hit.cosine, 4),
            importance=round(hit.importance, 4),
            product=round(hit.score, 4),
        )
        for rank, hit in enumerate(dense, 1)
        if hit.entry_id in rows
    ]
    word_rows = [
        RankingRow(entry_id, rank, rows[entry_id].summary, words=words[entry_id])
        for rank, entry_id in enumerate(word_ids, 1)
        if entry_id in rows
    ]
    return dense_rows, word_rows


def of_context(answer: Answer, limit: int = ROW_LIMIT) -> list[RankingRow]:
    """Return the ranking by the words around entries, with those words."""
    entry_ids = answer.rankings.context_ids[:limit]
    if not entry_ids:
        return []
    rows = answer.reach.load(entry_ids)
    windows = surroundings.windows(answer.rankings, list(rows))
    words = surroundings.words_around(answer, windows)
    return [
        RankingRow(entry_id, rank, rows[entry_id].summary, words=words[entry_id].all)
        for rank, entry_id in enumerate(entry_ids, 1)
        if entry_id in rows
    ]
