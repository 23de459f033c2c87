"""The cheap question before the dear one: could any rule match this stretch?

Every concept and every literal a rule needs is one bit. A word's bits are looked up
once and remembered, so that a stretch of ordinary text costs one look-up a word.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from memory.rules.scanner import lexicon, registry, sentences
from memory.rules.scanner.model import Family, Rule

_FIRST = len(lexicon.LEXICON.bits)


class Needs(NamedTuple):
    """What an expression needs: one bit of each non-empty mask, and of literals."""

    rule: Rule
    first: int
    second: int


def _literals() -> dict[str, int]:
    found: dict[str, int] = {}
    for rule in registry.RULES:
        if rule.family is not Family.SECRETS:
            for literal in (*rule.needs, *rule.also):
                found.setdefault(literal, 1 << (_FIRST + len(found)))
    return found


_BITS = _literals()
# A word can hold a literal without spaces or signs; the others are searched for.
_IN_WORDS = tuple((one, bit) for one, bit in _BITS.items() if one.strip().isalpha())
_ELSEWHERE = tuple((one, bit) for one, bit in _BITS.items() if not one.strip().isalpha())


def needs(rule: Rule) -> Needs:
    """The masks of a rule's literals."""
    first = sum(_BITS[one] for one in set(rule.needs))
    return Needs(rule, first, sum(_BITS[one] for one in set(rule.also)))


@lru_cache(maxsize=1 << 16)
def _mask(word: str) -> int:
    found = lexicon.LEXICON.masks.get(lexicon.concept_char(word), 0)
    # A blank at an end of a literal is an end of the word.
    padded = f" {word} "
    for literal, bit in _IN_WORDS:
        if literal in padded:
            found |= bit
    return found


def mask_of(text: str) -> int:
    """Everything that a stretch of folded text may express."""
    words, found = sentences.vocabulary(text)
    found |= reduce(or_, map(_mask, words), 0) | lexicon.phrases_in(words)
    for literal, bit in _ELSEWHERE:
        if literal in text:
            found |= bit
    return found


def is_open(one: Needs, mask: int) -> bool:
    """Are the literals of an expression there?"""
    return bool((not one.first or one.first & mask) and (not one.second or one.second & mask))
