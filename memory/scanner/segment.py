"""Find the words in letters that were run together or pulled apart."""

from __future__ import annotations

import math

from memory.scanner.lexicon import LEXICON
from memory.scanner.word_lists import COMMON

_PHRASE_WORDS = frozenset(
    part
    for seconds in LEXICON.phrases.values()
    for rows in seconds.values()
    for parts, _, _ in rows
    for part in parts
    if part.isascii()
)
_SINGLE = frozenset(word for word in LEXICON.words if word.isascii())
KNOWN_WORDS = frozenset(COMMON | _SINGLE | _PHRASE_WORDS)
_LONGEST, _MAX_RUN, _HEAD, _LONE = 16, 600, 2, frozenset("ai")
_UNKNOWN_COST, _WORD_COST = 3.0, 1.0


def is_known(word: str) -> bool:
    """Whether this is an ordinary word or one that rules know."""
    return word in KNOWN_WORDS


def _sizes_by_head() -> dict[str, tuple[int, ...]]:
    """The first two letters of words → how long words are that begin so."""
    sizes: dict[str, set[int]] = {}
    for word in KNOWN_WORDS:
        if _HEAD <= len(word) <= _LONGEST:
            sizes.setdefault(word[:_HEAD], set()).add(len(word))
    return {head: tuple(sorted(group)) for head, group in sizes.items()}


_SIZES = _sizes_by_head()


def segment(run: str) -> tuple[str, ...]:
    """The cheapest cut of a run of letters into words."""
    run = run[:_MAX_RUN]
    size = len(run)
    best: list[tuple[float, int]] = [(0.0, 0), *[(math.inf, 0)] * size]
    for start in range(size):
        cost = best[start][0]
        lone_cost = _WORD_COST if run[start] in _LONE else _UNKNOWN_COST
        best[start + 1] = min(best[start + 1], (cost + lone_cost, start))
        for length in _SIZES.get(run[start : start + _HEAD], ()):
            end = start + length
            if end <= size and run[start:end] in KNOWN_WORDS:
                best[end] = min(best[end], (cost + _WORD_COST, start))
    words: list[str] = []
    end = size
    while end:
        start = best[end][1]
        words.append(run[start:end])
        end = start
    return tuple(reversed(words))


def coverage(words: tuple[str, ...]) -> float:
    """The share of letters that belong to known words of two letters or more."""
    total = sum(map(len, words))
    covered = sum(len(word) for word in words if len(word) > 1 and word in KNOWN_WORDS)
    return covered / total if total else 0.0


def readability(text: str) -> float:
    """The share of words that are known; the measure of a decoded text."""
    words = [word.strip(".,:;!?'\"()[]{}<>") for word in text.lower().split()]
    words = [word for word in words if word]
    if not words:
        return 0.0
    return sum(word in KNOWN_WORDS for word in words) / len(words)
