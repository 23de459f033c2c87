"""Rules over concepts: which words must stand together for a text to be an attack.

``^override rules previous|own /8 !report`` reads: within eight words of one sentence
an order to override, a word for rules, and one for previous or for own, where the
order stands at the head of a clause, and no word of reporting is in the sentence.
Every language has its own words for the same concepts, so a combination is written
once for all.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner import concepts
from memory.scanner.concepts import Occurrence, Sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memory.scanner.model import Rule

_WITHIN: Final = 10
_MAX_KNOWN: Final = 1 << 15
# How far from the head of a clause an order may stand, and from what announces it.
_HEAD, _ANNOUNCED = 2, 3
_NEGATED, _REPORTED = 3, 8
_ANNOUNCES: Final = concepts.BITS["must"]
# A language counts in a sentence of which it explains this share of the best one's words.
_EXPLAINED: Final = 0.6
# Where a language knows so many concepts, others need half as many.
_MANY: Final = 6


# More tokens than any phrase of the word lists has.
_LONGEST: Final = 40


def _start(item: Occurrence) -> int:
    return item.start


class Term(NamedTuple):
    """Concepts of which one must be there; ``is_order`` is the mark ``^``."""

    mask: int
    is_order: bool


class Combination(NamedTuple):
    """One line of a rule."""

    rule: Rule
    terms: tuple[Term, ...]
    absent: int
    within: int


class Match(NamedTuple):
    """A combination in a sentence: its place there, and what weakens it."""

    rule: Rule
    start: int
    end: int
    is_negated: bool
    is_reported: bool


def _mask(names: str) -> int:
    return reduce(or_, (concepts.BITS[name] for name in names.split("|")))


def parse(rule: Rule, line: str) -> Combination:
    """Read one line; KeyError for a concept that no list has."""
    terms, absent, within = [], 0, _WITHIN
    for word in line.split():
        if word.startswith("/"):
            within = int(word[1:])
        elif word.startswith("!"):
            absent |= _mask(word[1:])
        else:
            terms.append(Term(_mask(word.lstrip("^")), word.startswith("^")))
    return Combination(rule, tuple(terms), absent, within)


def _has_all(mask: int, combination: Combination) -> bool:
    """Whether concepts of one language hold each term and no absent one."""
    for term in combination.terms:  # noqa: SIM110  (a generator costs as much as it saves)
        if not term.mask & mask:
            return False
    return True


class Combinations:
    """All lines of all rules, with a quick answer to which a sentence can hold."""

    def __init__(self, lines: Iterable[Combination]) -> None:
        self._lines = tuple(lines)
        self._known: dict[int, tuple[Combination, ...]] = {}

    def of(self, mask: int) -> tuple[Combination, ...]:
        """Those that concepts of one language allow."""
        known = self._known.get(mask)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = tuple(line for line in self._lines if _has_all(mask, line))
            self._known[mask] = known
        return known

    def languages(self, mask: int) -> tuple[str, ...]:
        """The languages in which a sentence with these concepts can hold one."""
        if mask < 0:
            return concepts.LANGUAGES
        masks = []
        while mask:
            masks.append(mask & concepts.OF_ONE)
            mask >>= concepts.WIDTH
        # One concept alone is no combination.
        most = max(map(int.bit_count, masks), default=0)
        least = most // 2 if most >= _MANY else 1
        return tuple(
            language
            for own, language in zip(masks, concepts.LANGUAGES, strict=False)
            if own.bit_count() >= least and self.of(own)
        )


def find(
    text: str, languages: Collection[str], combinations: Combinations
) -> Iterator[Match]:
    """Every combination that a folded sentence holds in one of the languages."""
    sentence = concepts.read(text, languages)
    least = max(sentence.explained.values(), default=0) * _EXPLAINED
    for language, items in sentence.occurrences.items():
        is_unspaced = language in concepts.UNSPACED
        if not is_unspaced and sentence.explained.get(language, 0) < least:
            continue
        every = reduce(or_, (item.concepts for item in items))
        possible = combinations.of(every)
        reader = _Reader(text, sentence, language, items) if possible else None
        for combination in possible:
            if not combination.absent & every and (match := reader.match(combination)):
                yield match


class _Reader:
    """One sentence read in one language."""

    def __init__(
        self, text: str, sentence: Sentence, language: str, items: Sequence[Occurrence]
    ) -> None:
        self._text, self._sentence = text, sentence
        self._items = sorted(items, key=_start)
        self._by_term: dict[Term, list[Occurrence]] = {}
        self._unit = concepts.UNSPACED.get(language, 0)
        self._place = concepts.VERB_PLACES[language]
        self._length = len(text) if self._unit else len(sentence.tokens)

    def match(self, combination: Combination) -> Match | None:
        """Return the first place where all terms stand near each other."""
        first, *others = sorted(combination.terms, key=self._frequency)
        for anchor in self._candidates(first):
            chosen = [anchor]
            for term in others:
                nearest = self._nearest(term, chosen, combination.within)
                if nearest is None:
                    break
                chosen.append(nearest)
            else:
                return self._result(combination.rule, chosen)
        return None

    def _frequency(self, term: Term) -> int:
        return len(self._candidates(term))

    def _candidates(self, term: Term) -> list[Occurrence]:
        """The occurrences of a term, in order; looked up once a sentence."""
        candidates = self._by_term.get(term)
        if candidates is None:
            candidates = self._by_term[term] = [
                item
                for item in self._items
                if item.concepts & term.mask
                and (not term.is_order or self._is_order(item))
            ]
        return candidates

    def _between(
        self, items: list[Occurrence], first: int, last: int
    ) -> list[Occurrence]:
        """Those that start from ``first`` on and before ``last``.

        Only they can be near, so that a sentence of any length costs little.
        """
        begin = bisect_left(items, first, key=_start)
        return items[begin : bisect_left(items, last, begin, key=_start)]

    def _nearest(
        self, term: Term, chosen: Sequence[Occurrence], within: int
    ) -> Occurrence | None:
        reach = within * (self._unit or 1)
        first = min(item.start for item in chosen)
        last = max(item.end for item in chosen)
        best: tuple[int, Occurrence] | None = None
        candidates = self._candidates(term)
        for item in self._between(candidates, last - reach, first + reach):
            if any(item.start < other.end and other.start < item.end for other in chosen):
                continue
            size = max(last, item.end) - min(first, item.start)
            if size <= reach and (best is None or size < best[0]):
                best = size, item
        return best[1] if best else None

    def _is_order(self, item: Occurrence) -> bool:
        """Whether a verb stands where its language puts the verb of an order."""
        if self._place != "last" and self._is_first(item):
            return True
        return self._place != "first" and self._is_last(item)

    def _is_first(self, item: Occurrence) -> bool:
        unit = self._unit or 1
        if item.start <= unit or self._is_announced(item):
            return True
        before = range(item.start - _HEAD * unit, item.start)
        if self._unit:
            return any(not self._text[place].isalnum() for place in before)
        tokens = self._sentence.tokens
        return any(tokens[place] == concepts.SIGN for place in before)

    def _is_last(self, item: Occurrence) -> bool:
        unit = self._unit or 1
        if item.end >= self._length - unit:
            return True
        if self._unit:
            return not self._text[item.end].isalnum()
        return self._sentence.tokens[item.end] == concepts.SIGN

    def _is_announced(self, item: Occurrence) -> bool:
        reach = _ANNOUNCED * (self._unit or 1)
        return any(
            other.concepts & _ANNOUNCES and 0 <= item.start - other.end < reach
            for other in self._before(item.start, reach)
        )

    def _result(self, rule: Rule, chosen: Sequence[Occurrence]) -> Match:
        first = min(item.start for item in chosen)
        last = max(item.end for item in chosen)
        act = chosen[0].start
        if self._unit:
            start, end = first, last
        else:
            places = self._sentence.places
            start, end = places[first][0], places[last - 1][1]
        return Match(
            rule,
            start,
            end,
            self._has_before("negation", act, _NEGATED),
            self._has_before("report", first, _REPORTED),
        )

    def _has_before(self, name: str, at: int, words: int) -> bool:
        bit, reach = concepts.BITS.get(name, 0), words * (self._unit or 1)
        return any(
            item.concepts & bit and 0 <= at - item.end < reach
            for item in self._before(at, reach)
        )

    def _before(self, at: int, reach: int) -> list[Occurrence]:
        """What may end within some tokens before a place."""
        return self._between(self._items, at - reach - _LONGEST, at)
