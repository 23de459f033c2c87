"""Pairs of words that stand side by side in the question and in an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.word_index import terms
from memory.word_index.bm25 import Floats


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring terms; ``weight`` is the idf of the rarer one."""

    first: int
    second: int
    weight: float


def pairs_of(
    words: Sequence[tuple[str, str]], weight_of: Callable[[int], float]
) -> list[Pair]:
    """Return a question's pairs of words as terms; ``weight_of`` is a term's idf.

    A pair of which no word weighs anything is left out.
    """
    pairs = {}
    for first_word, right in words:
        before, after = terms.of_word(first_word), terms.of_word(right)
        if before and after:
            first, second = before[-1], after[0]
            weight = max(weight_of(first), weight_of(second))
            if weight > 0:
                pairs[first, second] = Pair(first, second, weight)
    return list(pairs.values())


def scores(pairs: Sequence[Pair], blobs: Sequence[bytes]) -> Floats:
    """Return, per stored text, the weights of those pairs that it holds."""
    sums = np.zeros(len(blobs), dtype=np.float32)
    if not pairs or not blobs:
        return sums
    texts = [terms.in_order(blob) for blob in blobs]
    sequence: NDArray[np.uint32] = np.concatenate(texts)
    text = np.repeat(np.arange(len(texts)), [len(part) for part in texts])
    is_same_text = text[1:] == text[:-1]
    for pair in pairs:
        is_pair = (sequence[:-1] == pair.first) & (sequence[1:] == pair.second)
        sums[np.unique(text[:-1][is_pair & is_same_text])] += np.float32(pair.weight)
    return sums
