"""Run the rules over one view: concept patterns by sentence, expressions by block."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner import context, gate, lexicon, registry, required, sentences
from memory.scanner.model import Family, Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.scanner.views import View

_NEGATION_REACH, _REPORT_REACH, _MAX_HITS = 6, 8, 120
# Sentences that an expression may run across.
_REACH = 3
_EVERY = -1
# Looking for literals in a long text costs more than it saves.
_SHORT = 1000


class _Phrase(NamedTuple):
    rule: Rule
    pattern: re.Pattern[str]


class _Alternative(NamedTuple):
    """One alternative of a phrase and the concepts it cannot do without."""

    phrase: _Phrase
    needed: tuple[int, ...]


class _Pattern(NamedTuple):
    """One alternative of an expression, and the literals it cannot do without."""

    pattern: re.Pattern[str]
    starts_word: bool
    required: tuple[tuple[str, ...], ...]


class _Expression(NamedTuple):
    rule: Rule
    first: int
    second: int
    patterns: tuple[_Pattern, ...]


def _expression(rule: Rule) -> _Expression:
    """A leading word boundary is checked by hand: it would cost the fast start."""
    patterns = []
    for part in rule.expressions:
        bounded = part.startswith(r"\b")
        body = part[2:] if bounded else part
        compiled = re.compile(body, re.MULTILINE)
        patterns.append(_Pattern(compiled, bounded, required.literals(body)))
    return _Expression(rule, *gate.needs(rule), tuple(patterns))


def _index() -> dict[int, tuple[_Alternative, ...]]:
    """Concept bit → the alternatives that need it most, by their rarest concept."""
    table: dict[int, list[_Alternative]] = {}
    for rule in registry.RULES:
        if not rule.phrases:
            continue
        for pattern in rule.phrases:
            phrase = _Phrase(rule, lexicon.compile_pattern(pattern))
            masks = lexicon.needed(pattern)
            for bit in lexicon.bits_of(masks[0]):
                table.setdefault(bit, []).append(_Alternative(phrase, masks[1:]))
    return {bit: tuple(rows) for bit, rows in table.items()}


_PHRASES = _index()
_KEYS = sum(_PHRASES)
_EXPRESSIONS = tuple(
    _expression(rule)
    for rule in registry.RULES
    if rule.expressions and rule.family is not Family.SECRETS
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
    return [_weighed(hit, ground, counts[hit.rule.id]) for hit in kept]


def _weighed(hit: Hit, ground: context.Ground, count: int) -> Hit:
    # A flood of hits is no mention; it gets no discount, so it cannot hide an order.
    if count > _MAX_HITS:
        return Hit(hit.rule, hit.start, hit.end)
    if not hit.rule.quotable:
        return hit
    is_phrase = bool(hit.rule.phrases)
    return hit.scaled(context.weigh(ground, hit.start, hit.end, is_phrase=is_phrase))


def _possible(mask: int) -> list[_Phrase]:
    """Rules of which at least one alternative has all its concepts."""
    found: dict[re.Pattern[str], _Phrase] = {}
    keys = mask & _KEYS
    while keys:
        bit = keys & -keys
        keys ^= bit
        for phrase, needed in _PHRASES[bit]:
            for one in needed:
                if not one & mask:
                    break
            else:
                found[phrase.pattern] = phrase
    return list(found.values())


def _raw(text: str) -> Iterator[Hit]:
    elsewhere = gate.elsewhere(text)
    stretches = gate.stretches(text)
    bounds: list[tuple[int, int]] = []
    if sentences.has_cjk(text):
        bounds = sentences.bounds(text)
        stretches = [_unspaced(text, bounds, one) for one in stretches]
    phrases = [
        (number, there) for number, mask in stretches if (there := _possible(mask))
    ]
    spans = _spans([mask | elsewhere for _, mask in stretches], text)
    if not phrases and not spans:
        return
    bounds = bounds or sentences.bounds(text)
    for number, there in phrases:
        start, end = bounds[number]
        yield from _in_sentence(start, text[start:end], there)
    for expression, first, last in spans:
        start, end = bounds[first][0], bounds[last][1]
        yield from _search(expression, start, text[start:end])


def _unspaced(
    text: str, bounds: list[tuple[int, int]], stretch: gate.Stretch
) -> gate.Stretch:
    """Any rule may match a sentence whose words are not apart."""
    start, end = bounds[stretch.number]
    if sentences.has_cjk(text[start:end]):
        return gate.Stretch(stretch.number, _EVERY)
    return stretch


def _spans(masks: list[int], text: str) -> list[tuple[_Expression, int, int]]:
    """Expressions and the runs of sentences in which they are worth trying."""
    worth = _open(reduce(or_, masks), _EXPRESSIONS)
    if len(text) <= _SHORT:
        worth = [one for one in worth if _has_literals(one, text)]
    if not worth:
        return []
    found: list[tuple[_Expression, int, int]] = []
    last_seen: dict[str, int] = {}
    final = len(masks) - 1
    firsts = reduce(or_, (one.first for one in worth))
    for number in range(len(masks)):
        mask = masks[number]
        # What begins in a later sentence is found from there.
        if not mask & firsts and not any(one.second & mask for one in worth):
            continue
        for later in masks[number + 1 : number + _REACH]:
            mask |= later
        for expression in _open(mask, worth):
            name = expression.rule.id
            end = min(number + _REACH - 1, final)
            place = last_seen.get(name)
            if place is not None and found[place][2] >= number:
                found[place] = (expression, found[place][1], end)
            else:
                last_seen[name] = len(found)
                found.append((expression, number, end))
    return found


def _open(mask: int, expressions: Iterable[_Expression]) -> list[_Expression]:
    """Expressions that find their literals."""
    return [
        one
        for one in expressions
        if one.first & mask and (not one.second or one.second & mask)
    ]


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


def _has_literals(expression: _Expression, text: str) -> bool:
    """Say whether any alternative finds its literals in the whole text."""
    for pattern in expression.patterns:
        if _has_one_of_each(pattern.required, text):
            return True
    return False


def _search(expression: _Expression, offset: int, part: str) -> Iterator[Hit]:
    for pattern, bounded, literals in expression.patterns:
        if not _has_one_of_each(literals, part):
            continue
        for match in pattern.finditer(part):
            start = match.start()
            if not (bounded and start and part[start - 1].isalnum()):
                yield Hit(expression.rule, offset + start, offset + match.end())


def _has_one_of_each(literals: tuple[tuple[str, ...], ...], part: str) -> bool:
    for one in literals:
        for literal in one:
            if literal in part:
                break
        else:
            return False
    return True


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
