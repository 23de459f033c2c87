"""Names as sequences of words, in texts reduced to ASCII letters.

For the second matcher of the final search; nothing is shared with ``gdpr.matching``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from anyascii import anyascii

MIN_JOINED: Final = 8
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
WORD: Final = re.compile(r"[A-Za-z0-9]+")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DIGRAPHS: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
    | {"Ä": "AE", "Ö": "OE", "Ü": "UE", "Ø": "OE", "Å": "AA"}
)
_ENDINGS: Final = ("s", "ego", "emu", "owi")
_IN_ORDER: Final = re.compile(r"[^A-Za-z0-9\x1f]{1,16}")
_TURNED: Final = re.compile(r",?[ \t+]{1,2}|[,_+\-.]|,?\r?\n[ \t]{0,4}")
_SPACE: Final = re.compile(r"\.?[ \t]{1,2}|\r?\n")
# Between two words of one name, or of a double name.
_CLOSE: Final = re.compile(r"\.?[ \t+]{0,2}|[_\-'.]")
_AS_WRITTEN: Final = re.compile(r"\.?[ \t+_\-']{1,2}|\r?\n[ \t]{0,4}")


def ascii_of(text: str) -> str:
    if text.isascii():
        return text
    return _BEYOND_ASCII.sub(lambda match: anyascii(match[0]), text)


def _with_digraphs(text: str) -> str:
    return ascii_of(unicodedata.normalize("NFC", text).translate(_DIGRAPHS))


def _shrunk(word: str) -> str:
    """Return a word with digraphs as the letters they may stand for."""
    for pair, letter in (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a")):
        word = word.replace(pair, letter)
    return word


# ── Texts ────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Token:
    """A word of a text: its spellings in small ASCII letters, and where it is."""

    spellings: frozenset[str]
    start: int
    end: int
    is_capital: bool


class Text:
    """A text reduced to ASCII, with its words."""

    def __init__(self, text: str) -> None:
        self.ascii = ascii_of(text)
        marks = list(WORD.finditer(self.ascii))
        spelled = [match[0].lower() for match in marks]
        other = spelled
        if not text.isascii():
            wide = [word.lower() for word in WORD.findall(_with_digraphs(text))]
            other = wide if len(wide) == len(spelled) else spelled
        self.words = [
            _Token(frozenset(pair), mark.start(), mark.end(), mark[0][0].isupper())
            for mark, pair in zip(marks, zip(spelled, other, strict=True), strict=True)
        ]
        self.parts = [
            _Token(
                frozenset((match[0].lower(),)),
                match.start(),
                match.end(),
                match[0][0].isupper(),
            )
            for match in _CAMEL.finditer(self.ascii)
        ]

    def between(self, left: _Token, right: _Token) -> str:
        return self.ascii[left.end : right.start]


# A stretch of a text, as offsets in its ASCII form.
Stretch = tuple[int, int]


# ── Names ────────────────────────────────────────────────────────────────────
class Name:
    """A name of two words or more, in every order that keeps surnames together."""

    def __init__(self, value: str) -> None:
        self._orders = list(_orders(value))
        self.words = self._orders[0] if self._orders else ()
        self._joined = frozenset(
            joined_text
            for order in self._orders
            for joined_text in _joined(order)
            if len(joined_text) >= MIN_JOINED
        )

    @property
    def is_sought(self) -> bool:
        return len(self.words) > 1

    def is_written_like(self, other: Name) -> bool:
        """Whether each word of two names has a spelling in common."""
        return len(self.words) == len(other.words) and not any(
            own.isdisjoint(their_words)
            for own, their_words in zip(self.words, other.words, strict=True)
        )

    def anchors(self) -> list[frozenset[str]]:
        """Return for each word the strings one of which every match contains."""
        return [spellings | {*map(_shrunk, spellings)} for spellings in self.words]

    def stretches(self, text: Text, *, exact: bool = False) -> Iterator[Stretch]:
        """Yield where a text has the name; ``exact``: only as it is registered."""
        if exact:
            yield from self._as_registered(text)
            return
        for tokens in (text.words, text.parts):
            for at, token in enumerate(tokens):
                if not token.spellings.isdisjoint(self._joined):
                    around = text.ascii[token.start - 1 : token.start]
                    around += text.ascii[token.end : token.end + 1]
                    if "@" not in around:
                        yield token.start, token.end
                for number, order in enumerate(self._orders):
                    is_turned = number > 0
                    end = _sequence(text, tokens, at, order, is_turned=is_turned)
                    if end is not None and not (
                        is_turned and _is_among_names(text, tokens, at, len(order))
                    ):
                        yield token.start, end

    def _as_registered(self, text: Text) -> Iterator[Stretch]:
        for at in range(len(text.words) - len(self.words) + 1):
            tokens = text.words[at : at + len(self.words)]
            is_name = all(
                not token.spellings.isdisjoint(word)
                for token, word in zip(tokens, self.words, strict=True)
            )
            if is_name and all(
                _AS_WRITTEN.fullmatch(text.between(left_token, right))
                for left_token, right in pairwise(tokens)
            ):
                yield tokens[0].start, tokens[-1].end


def _orders(value: str) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield the words of a name as written, then with each later part first."""
    units = []
    for unit in value.split():
        wide = [word.lower() for word in WORD.findall(_with_digraphs(unit))]
        words = [word.lower() for word in WORD.findall(ascii_of(unit))]
        pairs = zip(words, wide if len(wide) == len(words) else words, strict=True)
        if words:
            units.append([frozenset(pair) for pair in pairs])
    for first in range(len(units)):
        turned_orders = units[first:] + units[:first]
        yield tuple(word for unit in turned_orders for word in unit)


