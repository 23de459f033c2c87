"""Rules over concepts: which words must stand together for a text to be an attack.

``^override rules previous|own /8 !report`` reads: within eight words of one sentence
an order to override, a word for rules, and one for previous or for own, where the
order stands at the head of a clause, and no word of reporting is in the sentence.
A term with ``>`` stands behind the first one.
A line that begins with ``+`` is looked for in two sentences that follow each other.
Every language has its own words for the same concepts, so a combination is written
once for all.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner import concepts, word_lists
from memory.scanner.concepts import Occurrence, Sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memory.scanner.model import Rule

_WITHIN: Final = 10
_CACHED: Final = 1 << 15
# How far from the head of a clause an order may stand, and from what announces it.
_HEAD, _ANNOUNCED = 2, 3
_NEGATED, _REPORTED = 3, 8
_ANNOUNCES, _NEGATION, _REPORT = map(
    word_lists.BITS.__getitem__, ("must", "negation", "report")
)
# A language counts in a sentence of which it knows this share of the words that the
# best one knows.
_EXPLAINED: Final = 0.6
# Where one language knows so many concepts, any other needs half as many.
_MANY_CONCEPTS: Final = 6
# From so many on they are looked up by concept.
_MANY_ITEMS: Final = 100


class Term(NamedTuple):
    """Concepts of which one must be there; its marks are ``^`` and ``>``."""

    mask: int
    is_order: bool
    is_behind: bool


class Combination(NamedTuple):
    """One line of a rule."""

    rule: Rule
    terms: tuple[Term, ...]
    absent: int
    within: int
    is_wide: bool = False


class Match(NamedTuple):
    """A combination in a sentence: its place there, and what weakens it."""

    rule: Rule
    start: int
    end: int
    is_negated: bool
    is_reported: bool


def _mask(names: str) -> int:
    return reduce(or_, (word_lists.BITS[name] for name in names.split("|")))


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield mask & -mask
        mask &= mask - 1


def parse(rule: Rule, line: str) -> Combination:
    """Read one line; KeyError for a concept that no list has."""
    terms, absent, within, is_wide = [], 0, _WITHIN, False
    for word in line.split():
        if word.startswith("/"):
            within = int(word[1:])
        elif word.startswith("!"):
            absent |= _mask(word[1:])
        elif word == "+":
            is_wide = True
        else:
            marks = word[: len(word) - len(word.lstrip("^>"))]
            terms.append(Term(_mask(word.lstrip("^>")), "^" in marks, ">" in marks))
    return Combination(rule, tuple(terms), absent, within, is_wide)


def _has_all(mask: int, combination: Combination) -> bool:
    """Whether concepts of one language hold each term."""
    for term in combination.terms:  # noqa: SIM110  (a generator costs as much as it saves)
        if not term.mask & mask:
            return False
    return True


class Combinations:
    """All lines of all rules, with a quick answer to which a sentence can hold."""

    def __init__(self, lines: Iterable[Combination]) -> None:
        self._lines = tuple(lines)
        in_all = set[Term].intersection(*(set(line.terms) for line in self._lines))
        self._always = [word_lists.in_any(term.mask) for term in in_all]
        self.of = lru_cache(_CACHED)(self._of)
        self._languages = lru_cache(_CACHED)(self._find_languages)

    def _of(self, mask: int) -> tuple[Combination, ...]:
        """The lines that concepts of one language allow."""
        return tuple(line for line in self._lines if _has_all(mask, line))

    def languages(self, mask: int) -> tuple[str, ...]:
        """The languages in which a sentence with these concepts can hold a line."""
        for needed in self._always:
            if not mask & needed:
                return ()
        return self._languages(mask)

    def _find_languages(self, mask: int) -> tuple[str, ...]:
        masks = list(word_lists.by_language(mask))
        largest = max((own.bit_count() for _, own in masks), default=0)
        minimum = largest // 2 if largest >= _MANY_CONCEPTS else 1
        return tuple(
            language
            for language, own in masks
            if own.bit_count() >= minimum and self.of(own)
        )


def find(
    text: str,
    languages: Collection[str],
    combinations: Combinations,
    unspaced: dict[str, list[Occurrence]] | None = None,
) -> Iterator[Match]:
    """Every combination that a folded sentence holds in one of the languages.

    ``unspaced`` is what languages without blanks find in it, if that is known.
    """
    sentence = concepts.read(text, languages, unspaced)
    minimum = max(sentence.explained.values(), default=0) * _EXPLAINED
    for language, items in sentence.occurrences.items():
        is_unspaced = language in word_lists.UNSPACED
        if not is_unspaced and sentence.explained.get(language, 0) < minimum:
            continue
        if not items:
            continue
        reader = _Reader(text, sentence, language)
        yield from filter(None, map(reader.match, combinations.of(reader.concepts)))


class _Reader:
    """One sentence read in one language."""

    def __init__(self, text: str, sentence: Sentence, language: str) -> None:
        self._text, self._sentence = text, sentence
        self._items = sorted(sentence.occurrences[language])
        # A word, or as many characters where there are no blanks.
        self._unit = word_lists.UNSPACED.get(language, 1)
        self._is_spaced = language not in word_lists.UNSPACED
        self._words = self._word_counts()
        self._starts = [self._words[item.start] for item in self._items]
        self._length = len(sentence.tokens) if self._is_spaced else len(text)
        self._verb_place = word_lists.VERB_PLACES[language]
        self._orders: dict[Occurrence, bool] = {}
        self._by_term: dict[Term, tuple[list[Occurrence], list[int]]] = {}
        self.concepts = reduce(or_, (item.concepts for item in self._items), 0)

    def _word_counts(self) -> list[int]:
        """How many words, or characters of words, stand before each place."""
        units: Iterable[str] = self._sentence.tokens
        if not self._is_spaced:
            units = concepts.SIGN.sub(",", self._text)
        return [
            *accumulate((unit not in concepts.CLAUSES for unit in units), initial=0)
        ]

    @cached_property
    def _by_concept(self) -> dict[int, list[Occurrence]]:
        table: dict[int, list[Occurrence]] = {}
        for item in self._items:
            for bit in _bits(item.concepts):
                table.setdefault(bit, []).append(item)
        return table

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return self._sentence.places()

    def match(self, combination: Combination) -> Match | None:
        """Return the first place where all terms stand near each other."""
        if combination.absent & self.concepts:
            return None
        terms = sorted(combination.terms, key=self._frequency)
        for anchor in self._of(terms[0])[0]:
            occurrences = self._nearest_to(anchor, terms[1:], combination.within)
            if occurrences and _is_in_order(combination, terms, occurrences):
                return self._result(combination.rule, occurrences)
        return None

    def _nearest_to(
        self, anchor: Occurrence, terms: Sequence[Term], within: int
    ) -> list[Occurrence]:
        """The occurrences nearest to the anchor, one of each term; [] without one."""
        occurrences = [anchor]
        for term in terms:
            nearest = self._nearest(term, occurrences, within * self._unit)
            if nearest is None:
                return []
            occurrences.append(nearest)
        return occurrences

    def _frequency(self, term: Term) -> int:
        return len(self._of(term)[0])

    def _of(self, term: Term) -> tuple[list[Occurrence], list[int]]:
        """The occurrences of a term, and how many words stand before each."""
        if term not in self._by_term:
            items = self._items
            if len(items) > _MANY_ITEMS:
                places = [self._by_concept.get(bit, []) for bit in _bits(term.mask)]
                items = sorted(set[Occurrence]().union(*places))
            items = [item for item in items if item.concepts & term.mask]
            if term.is_order:
                items = [item for item in items if self._is_order(item)]
            starts = [self._words[item.start] for item in items]
            self._by_term[term] = items, starts
        return self._by_term[term]

    def _nearest(
        self, term: Term, occurrences: Sequence[Occurrence], reach: int
    ) -> Occurrence | None:
        words = self._words
        first = words[min(item.start for item in occurrences)]
        last = words[max(item.end for item in occurrences)]
        best, smallest = None, reach + 1
        items, starts = self._of(term)
        start = bisect_left(starts, last - reach)
        for item in items[start : bisect_left(starts, first + reach)]:
            size = max(last, words[item.end]) - min(first, words[item.start])
            if size < smallest and not any(
                _overlap(item, other) for other in occurrences
            ):
                best, smallest = item, size
        return best

    def _is_order(self, item: Occurrence) -> bool:
        """Whether a verb stands where its language puts the verb of an order."""
        if item not in self._orders:
            self._orders[item] = (
                self._verb_place != "last" and self._is_first(item)
            ) or (self._verb_place != "first" and self._is_last(item))
        return self._orders[item]

    def _is_first(self, item: Occurrence) -> bool:
        if item.start <= self._unit:
            return True
        if self._has_before(_ANNOUNCES, item.start, _ANNOUNCED):
            return True
        before = range(max(item.start - _HEAD * self._unit, 0), item.start)
        return any(map(self._is_sign, before))

    def _is_last(self, item: Occurrence) -> bool:
        return item.end >= self._length - self._unit or self._is_sign(item.end)

    def _is_sign(self, place: int) -> bool:
        if self._is_spaced:
            return self._sentence.tokens[place] in concepts.CLAUSES
        return not self._text[place].isalnum()

    def _has_before(self, concept: int, at: int, words: int) -> bool:
        """Whether a concept ends not more than some words or signs before a place."""
        reach = words * self._unit
        # A phrase of several words begins earlier than it ends.
        first = bisect_left(self._starts, self._words[at] - 2 * reach)
        return any(
            item.concepts & concept and 0 <= at - item.end < reach
            for item in self._items[first : bisect_left(self._starts, self._words[at])]
        )

    def _result(self, rule: Rule, occurrences: Sequence[Occurrence]) -> Match:
        start = first = min(item.start for item in occurrences)
        end = max(item.end for item in occurrences)
        if self._is_spaced:
            start, end = self._places[first][0], self._places[end - 1][1]
        is_negated = self._has_before(_NEGATION, occurrences[0].start, _NEGATED)
        is_reported = self._has_before(_REPORT, first, _REPORTED)
        return Match(rule, start, end, is_negated, is_reported)


def _is_in_order(
    combination: Combination, terms: Sequence[Term], occurrences: Sequence[Occurrence]
) -> bool:
    """Whether the terms that have to stand behind the first one do so."""
    starts = {term: item.start for term, item in zip(terms, occurrences, strict=True)}
    first = starts[combination.terms[0]]
    return all(starts[term] > first for term in terms if term.is_behind)


def _overlap(first: Occurrence, second: Occurrence) -> bool:
    return first.start < second.end and second.start < first.end
