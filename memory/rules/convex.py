"""The fusion ``convex``: what each candidate says by every signal, as one sum.

Each candidate has its real values in all signals; none is zero for not being in the cut
of a ranking:

meaning       0.40 × centred cosine, scaled to 0..1 over everything in scope, to the
              power of 1.3: the nearest stand out
words         0.30 × BM25 of the entry's words and pairs of words, of the best
context       0.30 × BM25 of the words around it in its thread, of the best
substance     0.20 × how much it says, full from 40 words on; a short question of a
              journal entry or record says nothing
neighbours    0.16 × meaning, words and context of each entry directly beside it
conversation  0.60 × the best sum of all of the above of a candidate of the same trace
preference    0.10 × how well it fits each of time and names in the question

The sum is multiplied with 0.9 + importance / 5, which is 1 for an ordinary entry, and
divided by what a perfect entry would have, so that it lies in 0..1. An entry without a
vector is judged by the other values alone; one without a trace is a conversation of its
own. A greater share of importance costs more answers than it mends: 1.8 of 100 right
ones in five with 0.75 + importance / 2.

The weights were chosen on the train halves of labelled sets; the README of episodic has
the figures. Journal entries, records and the parts of memory files are scored here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)
Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Raised when a formula or weight changes.
VERSION: Final = 3
MEANING: Final = 0.40
WORDS: Final = 0.30
CONTEXT: Final = 0.30
SUBSTANCE: Final = 0.20
NEIGHBOURS: Final = 0.16
CONVERSATION: Final = 0.60
PREFERENCE: Final = 0.10
FULL_LENGTH: Final = 40
MEANING_POWER: Final = 1.3
ORDINARY: Final = 0.9
IMPORTANCE: Final = 0.2
# The importance of what has none of its own: its sum is multiplied with 1.
NO_IMPORTANCE: Final = (1 - ORDINARY) / IMPORTANCE
# What fits the question; substance does not, and is none of a neighbour's.
_FIT: Final = MEANING + WORDS + CONTEXT
_PERFECT: Final = (
    (_FIT * (1 + 2 * NEIGHBOURS) + SUBSTANCE) * (1 + CONVERSATION) + 2 * PREFERENCE
) * (ORDINARY + IMPORTANCE)


# ── One entry ────────────────────────────────────────────────────────────────
# Not frozen, which would make each of a question's hundreds cost several times more.
@dataclass(slots=True)
class Signals:
    """The values of one entry before they are scaled.

    ``meaning`` is its centred cosine, None without a vector. ``before``, ``after`` and
    ``thread`` are those of ``memory.word_index.answers.WordDetail``; ``preference``
    sums how well it fits what the question prefers, 0..2.
    """

    meaning: float | None = None
    words: float = 0.0
    context: float = 0.0
    length: int = 0
    importance: float = 0.5
    before: Any = None
    after: Any = None
    thread: int | None = None
    preference: float = 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What each signal adds to a score of 0..1."""

    meaning: float
    words: float
    context: float
    substance: float
    neighbours: float = 0.0
    conversation: float = 0.0
    preference: float = 0.0

    @property
    def total(self) -> float:
        return (
            self.meaning
            + self.words
            + self.context
            + self.substance
            + self.neighbours
            + self.conversation
            + self.preference
        )

    def plain(self, importance: float) -> Parts:
        """Return the parts as they were before importance weighed them."""
        factor = importance_factor(importance) / _PERFECT
        return Parts(*(getattr(self, field.name) / factor for field in fields(self)))


def importance_factor(importance: float) -> float:
    """Return what the sum is multiplied with, 1 for an ordinary entry."""
    return ORDINARY + IMPORTANCE * importance


def most_neighbours() -> float:
    """Return what two perfect neighbours add, before importance."""
    return NEIGHBOURS * 2 * _FIT


def meaning_share(part: float) -> float:
    """Return how near an entry is by its plain part of meaning, 0..1.

    0 is the farthest in scope, 1 the nearest.
    """
    return float((part / MEANING) ** (1 / MEANING_POWER))


def weights() -> dict[str, float]:
    """Return the weight of each signal."""
    return {
        "meaning": MEANING,
        "words": WORDS,
        "context": CONTEXT,
        "substance": SUBSTANCE,
        "neighbours": NEIGHBOURS,
        "conversation": CONVERSATION,
        "preference": PREFERENCE,
    }


# ── Many, as columns ─────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Columns:
    """The signals of many entries; ``Signals`` says what each is.

    ``meaning`` is NaN without a vector. ``before`` and ``after`` are places in these
    columns, −1 for none; ``thread`` is any number that a conversation's entries share,
    −1 for none.
    """

    meaning: Floats
    words: Floats
    context: Floats
    length: Floats
    importance: Floats
    before: Places
    after: Places
    thread: Places
    preference: Floats


