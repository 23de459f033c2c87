"""Run the rules over one view: concept patterns by sentence, expressions by block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memory.rules.scanner import context, lexicon, registry, sentences
from memory.rules.scanner.model import Family, Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.rules.scanner.sentences import Sentence
    from memory.rules.scanner.views import View

_NEGATION_REACH, _REPORT_REACH, _MAX_HITS = 6, 8, 120
_BLOCK, _OVERLAP = 2000, 500


class _Phrase(NamedTuple):
    rule: Rule
    pattern: re.Pattern[str]


class _Expression(NamedTuple):
    rule: Rule
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
    return _Expression(rule, tuple(patterns))


def _phrases() -> dict[str, tuple[_Phrase, ...]]:
    """Concept character → the rules it may start."""
    table: dict[str, list[_Phrase]] = {}
    for rule in registry.RULES:
        if not rule.anchor:
            continue
        phrase = _Phrase(rule, lexicon.compile_pattern(rule.pattern))
        for name in rule.anchor.split("|"):
            for char in lexicon.LEXICON.classes[name]:
                rows = table.setdefault(char, [])
                if phrase not in rows:
                    rows.append(phrase)
    return {char: tuple(rows) for char, rows in table.items()}


_PHRASES = _phrases()
_ANCHORS = frozenset(_PHRASES)
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
            context.weigh(
                ground, hit.start, hit.end, is_phrase=bool(hit.rule.anchor)
            )
        )
        for hit in kept
    ]


def _raw(text: str) -> Iterator[Hit]:
    for sentence in sentences.encode(text):
        present = _ANCHORS.intersection(sentence.chars)
        if present:
            yield from _in_sentence(text, sentence, present)
    for start, block in _blocks(text):
        yield from _in_block(start, block)


def _in_sentence(text: str, sentence: Sentence, present: Iterable[str]) -> Iterator[Hit]:
    chars = sentence.chars
    tried = {phrase.rule.id: phrase for char in present for phrase in _PHRASES[char]}
    for phrase in tried.values():
        for match in phrase.pattern.finditer(chars):
            if match.end() == match.start():
                continue
            first, last = match.start(), match.end() - 1
            start, end = sentences.locate(text, sentence, first, last)
            yield Hit(phrase.rule, start, end, _sentence_factor(phrase.rule, chars, first))


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
    """Overlapping windows cut at line ends where possible."""
    size, start = len(text), 0
    while start < size:
        end = min(start + _BLOCK, size)
        if end < size:
            cut = text.rfind("\n", start + _BLOCK // 2, end)
            end = cut + 1 if cut > 0 else end
        yield start, text[start : min(end + _OVERLAP, size)]
        start = end


def _in_block(offset: int, block: str) -> Iterator[Hit]:
    for expression in _EXPRESSIONS:
        rule = expression.rule
        if not any(need in block for need in rule.needs):
            continue
        for pattern, bounded in expression.patterns:
            for match in pattern.finditer(block):
                start = match.start()
                if bounded and start and block[start - 1].isalnum():
                    continue
                yield Hit(rule, offset + start, offset + match.end())
