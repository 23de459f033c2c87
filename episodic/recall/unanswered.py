"""When a question counts as unanswered: nothing that it returned is near to it.

A ranking by meaning returns its nearest entries however far they are, so an answer with
hits may still hold nothing. A question is unanswered when no entry came back, or when
no entry that came back

- has a cosine of at least the model's bar to the question, or
- holds more than half of the question's words (stop words left out, as the word index
  stems them).

The bar was measured for the model that comes with the project: of 300 summaries of a
journal, asked against the bodies of 1,200 entries, 2 % stayed below both limits; of 40
questions that the journal cannot answer, all did. Cosines of other models are spread
otherwise: where none was measured, a cosine is no evidence, and any hit that has one
counts as an answer. Where there is no cosine at all (words only, no vector yet), the
words decide alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from memory import fulltext
from memory.rules import tokenizer

# By model: the cosine from which an entry counts as near.
NEAR_COSINE: Final = {"all-MiniLM-L6-v2-int8": 0.40}
WORDS_SHARE: Final = 0.5


def words(question: str) -> list[str]:
    """Return the words of a question that count, at most as many as are searched."""
    terms = tokenizer.without_stop_words(tokenizer.split(question))
    return terms[: fulltext.MAX_TERMS]


def is_near(model: str, cosines: Sequence[float | None]) -> bool:
    """Whether an entry with one of the cosines counts as near to the question."""
    bar = NEAR_COSINE.get(model, -1.0)
    return any(cosine is not None and cosine >= bar for cosine in cosines)


def holds_words(terms: Sequence[str], matches: Collection[Sequence[str]]) -> bool:
    """Whether one of the texts, given by the terms it holds, has more than half."""
    best_count = max(map(len, matches), default=0)
    return best_count > WORDS_SHARE * len(terms)
