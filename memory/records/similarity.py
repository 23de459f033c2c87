"""Similarity of texts: BM25 for a question, word overlap or cosine for statements."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from memory.models import Record, RecordStatus
from memory.ports import ranker
from memory.records.access import alive
from memory.records.redaction import is_safe
from memory.records.types import SimilarRecord
from memory.rules import tokenizer

MIN_SIMILARITY: Final = 0.85
NEIGHBOURS: Final = 500
MAX_SIMILAR: Final = 5
_ENDINGS: Final = ("ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s")
_SATURATION, _LENGTH = 1.2, 0.75
# Separates texts that are searched as one; no text contains it, and it is no space.
GAP: Final = "\x00"


def stem(word: str) -> str:
    """Return a word without a common English ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stems(text: str) -> list[str]:
    """Return the stems of a text's words."""
    return [stem(word) for word in tokenizer.split(text)]


# ── A question's words ───────────────────────────────────────────────────────
def _ends(texts: Sequence[str]) -> list[int]:
    """Return where each text ends in the concatenation."""
    return list(accumulate(len(text) + 1 for text in texts))


def _concatenated(texts: Sequence[str]) -> tuple[str, list[int]]:
    """Return the lower-case concatenation of texts, and where each ends."""
    combined = GAP.join(texts)
    if combined.isascii():
        return combined.lower(), _ends(texts)
    lowered = [unicodedata.normalize("NFC", text).lower() for text in texts]
    return GAP.join(lowered), _ends(lowered)


def _holding(
    query: str, texts: Sequence[str], combined: tuple[str, list[int]]
) -> set[int]:
    """Return the places of texts that contain the whole query, ignoring case."""
    if not query.strip():
        return set()
    text, ends = combined
    if not text.isascii():
        folded = [each_text.casefold() for each_text in texts]
        text, ends = GAP.join(folded), _ends(folded)
    pattern = r"\s+".join(map(re.escape, query.casefold().split()))
    matches = re.finditer(pattern, text)
    return {bisect_right(ends, match.start()) for match in matches}


def _bags(
    combined: tuple[str, list[int]], terms: Sequence[str]
) -> dict[int, dict[str, int]]:
    """Return place → term → number of occurrences, for texts with any of the terms.

    All texts are searched as one, which is far faster than one after the other. A word
    with a stem begins with it, so that few matches have to be checked.
    """
    text, ends = combined
    bags: dict[int, dict[str, int]] = {}
    for term in terms:
        has_stem: dict[str, bool] = {}
        for match in re.finditer(rf"{re.escape(term)}[^\W_]*", text):
            start, word = match.start(), match[0]
            if start and text[start - 1].isalnum():
                continue
            if word not in has_stem:
                has_stem[word] = stem(word) == term
            if has_stem[word]:
                bag = bags.setdefault(bisect_right(ends, start), {})
                bag[term] = bag.get(term, 0) + 1
    return bags


def by_words(query: str, texts: Sequence[str]) -> dict[int, tuple[float, float]]:
    """Return place → (weight, share of the question's words) of texts that have any.

    The weight is BM25 within these texts alone: no other scope influences it. A text
    that contains the whole query, ignoring case, has the share 1.
    """
    terms = list(
        dict.fromkeys(
            stem(w) for w in tokenizer.without_stop_words(tokenizer.split(query))
        )
    )
    combined = _concatenated(texts)
    bags, holding = _bags(combined, terms), _holding(query, texts, combined)
    spread = Counter(term for bag in bags.values() for term in bag)
    # The BM25 weight of a term that ``count`` of the texts contain.
    rarity = {
        term: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))
        for term, count in spread.items()
    }
    mean = sum(map(len, texts)) / max(1, len(texts)) or 1.0
    scores: dict[int, tuple[float, float]] = {}
    # Without terms, or in another script, texts that contain the query count too.
    match_whole_query = not terms or not query.casefold().isascii()
    no_terms: dict[str, int] = {}
    for place in bags.keys() | holding if match_whole_query else bags:
        bag = bags.get(place, no_terms)
        share = 1.0 if place in holding else len(bag) / len(terms)
        length = _SATURATION * (1 - _LENGTH + _LENGTH * len(texts[place]) / mean)
        weight = 10.0 * (share == 1.0)
        for term, times in bag.items():
            weight += rarity[term] * times * (_SATURATION + 1) / (times + length)
        scores[place] = (weight, share)
    return scores


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
