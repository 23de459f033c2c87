"""The cheap question before the dear one: whether any rule could match a sentence.

Every concept and every literal a rule needs is one bit. A word's bits are looked up
once and remembered, so that ordinary text costs one look-up a word.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memory.rules.scanner import lexicon, registry, sentences
from memory.rules.scanner.model import Family, Rule

_BITS_OF = lexicon.LEXICON.bits
_FIRST = len(_BITS_OF)
_MARKS = {"@": _BITS_OF["MAIL"], "://": _BITS_OF["URL"]}
_KEY_WORDS = frozenset({"rsa", "ed25519", "passwd", "shadow", "pem", "kube"})
_MIN_DIGITS = 4


class Needs(NamedTuple):
    """What an expression needs: one bit of each non-empty mask."""

    first: int
    second: int


class Stretch(NamedTuple):
    """A sentence by number, and everything that it may express."""

    number: int
    mask: int


def _literals() -> dict[str, int]:
    found: dict[str, int] = {}
    for rule in registry.RULES:
        if rule.family is not Family.SECRETS:
            for literal in (*rule.needs, *rule.also):
                found.setdefault(literal, 1 << (_FIRST + len(found)))
    return found


_BITS = _literals()
_BREAK = 1 << (_FIRST + len(_BITS))
_KEY = _BREAK << 1
# A word can hold a literal without signs; the others are searched for in the text.
_WORDLIKE = re.compile(r" ?[a-z0-9'-]+ ?")
_IN_WORDS = tuple(item for item in _BITS.items() if _WORDLIKE.fullmatch(item[0]))
_ELSEWHERE = tuple(item for item in _BITS.items() if not _WORDLIKE.fullmatch(item[0]))


def needs(rule: Rule) -> Needs:
    """The masks of a rule's literals."""
    first = sum(_BITS[one] for one in set(rule.needs))
    return Needs(first, sum(_BITS[one] for one in set(rule.also)))


@lru_cache(maxsize=1 << 16)
def _mask(token: str) -> int:
    """The bits of one token: concepts, literals, or that it ends a sentence."""
    if token[0] in sentences.BREAK_SIGNS:
        is_path = token[0] == "." and token[1:].isalpha()
        return _BITS_OF["KEYFILE"] if is_path else _BREAK
    if token in _MARKS:
        return _MARKS[token]
    found = lexicon.LEXICON.masks.get(lexicon.concept_char(token), 0)
    if token in lexicon.KEYS:
        found |= _KEY
    # A blank at an end of a literal is an end of the word.
    padded = f" {token} "
    for literal, bit in _IN_WORDS:
        if literal in padded:
            found |= bit
    return found | _shape_bits(token)


def _shape_bits(token: str) -> int:
    digits = sum(map(str.isdigit, token))
    found = _BITS_OF["ACCTNO"] if digits >= _MIN_DIGITS or token[:2] == "0x" else 0
    return found | (_BITS_OF["KEYFILE"] if token in _KEY_WORDS else 0)


def elsewhere(text: str) -> int:
    """Literals with signs or blanks inside, looked for in the whole text."""
    found = 0
    for literal, bit in _ELSEWHERE:
        if literal in text:
            found |= bit
    return found


def stretches(text: str) -> list[Stretch]:
    """Every sentence with what it may express."""
    tokens = sentences.tokens(text)
    found: list[Stretch] = []
    first = number = mask = 0
    for place, bits in enumerate(map(_mask, tokens)):
        if not bits & _BREAK:
            mask |= bits
            continue
        if mask & _KEY:
            mask |= lexicon.phrases_in(tokens[first:place])
        found.append(Stretch(number, mask))
        number += 1
        first, mask = place + 1, 0
    if mask & _KEY:
        mask |= lexicon.phrases_in(tokens[first:])
    found.append(Stretch(number, mask))
    return found