@dataclass(frozen=True, slots=True)
class PartColumns:
    """The parts of many scores."""

    meaning: Floats
    words: Floats
    context: Floats
    substance: Floats
    neighbours: Floats
    conversation: Floats
    preference: Floats

    @property
    def total(self) -> Floats:
        """The scores."""
        total: Floats = np.sum(
            [getattr(self, field.name) for field in fields(self)], axis=0
        )
        return total


def _of_best(values: Floats) -> Floats:
    best = float(values.max(initial=0.0))
    return values / best if best > 0 else values


def _own(columns: Columns, lowest: float, highest: float) -> list[Floats]:
    """Return what an entry's own values add, before importance."""
    words = WORDS * _of_best(columns.words)
    context = CONTEXT * _of_best(columns.context)
    length_share = np.log1p(columns.length) / np.log1p(FULL_LENGTH)
    substance = SUBSTANCE * np.minimum(length_share, 1.0)
    span = highest - lowest
    share = (columns.meaning - lowest) / span if span > 0 else columns.meaning * 0 + 1
    is_blind = np.isnan(columns.meaning)
    nearness = np.clip(share, 0.0, 1.0) ** MEANING_POWER
    meaning = np.where(is_blind, 0.0, MEANING * nearness)
    scale = np.where(is_blind, (MEANING + WORDS + CONTEXT) / (WORDS + CONTEXT), 1.0)
    return [meaning, words * scale, context * scale, substance]


def parts(
    columns: Columns, candidates: Mask, *, lowest: float, highest: float
) -> PartColumns:
    """Return the parts of the score of every place; those of candidates are of use.

    ``lowest`` and ``highest`` are the extremes of the centred cosine over everything in
    scope. Entries that are no candidates count as neighbours only.
    """
    own = _own(columns, lowest, highest)
    *fits, _ = own
    fit = np.append(sum(fits), 0.0)  # the place −1 is the last one
    neighbour_sum = NEIGHBOURS * (fit[columns.before] + fit[columns.after])
    together = sum(own) + neighbour_sum
    is_said = candidates & (columns.thread >= 0)
    names, numbers = np.unique(columns.thread, return_inverse=True)
    best = np.zeros(len(names))
    np.maximum.at(best, numbers[is_said], together[is_said])
    best_of_thread = np.where(is_said, best[numbers], together)
    factor = (ORDINARY + IMPORTANCE * columns.importance) / _PERFECT
    added = (
        neighbour_sum,
        CONVERSATION * best_of_thread,
        PREFERENCE * columns.preference,
    )
    return PartColumns(*(part * factor for part in (*own, *added)))


# ── Many, by key ─────────────────────────────────────────────────────────────
def _columns(signals: Mapping[Key, Signals]) -> Columns:
    places: dict[Any, int] = {key: place for place, key in enumerate(signals)}
    rows = list(signals.values())
    threads: dict[int | None, int] = {None: -1}
    for row in rows:
        threads.setdefault(row.thread, len(threads))

    def numbers(values: Sequence[Any]) -> Floats:
        return np.array(values, dtype=np.float64)

    def places_of(keys: Sequence[Any]) -> Places:
        row_places = [-1 if key is None else places.get(key, -1) for key in keys]
        return np.array(row_places, dtype=np.int64)

    return Columns(
        # None becomes NaN.
        meaning=numbers([row.meaning for row in rows]),
        words=numbers([row.words for row in rows]),
        context=numbers([row.context for row in rows]),
        length=numbers([row.length for row in rows]),
        importance=numbers([row.importance for row in rows]),
        before=places_of([row.before for row in rows]),
        after=places_of([row.after for row in rows]),
        thread=np.array([threads[row.thread] for row in rows], dtype=np.int64),
        preference=numbers([row.preference for row in rows]),
    )


def fuse(
    signals: Mapping[Key, Signals],
    candidates: Sequence[Key],
    *,
    lowest: float,
    highest: float,
) -> dict[Key, Parts]:
    """Return the parts of every candidate's score; ``parts`` of a mapping.

    ``signals`` has the candidates and the entries directly beside them.
    """
    candidate_keys = set(candidates)
    mask = np.fromiter(
        (key in candidate_keys for key in signals), np.bool_, len(signals)
    )
    scored = parts(_columns(signals), mask, lowest=lowest, highest=highest)
    columns = [getattr(scored, field.name).tolist() for field in fields(scored)]
    by_key = dict(zip(signals, zip(*columns, strict=True), strict=True))
    return {key: Parts(*by_key[key]) for key in candidates}
