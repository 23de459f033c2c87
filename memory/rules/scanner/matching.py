"""Run the rules over one view: concept patterns by sentence, expressions by block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memory.rules.scanner import context, gate, lexicon, registry, sentences
from memory.rules.scanner.model import Family, Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.rules.scanner.sentences import Sentence
    from memory.rules.scanner.views import View

_NEGATION_REACH, _REPORT_REACH, _MAX_HITS = 6, 8, 120
_BLOCK, _OVERLAP = 700, 250


class _Phrase(NamedTuple):
    rule: Rule
    pattern: re.Pattern[str]


class _Alternative(NamedTuple):
    """One alternative of a phrase and the concepts it cannot do without."""

    phrase: _Phrase
    needed: tuple[int, ...]


class _Expression(NamedTuple):
    needs: gate.Needs
    # (pattern, must it start a word?)
    patterns: tuple[tuple[re.Pattern[str], bool], ...]


def _top_level(pattern: str) -> list[str]:
    """Alternatives of an expression, split where no bracket is open."""
    parts, depth, start, index, in_class = [], 0, 0, 0, False
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            index += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            parts.append(pattern[start:index])
            start = index + 1
        index += 1
    return [*parts, pattern[start:]]


def _expression(rule: Rule) -> _Expression:
    """A leading word boundary is checked by hand: it would cost the fast start."""
    patterns = []
    for part in _top_level(rule.pattern):
        bounded = part.startswith(r"\b")
        body = part[2:] if bounded else part
        patterns.append((re.compile(body, re.MULTILINE), bounded))
    return _Expression(gate.needs(rule), tuple(patterns))


def _index() -> dict[int, tuple[_Alternative, ...]]:
    """Concept bit → the alternatives that need it most, by their rarest concept."""
    table: dict[int, list[_Alternative]] = {}
    for rule in registry.RULES:
        if not rule.anchor:
            continue
        phrase = _Phrase(rule, lexicon.compile_pattern(rule.pattern))
        for masks in lexicon.needed(rule.pattern):
            for bit in lexicon.bits_of(masks[0]):
                table.setdefault(bit, []).append(_Alternative(phrase, masks[1:]))
    return {bit: tuple(rows) for bit, rows in table.items()}


_PHRASES = _index()
_KEYS = sum(_PHRASES)
_EXPRESSIONS = tuple(
    _expression(rule)
    for rule in registry.RULES
    if rule.pattern and not rule.anchor and rule.family is not Family.SECRETS
)
_NEG = re.compile(f"[{re.escape(lexicon.LEXICON.classes['NEG'])}]")
_REPORTED = frozenset(lexicon.LEXICON.classes["IMPERSON"])
_ASKS = frozenset(lexicon.LEXICON.classes["QHOW"])


def find(view: View, off: frozenset[str]) -> list[Hit]:
    """Every hit of every rule in one folded view, weighed by its context."""
    found = [hit for hit in _raw(view.text) if hit.rule.id not in off]
    if not found:
        return []
    ground = context.survey(view.text)
    counts: dict[str, int] = {}
    kept: list[Hit] = []
    for hit in found:
        counts[hit.rule.id] = counts.get(hit.rule.id, 0) + 1
        if counts[hit.rule.id] <= _MAX_HITS:
            kept.append(hit)
    # A flood of hits is no mention; it gets no discount, so it cannot hide one.
    return [
        hit
        if counts[hit.rule.id] > _MAX_HITS or not hit.rule.quotable
        else hit.scaled(
            context.weigh(ground, hit.start, hit.end, is_phrase=bool(hit.rule.anchor))
        )
        for hit in kept
    ]


def _possible(mask: int) -> list[_Phrase]:
    """Rules of which at least one alternative has all its concepts."""
    found: dict[str, _Phrase] = {}
    keys = mask & _KEYS
    while keys:
        bit = keys & -keys
        keys ^= bit
        for phrase, needed in _PHRASES[bit]:
            for one in needed:
                if not one & mask:
                    break
            else:
                found[phrase.rule.id] = phrase
    return list(found.values())


def _raw(text: str) -> Iterator[Hit]:
    seen: set[tuple[str, int]] = set()
    for start, block in _blocks(text):
        for hit in _in_block(block):
            key = hit.rule.id, start + hit.start
            if key not in seen:
                seen.add(key)
                yield Hit(hit.rule, start + hit.start, start + hit.end, hit.factor)


def _in_block(block: str) -> Iterator[Hit]:
    mask = gate.mask_of(block)
    if mask & _KEYS and _possible(mask):
        for sentence in sentences.read(block):
            there = _possible(sentence.mask) if sentence.mask & _KEYS else ()
            if there:
                yield from _in_sentence(block, sentence, there)
    for expression in _EXPRESSIONS:
        if gate.is_open(expression.needs, mask):
            yield from _search(expression, block)


def _in_sentence(
    text: str, sentence: Sentence, phrases: Iterable[_Phrase]
) -> Iterator[Hit]:
    encoded = sentences.encode(sentence.words)
    for phrase in phrases:
        for match in phrase.pattern.finditer(encoded.chars):
            first, last = match.start(), match.end() - 1
            start, end = sentences.locate(text, sentence, encoded, first, last)
            factor = _sentence_factor(phrase.rule, encoded.chars, first)
            yield Hit(phrase.rule, start, end, factor)


def _sentence_factor(rule: Rule, chars: str, first: int) -> float:
    factor = 1.0
    before = chars[max(0, first - _NEGATION_REACH) : first]
    if rule.negatable and _NEG.search(before):
        factor = context.negated()
    if not _REPORTED.isdisjoint(chars[max(0, first - _REPORT_REACH) : first]):
        factor *= context.reported()
    if not _ASKS.isdisjoint(chars[:2]):
        factor *= context.asked()
    return factor


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Overlapping stretches, cut between paragraphs or sentences where possible."""
    size, start = len(text), 0
    while start < size:
        end = start + _BLOCK
        if end < size:
            end = _cut(text, start + _BLOCK // 3, end)
        yield start, text[start : end + _OVERLAP]
        start = end


def _cut(text: str, low: int, high: int) -> int:
    for mark in ("\n\n", ". ", "\n", " "):
        place = text.rfind(mark, low, high)
        if place > 0:
            return place + len(mark)
    return high


def _search(expression: _Expression, block: str) -> Iterator[Hit]:
    for pattern, bounded in expression.patterns:
        for match in pattern.finditer(block):
            start = match.start()
            if not (bounded and start and block[start - 1].isalnum()):
                yield Hit(expression.needs.rule, start, match.end())
