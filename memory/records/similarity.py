"""Similarity of texts: which hold a question, and which statements are alike."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.models import Record, RecordStatus
from memory.ports import ranker
from memory.records.access import alive
from memory.records.redaction import is_safe
from memory.records.types import SimilarRecord
from memory.rules import tokenizer

MIN_SIMILARITY: Final = 0.85
NEIGHBOURS: Final = 500
MAX_SIMILAR: Final = 5
# Separates texts that are searched as one; no text contains it, and it is no space.
GAP: Final = "\x00"
Shares = NDArray[np.float64]
Mask = NDArray[np.bool_]


# ── The whole question ───────────────────────────────────────────────────────
def _ends(texts: Sequence[str]) -> list[int]:
    """Return where each text ends in the concatenation."""
    return list(accumulate(len(text) + 1 for text in texts))


def holding(query: str, texts: Sequence[str], shares: Shares) -> Mask:
    """Return which texts contain the whole question, ignoring case.

    ``shares`` are the shares of its words that they have. A text without any counts
    only for a question without words, or in another script than Latin.
    """
    holds = np.zeros(len(texts), dtype=np.bool_)
    if not query.strip():
        return holds
    combined = GAP.join(texts)
    is_ascii = combined.isascii()
    folded = texts if is_ascii else [text.casefold() for text in texts]
    combined = combined.lower() if is_ascii else GAP.join(folded)
    ends = _ends(folded)
    pattern = r"\s+".join(map(re.escape, query.casefold().split()))
    for match in re.finditer(pattern, combined):
        holds[bisect_right(ends, match.start())] = True
    is_latin = query.casefold().isascii()
    if is_latin and tokenizer.split(query):
        holds &= shares > 0
    return holds


# ── Similar records ──────────────────────────────────────────────────────────
def overlap(first: str, second: str) -> float:
    """Return the share of words two texts have in common, 0..1."""
    words, other_words = (
        Counter(tokenizer.split(first)),
        Counter(tokenizer.split(second)),
    )
    total = words.total() + other_words.total()
    return (
        2 * (words & other_words).total() / total if total else float(first == second)
    )


def _neighbours(record: Record) -> list[Record]:
    """Return the newest current records of the same owner and scope."""
    rows = Record.objects.filter(
        alive(),
        workspace_id=record.workspace_id,
        status=RecordStatus.CURRENT,
        crew_id=record.crew_id,
        agent_id=record.agent_id,
        scope_key=record.scope_key,
    ).exclude(pk=record.pk)
    return list(rows.order_by("-updated_at", "id")[:NEIGHBOURS])


def similar_records(record: Record) -> list[SimilarRecord]:
    """Return the records of the same scope with nearly the same content, nearest first.

    By cosine where both have vectors, else by words; at most ``MAX_SIMILAR``.
    """
    rows = _neighbours(record)
    ids = [str(row.current_entry_id) for row in rows if row.current_entry_id]
    cosines = ranker.ranker().cosines(
        record.content, ids, workspace_id=record.workspace_id, as_question=False
    )
    similar = []
    for row in rows:
        cosine = (cosines or {}).get(str(row.current_entry_id), 0.0)
        score = max(cosine, overlap(record.content, row.content))
        if score >= MIN_SIMILARITY and is_safe(row):
            score = round(min(1.0, score), 4)
            similar.append(SimilarRecord(row.id, row.content, score))
    similar.sort(key=lambda other: (-other.similarity, other.record_id))
    return similar[:MAX_SIMILAR]
