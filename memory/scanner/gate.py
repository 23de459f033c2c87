"""A cheap prefilter: which rules could match a sentence at all.

Every concept and every literal a rule needs is one bit. The bits of a word are computed
once and cached, so that ordinary text costs one look-up a word.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_

from memory.scanner import concepts, lexicon, registry, sentences
from memory.scanner.model import Family, Rule

_BITS_OF = lexicon.LEXICON.bits
_FIRST = len(_BITS_OF)
_KEY_WORDS = frozenset({"rsa", "ed25519", "passwd", "shadow", "pem", "kube"})
_MIN_DIGITS = 4


def _literals() -> dict[str, int]:
    bits: dict[str, int] = {}
    for rule in registry.RULES:
        if rule.family is not Family.SECRETS:
            for literal in (*rule.needs, *rule.also):
                bits.setdefault(literal, 1 << (_FIRST + len(bits)))
    return bits


_BITS = _literals()
_BREAK = 1 << (_FIRST + len(_BITS))
_KEY = _BREAK << 1
# A word by which phrases of the lists by concept are looked for.
_CONCEPT_KEY = _KEY << 1
# From this bit on: what the words may stand for in each language.
_CONCEPTS = _CONCEPT_KEY.bit_length()
_SIGN_BITS = {
    sentences.END: _BREAK,
    sentences.LINK: _BITS_OF["URL"] | concepts.of_shapes("link") << _CONCEPTS,
    sentences.FILE: _BITS_OF["KEYFILE"],
    sentences.AT: _BITS_OF["MAIL"] | concepts.of_shapes("mail") << _CONCEPTS,
}
# Literals without signs are found word by word, the others in the whole text.
_WORDLIKE = re.compile(r" ?[a-z0-9'-]+ ?")
_WITH_SIGNS = tuple(item for item in _BITS.items() if not _WORDLIKE.fullmatch(item[0]))
_MAX_KNOWN, _START = 1 << 17, 3


# The first three characters of a literal → the literals that begin so.
_IN_WORDS = lexicon.grouped(
    (literal[:_START], (literal, bit))
    for literal, bit in _BITS.items()
    if _WORDLIKE.fullmatch(literal)
)
_STARTS = frozenset(_IN_WORDS)
# The hash of a token → its bits. Hashes differ in every process and say nothing about
# the word, so that names and numbers of one text are not kept for the next.
_memory: list[dict[int, int]] = [{}]


def needs(rule: Rule) -> tuple[int, int]:
    """Two masks of a rule's literals; a text has one bit of each that is not 0."""
    first = sum(_BITS[literal] for literal in set(rule.needs))
    return first, sum(_BITS[literal] for literal in set(rule.also))


def _mask(token: str) -> int:
    """The bits of one token: concepts, literals, or that it ends a sentence."""
    if token in sentences.SIGNS:
        return _SIGN_BITS[token]
    return _word_bits(token)


def _word_bits(word: str) -> int:
    mask = lexicon.LEXICON.masks.get(lexicon.concept_char(word), 0)
    if word in lexicon.KEYS:
        mask |= _KEY
    # A blank at an end of a literal is an end of the word.
    padded = f" {word} "
    starts = {padded[place : place + _START] for place in range(len(word))}
    for start in _STARTS.intersection(starts):
        for literal, bit in _IN_WORDS[start]:
            if literal in padded:
                mask |= bit
    if sum(map(str.isdigit, word)) >= _MIN_DIGITS or word[:2] == "0x":
        mask |= _BITS_OF["ACCTNO"]
    mask |= concepts.possible(word) << _CONCEPTS
    if concepts.is_key(word):
        mask |= _CONCEPT_KEY
    return mask | (_BITS_OF["KEYFILE"] if word in _KEY_WORDS else 0)


def _token_masks(tokens: list[str]) -> list[int]:
    """The bits of every token; those of a distinct word are computed only once."""
    memory = _memory[0]
    if len(memory) > _MAX_KNOWN:
        memory = _memory[0] = {}
    hashes = list(map(hash, tokens))
    fresh = set(hashes).difference(memory)
    if fresh:
        words = dict(zip(hashes, tokens, strict=True))
        memory.update((number, _mask(words[number])) for number in fresh)
    return list(map(memory.__getitem__, hashes))


def concepts_in(mask: int) -> int:
    """The concepts of each language in a sentence's bits; any, where these are -1."""
    return mask >> _CONCEPTS


def literals_with_signs(text: str) -> int:
    """The bits of literals with signs or blanks inside, found in the whole text."""
    mask = 0
    for literal, bit in _WITH_SIGNS:
        if literal in text:
            mask |= bit
    return mask


def masks(text: str) -> list[int]:
    """The bits of everything that each sentence holds."""
    tokens = sentences.tokens(text)
    tokens.append(sentences.END)
    token_masks = _token_masks(tokens)
    result: list[int] = []
    first = 0
    for _ in range(tokens.count(sentences.END)):
        place = tokens.index(sentences.END, first)
        words, bits = tokens[first:place], token_masks[first:place]
        mask = reduce(or_, bits, 0)
        if mask & _KEY:
            keys = {words[at] for at, own in enumerate(bits) if own & _KEY}
            mask |= lexicon.phrases_in(words, keys)
        if mask & _CONCEPT_KEY:
            places = [at for at, own in enumerate(bits) if own & _CONCEPT_KEY]
            mask |= concepts.in_phrases(words, places) << _CONCEPTS
        result.append(mask)
        first = place + 1
    return result
