"""Words that tell a group of texts from the other groups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from memory.rules import tokenizer

WORDS: Final = 3
WORD_CHARS: Final = 3


def telling(groups: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """Return up to three words of each group by tf-idf, the most telling first.

    A text counts a word once; a word has to be in two texts of its group.
    """
    counts = {group: _counts(texts) for group, texts in groups.items()}
    everywhere = sum(counts.values(), Counter[str]())
    total = sum(len(texts) for texts in groups.values())
    words = {}
    for group, inside in counts.items():
        scores = {
            word: number * math.log(1 + total / everywhere[word] / len(groups))
            for word, number in inside.items()
            if number > 1
        }
        words[group] = sorted(scores, key=lambda word: (-scores[word], word))[:WORDS]
    return words


def _counts(texts: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        words = tokenizer.without_stop_words(tokenizer.split(tokenizer.fold(text)))
        counts.update({w for w in words if len(w) >= WORD_CHARS and w.isalpha()})
    return counts
