"""The words of texts at hand, with their statistics from these texts alone.

For what is ranked within a pool of its own (records, the chunks of memory files): the
terms and the arithmetic are those of the journal's index, computed on the spot, so that
no other tenant's words and no stored state play a part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.fulltext import WordQuery
from memory.rules import tokenizer
from memory.word_index import bm25, phrases, terms
from memory.word_index.bm25 import Floats
from memory.word_index.threads import AFTER, BEFORE

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Stands between texts that are split as one; it is in no word.
GAP: Final = "\x00"
_WORD_OR_GAP: Final = re.compile(r"[^\W_]+|\x00")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of several texts in their order; ``text`` is which one each is of."""

    terms: NDArray[np.uint32]
    text: Places
    size: int

    @property
    def lengths(self) -> Places:
        return np.bincount(self.text, minlength=self.size)

    def counts(self, numbers: NDArray[np.uint32]) -> Places:
        """Return (texts, numbers): how often each text holds each of sorted terms."""
        width = len(numbers)
        if not width or not len(self.terms):
            return np.zeros((self.size, width), dtype=np.int64)
        at = np.searchsorted(numbers, self.terms)
        at[at == width] = 0
        is_asked = numbers[at] == self.terms
        cells = self.text[is_asked] * width + at[is_asked]
        return np.bincount(cells, minlength=self.size * width).reshape(-1, width)

    def holding(self, sequence: Sequence[int]) -> Places:
        """Return the texts in which the terms of a sequence stand side by side."""
        count = len(self.terms) - len(sequence) + 1
        if not sequence or count <= 0:
            return np.zeros(0, dtype=np.int64)
        starts = self.text[:count] == self.text[len(sequence) - 1 :]
        for step, term in enumerate(sequence):
            starts &= self.terms[step : step + count] == term
        return np.unique(self.text[:count][starts])


def terms_of(texts: Sequence[str]) -> Terms:
    """Return the terms of texts, as ``terms.of_text`` knows them, all split as one."""
    combined = GAP.join(
        tokenizer.composed(text[: terms.TEXT_CHARS].replace(GAP, " ")) for text in texts
    )
    words = _WORD_OR_GAP.findall(combined)
    numbers = {word: n for n, word in enumerate(dict.fromkeys([GAP, *words]))}
    word_terms = [() if word == GAP else terms.of_word(word) for word in numbers]
    word = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
    text = np.cumsum(word == 0)
    sizes = np.fromiter(map(len, word_terms), np.int64, len(word_terms))
    flat = np.array([term for part in word_terms for term in part], dtype=np.uint32)
    first = np.cumsum(sizes) - sizes
    # A word may be several terms (of a run of Chinese letters), or none.
    size = sizes[word]
    step = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    return Terms(
        flat[np.repeat(first[word], size) + step], np.repeat(text, size), len(texts)
    )


@dataclass(frozen=True, slots=True)
class Scores:
    """What the words of each text say.

    ``own`` is BM25 of its words and ``pairs`` the weight of the question's neighbouring
    words in it; ``context`` is BM25 of its window, ``length`` how many words it has,
    ``share`` how many of the question's terms, 0..1.
    """

    own: Floats
    pairs: Floats
    context: Floats
    length: Places
    share: NDArray[np.float64]

    @property
    def words(self) -> Floats:
        return self.own + self.pairs


@dataclass(frozen=True, slots=True)
class Links:
    """The texts directly before and after each one in its thread, −1 for none."""

    before: Places
    after: Places

    @classmethod
    def of(cls, threads: Sequence[Sequence[int]], size: int) -> Links:
        """Return the links of threads, which name texts in their order."""
        before, after = np.full(size, -1), np.full(size, -1)
        for thread in threads:
            places = np.array(thread, dtype=np.int64)
            before[places[1:]], after[places[:-1]] = places[:-1], places[1:]
        return cls(before, after)


