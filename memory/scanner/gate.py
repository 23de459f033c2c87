"""A cheap prefilter: which rules could match a sentence at all.

Every concept a rule needs is one bit. The bits of a word are computed once and cached,
so that ordinary text costs one look-up a word.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from memory.scanner import concepts, lexicon, sentences, word_lists

_BITS_OF = lexicon.LEXICON.bits
_KEY_WORDS = frozenset({"rsa", "ed25519", "passwd", "shadow", "pem", "kube"})
_MIN_DIGITS = 4
# A word by which phrases of the lexicon are looked for.
_KEY = 1 << len(_BITS_OF)
# A word by which phrases of the lists by concept are looked for.
_CONCEPT_KEY = _KEY << 1
# From this bit on: what the words may stand for in each language.
_CONCEPTS = _CONCEPT_KEY.bit_length()
_SIGN_BITS = {
    sentences.END: 0,
    sentences.LINK: _BITS_OF["URL"] | word_lists.of_shapes("link") << _CONCEPTS,
    sentences.FILE: _BITS_OF["KEYFILE"],
    sentences.AT: _BITS_OF["MAIL"] | word_lists.of_shapes("mail") << _CONCEPTS,
}
_MAX_KNOWN = 1 << 17
# The hash of a token → its bits. A word cannot be read back from its hash, so that
# names and numbers of one text are not kept for the next.
_memory: list[dict[int, int]] = [{}]


def _mask(token: str) -> int:
    """The bits of one token; the end of a sentence has none."""
    if token in sentences.SIGNS:
        return _SIGN_BITS[token]
    return _word_bits(token)


def _word_bits(word: str) -> int:
    mask = lexicon.LEXICON.masks.get(lexicon.concept_char(word), 0)
    if word in lexicon.KEYS:
        mask |= _KEY
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
    """The concepts of each language in a sentence's bits."""
    return mask >> _CONCEPTS


def masks(text: str) -> list[int]:
    """The bits of everything that each sentence holds."""
    tokens = sentences.tokens(text)
    tokens.append(sentences.END)
    token_masks = _token_masks(tokens)
    keys = [at for at, own in enumerate(token_masks) if own & _CONCEPT_KEY]
    for at, own in concepts.in_phrases(tokens, keys):
        token_masks[at] |= own << _CONCEPTS
    result: list[int] = []
    first = 0
    for _ in range(tokens.count(sentences.END)):
        place = tokens.index(sentences.END, first)
        mask = reduce(or_, token_masks[first:place], 0)
        if mask & _KEY:
            mask |= lexicon.phrases_in(tokens[first:place])
        result.append(mask)
        first = place + 1
    return result
