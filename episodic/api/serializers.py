"""Answers of recall as the JSON API and the pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from episodic.recall.explain import Why
from episodic.recall.search import Answer, Hit
from memory import fulltext
from memory.journal import append as journal
from memory.models import JournalEntry

LEG_SHOWN = 20


def hit(one: Hit) -> dict[str, Any]:
    """Return one hit."""
    row = one.entry
    return {
        "entry_id": row.id,
        "score": round(one.score, 6),
        "cosine": round(one.cosine, 6) if one.cosine is not None else None,
        "importance": round(one.importance, 4),
        "ranks": {"dense": one.dense_rank, "sparse": one.sparse_rank},
        "rrf": round(one.rrf, 6),
        "age_seconds": round(one.age_seconds, 1),
        "ts": journal.stamp(row.ts),
        "summary": row.summary,
        "entry_type": row.entry_type,
        "severity": row.severity,
        "agent_id": row.agent_id,
        "crew_id": row.crew_id,
        "payload": row.payload,
        "via": one.via,
    }


def legs(answer: Answer, shown: int = LEG_SHOWN) -> dict[str, list[dict[str, Any]]]:
    """Return the head of each leg, with words that hit, never with word scores."""
    near = answer.legs.dense.hits[:shown]
    said = answer.legs.word_ids[:shown]
    ids = {one.entry_id for one in near} | set(said)
    rows = answer.reach.load(list(ids))
    found = fulltext.words_that_hit(
        answer.reach.workspace_id,
        answer.legs.asked.terms,
        {e: rows[e].docid for e in said if e in rows},
    )
    return {
        "dense": [
            {
                "entry_id": one.entry_id,
                "rank": rank,
                "summary": rows[one.entry_id].summary,
                "cosine": round(one.cosine, 4),
                "importance": round(one.importance, 4),
                "product": round(one.score, 4),
            }
            for rank, one in enumerate(near, 1)
            if one.entry_id in rows
        ],
        "sparse": [
            {
                "entry_id": entry_id,
                "rank": rank,
                "summary": rows[entry_id].summary,
                "words": found[entry_id],
            }
            for rank, entry_id in enumerate(said, 1)
            if entry_id in rows
        ],
    }


def explain(answer: Answer) -> dict[str, Any]:
    """Return how an answer came about."""
    return {
        "scope": answer.reach.scope,
        "considered": answer.legs.dense.considered,
        "terms": list(answer.legs.asked.terms),
        "dropped": list(answer.legs.asked.dropped),
        "below": [hit(one) for one in answer.below],
        **legs(answer),
    }


def answer(given: Answer) -> dict[str, Any]:
    """Return an answer."""
    request = given.request
    return {
        "query": request.query,
        "mode": request.mode.value,
        "fusion": request.fused_by.value,
        "degraded": given.legs.degraded,
        "hits": [hit(one) for one in given.hits],
        "timings_ms": asdict(given.timings),
        "model": given.model,
        "explain": explain(given) if request.explain else None,
    }


def why(found: Why) -> dict[str, Any]:
    """Return an explanation."""
    return {
        "entry_id": found.entry.id,
        "returned": found.returned,
        "rank": found.rank,
        "finding": found.finding,
        "would_need_k": found.would_need_k,
        "checks": [asdict(check) for check in found.checks],
        "degraded": found.answer.legs.degraded,
    }


def agents_of(rows: Sequence[JournalEntry]) -> set[str]:
    """Return the agents behind some entries."""
    return {row.agent_id for row in rows if row.agent_id}