def window_counts(counts: Places, links: Links, of: Places | None = None) -> Places:
    """Return how often the windows hold each term; ``of`` names those that count.

    A window is a text, up to three before it and up to two after it.
    """
    of = np.arange(len(counts)) if of is None else of
    # Behind the last one stands a text without words, beside itself.
    padded = np.vstack([counts, np.zeros((1, counts.shape[1]), dtype=np.int64)])
    total = counts[of]
    for links_of_side, steps in ((links.before, BEFORE), (links.after, AFTER)):
        linked = np.append(links_of_side, -1)
        places = of
        for _ in range(steps):
            places = linked[places]
            total += padded[places]
    return total


def _scores(
    query: WordQuery,
    counts: Places,
    lengths: Places,
    holding: Callable[[Sequence[int], Mask], Places],
    links: Links,
) -> Scores:
    """Return scores; ``holding`` finds a sequence of terms in some of the texts."""
    numbers = _numbers(query)
    is_there = counts > 0
    frequencies = is_there.sum(axis=0).tolist()
    weights = [bm25.idf(len(counts), frequency) for frequency in frequencies]
    by_term = dict(zip(numbers.tolist(), weights, strict=True))
    column = {term: place for place, term in enumerate(numbers.tolist())}
    paired = np.zeros(len(counts), dtype=np.float32)
    for pair in phrases.pairs_of(query.pairs, lambda term: by_term.get(term, 0.0)):
        sequence = (pair.first, pair.second)
        may_hold = np.ones(len(counts), dtype=np.bool_)
        for term in sequence:
            if term in column:
                may_hold &= is_there[:, column[term]]
        paired[holding(sequence, may_hold)] += np.float32(pair.weight)
    average = float(lengths.mean()) if len(lengths) else 0.0
    windows = window_counts(counts, links)
    return Scores(
        own=_sum(counts, bm25.norms(lengths, average), weights),
        pairs=paired,
        context=_sum(windows, bm25.WINDOW_NORM, weights),
        length=lengths,
        share=is_there.sum(axis=1) / max(1, len(numbers)),
    )


def _numbers(query: WordQuery) -> NDArray[np.uint32]:
    return np.array(sorted(terms.of_words(query.terms)), dtype=np.uint32)


def score(query: WordQuery, texts: Terms, links: Links) -> Scores:
    """Return the scores of texts for a question."""
    return _scores(
        query,
        texts.counts(_numbers(query)),
        texts.lengths,
        lambda sequence, _: texts.holding(sequence),
        links,
    )


def score_stored(
    query: WordQuery,
    blobs: Sequence[bytes],
    links: Links,
    extra: Mapping[int, Sequence[int]],
) -> Scores:
    """Return the scores of texts whose words are stored, by these.

    ``extra`` has, by text, terms that are stored once more than the text holds them.
    """
    numbers = _numbers(query)
    counts, lengths = terms.counts_of(blobs, numbers)
    place = {term: n for n, term in enumerate(numbers.tolist())}
    for text, more_texts in extra.items():
        for term in more_texts:
            if term in place:
                counts[text, place[term]] = max(0, counts[text, place[term]] - 1)

    def holding(sequence: Sequence[int], may_hold: Mask) -> Places:
        holders = np.flatnonzero(may_hold)
        parts = [terms.in_order(blobs[n]) for n in holders.tolist()]
        if not parts:
            return holders
        text = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        holds_sequence = Terms(np.concatenate(parts), text, len(parts)).holding(
            sequence
        )
        return holders[holds_sequence]

    return _scores(query, counts, lengths, holding, links)


def _sum(counts: Places, norm: Floats, weights: Sequence[float]) -> Floats:
    sums = np.zeros(len(counts), dtype=np.float32)
    for place in np.argsort([-weight for weight in weights], kind="stable").tolist():
        sums += bm25.saturation(counts[:, place], norm, weights[place])
    return sums