def _joined(order: Sequence[frozenset[str]]) -> Iterator[str]:
    """Yield a name written as one word."""
    if len(order) > 1:
        yield "".join(min(word, key=len) for word in order)
        yield "".join(max(word, key=len) for word in order)


def _is_word(token: _Token, word: frozenset[str], *, is_last: bool) -> bool:
    if not token.spellings.isdisjoint(word):
        return True
    return is_last and any(
        spelling.removesuffix(ending) in word
        for spelling in token.spellings
        for ending in _ENDINGS
        if spelling.endswith(ending)
    )


def _sequence(
    text: Text,
    tokens: Sequence[_Token],
    at: int,
    order: Sequence[frozenset[str]],
    *,
    is_turned: bool,
) -> int | None:
    """Return where a name ends that begins at a token; None when none does.

    One capitalised word may stand between two words of a name: a middle name.
    """
    if not _is_word(tokens[at], order[0], is_last=False):
        return None
    gaps, separator = 1, _TURNED if is_turned else _IN_ORDER
    for number, word in enumerate(order[1:], 1):
        is_last = number == len(order) - 1
        if at + 1 == len(tokens):
            return None
        between = text.between(tokens[at], tokens[at + 1])
        if _is_word(tokens[at + 1], word, is_last=is_last):
            # Two parts of a word in capitals and small letters have nothing between.
            is_near = not between and tokens is text.parts
            if not is_near and not separator.fullmatch(between):
                return None
            at += 1
            continue
        if (
            is_turned
            or not gaps
            or not _is_middle(text, tokens, at, word, is_last=is_last)
        ):
            return None
        gaps, at = 0, at + 2
    return tokens[at].end


def _is_among_names(text: Text, tokens: Sequence[_Token], at: int, length: int) -> bool:
    """Whether a turned name may be the ends of two names of a list.

    “Anna Keller, Maria Berg” is not about Maria Keller. Among small letters any word
    beside it may be a name.
    """
    name = tokens[at : at + length]
    inner = "".join(
        text.between(left_token, right) for left_token, right in pairwise(name)
    )
    is_small = not all(token.is_capital for token in name)
    is_prose = re.search(r"[\s,+]", inner) is not None
    pairs = []
    if at > 0:
        pairs.append((tokens[at - 1], text.between(tokens[at - 1], name[0])))
    if at + length < len(tokens):
        after = tokens[at + length]
        pairs.append((after, text.between(name[-1], after)))
    return any(
        _CLOSE.fullmatch(between) is not None
        and text.ascii[neighbour.start].isalpha()
        and (neighbour.is_capital or (is_small and is_prose))
        for neighbour, between in pairs
    )


def _is_middle(
    text: Text,
    tokens: Sequence[_Token],
    at: int,
    word: frozenset[str],
    *,
    is_last: bool,
) -> bool:
    """Whether a middle name follows a token, and then the next word of the name."""
    three = tokens[at : at + 3]
    if len(three) < 3 or not _is_word(three[2], word, is_last=is_last):
        return False
    first, middle, last = three
    return (
        all(token.is_capital for token in three)
        and text.ascii[middle.start : middle.end].isalpha()
        and _SPACE.fullmatch(text.between(first, middle)) is not None
        and _SPACE.fullmatch(text.between(middle, last)) is not None
    )
