"""The cheap question before the dear one: whether any rule could match a sentence.

Every concept and every literal a rule needs is one bit. A word's bits are looked up
once and remembered, so that ordinary text costs one look-up a word.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import NamedTuple

from memory.scanner import lexicon, registry, sentences
from memory.scanner.model import Family, Rule

_BITS_OF = lexicon.LEXICON.bits
_FIRST = len(_BITS_OF)
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
_SIGN_BITS = {
    sentences.END: _BREAK,
    sentences.LINK: _BITS_OF["URL"],
    sentences.FILE: _BITS_OF["KEYFILE"],
    sentences.AT: _BITS_OF["MAIL"],
}
# What a word looks like in the token stream without being one.
_ODD = _KEY << 1
# A word can hold a literal without signs; the others are searched for in the text.
_WORDLIKE = re.compile(r" ?[a-z0-9'-]+ ?")
_ELSEWHERE = tuple(item for item in _BITS.items() if not _WORDLIKE.fullmatch(item[0]))
_MAX_KNOWN, _START = 1 << 17, 3


def _in_words() -> dict[str, tuple[tuple[str, int], ...]]:
    """The first three signs of a literal → the literals that begin so."""
    table: dict[str, list[tuple[str, int]]] = {}
    for literal, bit in _BITS.items():
        if _WORDLIKE.fullmatch(literal):
            table.setdefault(literal[:_START], []).append((literal, bit))
    return {key: tuple(rows) for key, rows in table.items()}


_IN_WORDS = _in_words()
_STARTS = frozenset(_IN_WORDS)
# The hash of a token → its bits. Hashes differ in every process and say nothing about
# the word, so that names and numbers of one text are not kept for the next.
_memory: list[dict[int, int]] = [{}]


def needs(rule: Rule) -> Needs:
    """The masks of a rule's literals."""
    first = sum(_BITS[one] for one in set(rule.needs))
    return Needs(first, sum(_BITS[one] for one in set(rule.also)))


def _mask(token: str) -> int:
    """The bits of one token: concepts, literals, or that it ends a sentence."""
    if token in sentences.SIGNS:
        return _SIGN_BITS[token]
    parts = sentences.words(token)
    if len(parts) == 1 and parts[0] == token:
        return _word_bits(token)
    found = _ODD
    for part in parts:
        found |= _word_bits(part)
    return found


def _word_bits(word: str) -> int:
    found = lexicon.LEXICON.masks.get(lexicon.concept_char(word), 0)
    if word in lexicon.KEYS:
        found |= _KEY
    # A blank at an end of a literal is an end of the word.
    padded = f" {word} "
    starts = {padded[place : place + _START] for place in range(len(word))}
    for start in _STARTS.intersection(starts):
        for literal, bit in _IN_WORDS[start]:
            if literal in padded:
                found |= bit
    return found | _shape_bits(word)


def _masks(tokens: list[str]) -> list[int]:
    """The bits of every token; each distinct word is looked into only once."""
    known = _memory[0]
    if len(known) > _MAX_KNOWN:
        known = _memory[0] = {}
    hashes = list(map(hash, tokens))
    fresh = set(hashes).difference(known)
    if fresh:
        words = dict(zip(hashes, tokens, strict=True))
        known.update((number, _mask(words[number])) for number in fresh)
    return list(map(known.__getitem__, hashes))


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
    tokens.append(sentences.END)
    masks = _masks(tokens)
    found: list[Stretch] = []
    first = 0
    for number in range(tokens.count(sentences.END)):
        place = tokens.index(sentences.END, first)
        mask = reduce(or_, masks[first:place], 0)
        if mask & _KEY:
            mask |= _phrases(tokens[first:place], mask)
        found.append(Stretch(number, mask))
        first = place + 1
    return found


def _phrases(tokens: list[str], mask: int) -> int:
    words = sentences.words(" ".join(tokens)) if mask & _ODD else tokens
    return lexicon.phrases_in(words)
