"""Run the rules over one view: concept patterns by sentence, expressions by block."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner import (
    combinations,
    concepts,
    context,
    gate,
    lexicon,
    registry,
    sentences,
)
from memory.scanner.expressions import Expressions
from memory.scanner.model import Family, Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.scanner.views import View

_NEGATION_REACH, _REPORT_REACH, _MAX_HITS = 6, 8, 120
_KEPT_EVERY_CHARS = 400


class _Phrase(NamedTuple):
    """A phrase of a rule, and what it needs beside its rarest concept."""

    rule: Rule
    pattern: re.Pattern[str]
    needed: tuple[int, ...]


def _index() -> dict[int, tuple[_Phrase, ...]]:
    """Concept bit → the phrases whose rarest concept may be it."""
    rows = []
    for rule in registry.RULES:
        for pattern in rule.phrases:
            rarest, *needed = lexicon.needed(pattern)
            phrase = _Phrase(rule, lexicon.compile_pattern(pattern), tuple(needed))
            rows += [(bit, phrase) for bit in lexicon.bits_of(rarest)]
    return lexicon.grouped(rows)


_PHRASES = _index()
_KEYS = sum(_PHRASES)
_EXPRESSIONS = Expressions(
    rule for rule in registry.RULES if rule.family is not Family.SECRETS
)
_LINES = tuple(
    combinations.parse(rule, line)
    for rule in registry.RULES
    for line in rule.combinations
)
_COMBINATIONS = combinations.Combinations(line for line in _LINES if not line.is_wide)
_WIDE = combinations.Combinations(line for line in _LINES if line.is_wide)
_NEG = re.compile(f"[{re.escape(lexicon.LEXICON.classes['NEG'])}]")
_NEGATED = re.compile(
    r"\b(?:not|never|no|nobody|without|cannot|[a-z]{2,6}n't)\b[^.\n]{0,24}\Z"
)
_NEGATION_CHARS = 32
# Notes of changes to code use the words of attacks for other things.
_CODE = re.compile(
    r"[a-z0-9]_[a-z0-9]|[a-z]\(|\s--?[a-z]{2}|[a-z]/[a-z]|[-=]>|::|`|[{}]|==|!=|&&"
    r"|\.(?:go|py|ts|js|json|md|sh)\b"
)
_TECHNICAL = 2
# What these are about is technical, or a person's to decide.
_TECHNICAL_FAMILIES = frozenset({Family.POLICY, Family.TOOL_ABUSE})
_REPORTED = frozenset(lexicon.LEXICON.classes["IMPERSON"])
_QUESTIONS = frozenset(lexicon.LEXICON.classes["QHOW"])


def find(view: View, off: frozenset[str]) -> list[Hit]:
    """Every hit of every rule in one folded view, weighed by its context."""
    raw = [hit for hit in _raw_hits(view.text) if hit.rule.id not in off]
    if not raw:
        return []
    quotations = context.survey(view.text)
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    hits: list[Hit] = []
    for hit in raw:
        name = hit.rule.id
        counts[name] = counts.get(name, 0) + 1
        # Of very many some are kept in every window that is scored.
        if counts[name] <= _MAX_HITS or hit.start - last[name] >= _KEPT_EVERY_CHARS:
            hits.append(hit)
            last[name] = hit.start
    return [_weigh(hit, quotations, counts[hit.rule.id]) for hit in hits]


def _weigh(hit: Hit, quotations: context.Quotations, count: int) -> Hit:
    # Very many hits are no quotation: without a discount they cannot hide an order.
    if count > _MAX_HITS:
        return Hit(hit.rule, hit.start, hit.end)
    if not hit.rule.quotable:
        return hit
    is_phrase = bool(hit.rule.phrases)
    return hit.scaled(
        context.weigh(quotations, hit.start, hit.end, is_phrase=is_phrase)
    )


def _possible(mask: int) -> list[_Phrase]:
    """Phrases whose needed concepts are all in the mask."""
    phrases: dict[re.Pattern[str], _Phrase] = {}
    keys = mask & _KEYS
    while keys:
        bit = keys & -keys
        keys ^= bit
        for phrase in _PHRASES[bit]:
            for concept in phrase.needed:
                if not concept & mask:
                    break
            else:
                phrases[phrase.pattern] = phrase
    return list(phrases.values())


def _raw_hits(text: str) -> Iterator[Hit]:
    masks = gate.masks(text)
    bounds = sentences.bounds(text) if concepts.is_unspaced(text) else []
    combined = _combined(text, masks, bounds)
    if sentences.has_cjk(text):
        # Where words are not separated by blanks the gate does not see them.
        masks = [
            mask | _bits(part) if sentences.has_cjk(part) else mask
            for mask, part in zip(
                masks, (text[start:end] for start, end in bounds), strict=True
            )
        ]
    candidates = [
        (number, phrases)
        for number, mask in enumerate(masks)
        if (phrases := _possible(mask))
    ]
    for rule, match in _EXPRESSIONS.find(text):
        start, end = match.span()
        is_policy = rule.family is Family.POLICY
        first = max(0, start - _NEGATION_CHARS)
        # An order not to do it is none.
        if not is_policy or not _NEGATED.search(text, first, start):
            yield Hit(rule, start, end)
    if not candidates and not combined:
        return
    bounds = bounds or sentences.bounds(text)
    for number, phrases in candidates:
        start, end = bounds[number]
        yield from _in_sentence(start, text[start:end], phrases)
    for candidate in combined:
        start = bounds[candidate.first][0]
        part = text[start : bounds[candidate.last][1]]
        yield from _combinations(start, part, candidate)


def _bits(part: str) -> int:
    """The bits of the concepts of a sentence, as phrases read it."""
    chars = set(sentences.encode(part).chars)
    return reduce(or_, (lexicon.LEXICON.masks.get(char, 0) for char in chars), 0)


class _Candidate(NamedTuple):
    """Lines to look for from one sentence to another, read in some languages."""

    lines: combinations.Combinations
    first: int
    last: int
    languages: tuple[str, ...]
    # What stands in a single sentence without blanks, as it was read before.
    unspaced: dict[str, list[concepts.Occurrence]] | None = None


def _combined(
    text: str, masks: list[int], bounds: list[tuple[int, int]]
) -> list[_Candidate]:
    """Sentences, and pairs of them, that may hold a combination."""
    rows: list[_Candidate] = []
    before = 0
    own_before: dict[str, int] = {}
    for number, mask in enumerate(map(gate.concepts_in, masks)):
        unspaced = concepts.unspaced(text[slice(*bounds[number])]) if bounds else {}
        own = {
            language: reduce(or_, (item.concepts for item in items))
            for language, items in unspaced.items()
        }
        languages = _COMBINATIONS.languages(mask)
        if own:
            languages += _allowed(_COMBINATIONS, own)
        if languages:
            rows.append(_Candidate(_COMBINATIONS, number, number, languages, unspaced))
        languages = _WIDE.languages(before | mask) if number else ()
        if number and (own or own_before):
            languages += _allowed(_WIDE, _union(own_before, own))
        if languages:
            rows.append(_Candidate(_WIDE, number - 1, number, languages))
        before, own_before = mask, own
    return rows


def _union(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {
        name: first.get(name, 0) | second.get(name, 0) for name in {**first, **second}
    }


def _allowed(
    lines: combinations.Combinations, masks: dict[str, int]
) -> tuple[str, ...]:
    """The languages whose concepts allow a line."""
    return tuple(language for language, mask in masks.items() if lines.of(mask))


def _combinations(start: int, part: str, candidate: _Candidate) -> Iterator[Hit]:
    rules = set()
    is_technical = len(_CODE.findall(part)) >= _TECHNICAL
    lines, languages = candidate.lines, candidate.languages
    for match in combinations.find(part, languages, lines, candidate.unspaced):
        # Several lines of a rule, or several languages, are the same evidence.
        if match.rule.id in rules:
            continue
        rules.add(match.rule.id)
        if match.rule.negatable and match.is_negated:
            continue
        factor = context.REPORT_FACTOR if match.is_reported else 1.0
        if is_technical and match.rule.family not in _TECHNICAL_FAMILIES:
            factor *= context.TECHNICAL_FACTOR
        yield Hit(match.rule, start + match.start, start + match.end, factor)


def _in_sentence(offset: int, part: str, phrases: Iterable[_Phrase]) -> Iterator[Hit]:
    encoded = sentences.encode(part)
    places: list[tuple[int, int]] = []
    for phrase in phrases:
        for match in phrase.pattern.finditer(encoded.chars):
            places = places or sentences.places(part, encoded)
            first, last = match.span(1)
            start, end = places[first][0], places[last - 1][1]
            factor = _sentence_factor(phrase.rule, encoded.chars, first)
            yield Hit(phrase.rule, offset + start, offset + end, factor)


def _sentence_factor(rule: Rule, chars: str, first: int) -> float:
    factor = 1.0
    before = chars[max(0, first - _NEGATION_REACH) : first]
    if rule.negatable and _NEG.search(before):
        factor = context.NEGATION_FACTOR
    if not _REPORTED.isdisjoint(chars[max(0, first - _REPORT_REACH) : first]):
        factor *= context.REPORT_FACTOR
    if not _QUESTIONS.isdisjoint(chars[:2]):
        factor *= context.QUESTION_FACTOR
    return factor
