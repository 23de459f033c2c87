"""Answers of recall as the JSON API and the pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from episodic.recall.explain import Explanation
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory import fulltext
from memory.journal import append as journal
from memory.models import JournalEntry

RANKING_SHOWN = 20


def hit(row_hit: Hit) -> dict[str, Any]:
    row = row_hit.entry
    return {
        "entry_id": row.id,
        "score": round(row_hit.score, 6),
        "cosine": round(row_hit.cosine, 6) if row_hit.cosine is not None else None,
        "importance": round(row_hit.importance, 4),
        "ranks": {"dense": row_hit.dense_rank, "sparse": row_hit.sparse_rank},
        "rrf": round(row_hit.rrf, 6),
        "age_seconds": round(row_hit.age_seconds, 1),
        "ts": journal.stamp(row.ts),
        "summary": row.summary,
        "entry_type": row.entry_type,
        "severity": row.severity,
        "agent_id": row.agent_id,
        "crew_id": row.crew_id,
        "payload": row.payload,
        "via": row_hit.via,
    }


def rankings(
    answer: Answer, limit: int = RANKING_SHOWN
) -> dict[str, list[dict[str, Any]]]:
    """Return the head of each ranking, with words that hit, never with word scores."""
    dense = answer.rankings.dense.hits[:limit]
    word_ids = answer.rankings.word_ids[:limit]
    ids = {dense_hit.entry_id for dense_hit in dense} | set(word_ids)
    rows = answer.reach.load(list(ids))
    words = fulltext.matching_terms(
        answer.reach.workspace_id,
        answer.rankings.word_query.terms,
        {e: rows[e].docid for e in word_ids if e in rows},
    )
    return {
        "dense": [
            {
                "entry_id": dense_hit.entry_id,
                "rank": rank,
                "summary": rows[dense_hit.entry_id].summary,
                "cosine": round(dense_hit.cosine, 4),
                "importance": round(dense_hit.importance, 4),
                "product": round(dense_hit.score, 4),
            }
            for rank, dense_hit in enumerate(dense, 1)
            if dense_hit.entry_id in rows
        ],
        "sparse": [
            {
                "entry_id": entry_id,
                "rank": rank,
                "summary": rows[entry_id].summary,
                "words": words[entry_id],
            }
            for rank, entry_id in enumerate(word_ids, 1)
            if entry_id in rows
        ],
    }


def explain(answer: Answer) -> dict[str, Any]:
    """Return how an answer came about."""
    return {
        "scope": answer.reach.scope,
        "considered": answer.rankings.dense.considered,
        "terms": list(answer.rankings.word_query.terms),
        "dropped": list(answer.rankings.word_query.dropped),
        "below": [hit(below_hit) for below_hit in answer.below],
        **rankings(answer),
    }


def answer(result: Answer) -> dict[str, Any]:
    request = result.request
    return {
        "query": request.query,
        "mode": request.mode.value,
        "fusion": request.fused_by.value,
        "degraded": result.rankings.degraded,
        "hits": [hit(returned_hit) for returned_hit in result.hits],
        "timings_ms": asdict(result.timings),
        "model": result.model,
        "explain": explain(result) if request.explain else None,
    }


def explanation(result: Explanation) -> dict[str, Any]:
    return {
        "entry_id": result.entry.id,
        "returned": result.returned,
        "rank": result.rank,
        "finding": result.finding,
        "would_need_k": result.would_need_k,
        "checks": [asdict(check) for check in result.checks],
        "degraded": result.answer.rankings.degraded,
    }


def agents_of(rows: Sequence[JournalEntry]) -> set[str]:
    """Return the agents behind some entries."""
    return {row.agent_id for row in rows if row.agent_id}
