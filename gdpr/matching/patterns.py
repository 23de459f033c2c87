"""The regular expression for each kind of alias, to match in folded text.

Input never becomes an expression: it is cut into words or escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gdpr.matching import normalize, phones
from gdpr.matching.normalize import LETTER, LETTER_AFTER, LETTER_BEFORE

_GAP: Final = rf"(?:(?!{LETTER})[^{normalize.UNSPACED}]){{1,16}}?"
_STARS: Final = 3
_RUN: Final = 40
_ID_BEFORE: Final = rf"{LETTER_BEFORE}(?<!_)"
_ID_AFTER: Final = rf"(?!{LETTER}|_)"
# ``john.anna@…`` and ``anna@example.com.br`` are somebody else's addresses.
_MAIL_BEFORE: Final = rf"{_ID_BEFORE}(?<![^\W_][._+\-'!#$%&*^])(?<!_[._+\-])"
_ENDINGS: Final = (
    "[a-z]{2}|com|org|net|info|biz|edu|gov|mil|int|app|dev|xyz|shop|site|online|cloud"
    "|local|internal|example|test|invalid"
)
_MAIL_AFTER: Final = (
    rf"{_ID_AFTER}(?!-{LETTER})(?!\.(?:{_ENDINGS}){LETTER_AFTER})"
    r"(?!\.[a-z0-9\-]{1,40}\.[a-z]{2})"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The expression of an alias, and literals that every match contains.

    ``anchor`` is a literal of every match. With ``is_word`` it is a whole word there,
    so that it can be looked up among a text's words. ``other_words`` are further
    literals: looking for them is much quicker than the expression.
    """

    anchor: str
    is_word: bool
    pattern: re.Pattern[str]
    other_words: tuple[str, ...] = ()


def words(value: str) -> list[str]:
    """Return the words of an alias, folded."""
    return normalize.WORD.findall(normalize.fold(value))


def folded(kind: str, value: str) -> str:
    """Return the comparable form of an alias: equal for two that match the same."""
    if kind == "name":
        return " ".join(words(value))
    text = "".join(normalize.fold(value).split())
    if kind == "handle":
        return text.lstrip("@")
    if kind == "phone":
        return phones.alias(value).digits
    if kind == "email":
        return text.removeprefix("mailto:").strip("<>")
    if kind == "pattern":
        return re.sub(r"\*+", "*", " ".join(normalize.fold(value).split()))
    return text


def _edges(text: str, before: str, after: str) -> tuple[str, str]:
    """Return the lookarounds of a literal; a script without spaces needs none."""
    is_single = len(text) == 1
    left_edge = "" if normalize.unspaced(text[0]) and not is_single else before
    right_edge = "" if normalize.unspaced(text[-1]) and not is_single else after
    if is_single and normalize.unspaced(text):
        neighbour = f"[{normalize.UNSPACED}]"
        return f"{left_edge}(?<!{neighbour})", f"{right_edge}(?!{neighbour})"
    return left_edge, right_edge


def _anchored(tokens: list[str], pattern: str) -> Shape | None:
    """Return a shape with the longest word as its anchor."""
    if not tokens:
        return None
    anchor = max(tokens, key=len)
    is_word = not normalize.unspaced(anchor[0])
    other_words = tuple(dict.fromkeys(word for word in tokens if word != anchor))
    return Shape(anchor, is_word, re.compile(pattern), other_words)


def _name(value: str) -> Shape | None:
    """Match the words in order; ``name_forms`` finds the other forms."""
    words_of_name = value.split()
    if not words_of_name:
        return None
    left_edge, right_edge = _edges("".join(words_of_name), LETTER_BEFORE, LETTER_AFTER)
    parts = [re.escape(word) for word in words_of_name]
    pattern = left_edge + _joined_words(words_of_name, parts) + right_edge
    return _anchored(words_of_name, pattern)


def _joined_words(words_of_name: list[str], parts: list[str]) -> str:
    pattern = parts[0]
    for before, word, part in zip(
        words_of_name, words_of_name[1:], parts[1:], strict=False
    ):
        loose = normalize.unspaced(before[-1]) or normalize.unspaced(word[0])
        pattern += (f"(?:{_GAP})?" if loose else _GAP) + part
    return pattern


def _email(value: str) -> Shape | None:
    local, at, domain = value.rpartition("@")
    if not at:
        return _literal(value)
    # What follows a plus is a label of the same mailbox.
    label = "" if "+" in local else r"(?:\+[\w.\-]{1,64})?"
    pattern = f"{re.escape(local)}{label}@{re.escape(domain)}"
    tokens = normalize.WORD.findall(local) or normalize.WORD.findall(domain)
    return _anchored(tokens, _MAIL_BEFORE + pattern + _MAIL_AFTER)


def _addressed(value: str) -> Shape | None:
    """Match a handle that is an ordinary word: only behind an @."""
    pattern = rf"{_ID_BEFORE}@{re.escape(value)}{_ID_AFTER}(?!-{LETTER})"
    return Shape(f"@{value}", is_word=False, pattern=re.compile(pattern))


def _handle(value: str) -> Shape | None:
    left_edge, right_edge = _edges(value, _ID_BEFORE, f"{_ID_AFTER}(?!-{LETTER})")
    escaped = re.escape(value)
    # Followed by an @ it is the local part of an address, unless an @ precedes it.
    pattern = f"{left_edge}@{escaped}{right_edge}|{left_edge}{escaped}{right_edge}(?!@)"
    return _anchored(normalize.WORD.findall(value), pattern)


def _literal(value: str) -> Shape | None:
    left_edge, right_edge = _edges(value, _ID_BEFORE, _ID_AFTER) if value else ("", "")
    return _anchored(
        normalize.WORD.findall(value), left_edge + re.escape(value) + right_edge
    )


def _pattern(value: str) -> Shape | None:
    """Match literal text in which a star means any run within a word."""
    pieces = value.split("*")
    if len(pieces) > _STARS + 1:
        return None
    tokens = [word for piece in pieces for word in normalize.WORD.findall(piece)]
    if not tokens:
        return None
    run = rf"(?:{LETTER}|[_{normalize.UNSPACED}]){{0,{_RUN}}}"
    inner = run.join(
        r"\s{1,4}".join(map(re.escape, re.split(r"\s", piece))) for piece in pieces
    )
    left_edge, right_edge = _edges("aa", _ID_BEFORE, _ID_AFTER)
    pattern = re.compile(left_edge + inner + right_edge)
    return Shape(max(tokens, key=len), is_word=False, pattern=pattern)


_MAKERS: Final = {
    "name": _name,
    "email": _email,
    "handle": _handle,
    "user_id": _literal,
    "pattern": _pattern,
}


def shape(kind: str, value: str, *, addressed: bool = False) -> Shape | None:
    """Return the shape of an alias; None when it cannot be found in free text.

    ``addressed``: it counts only behind an @.
    """
    text = folded(kind, value)
    if addressed:
        lettered = any(character.isalpha() for character in text)
        return _addressed(text) if kind == "handle" and lettered else None
    maker = _MAKERS.get(kind, _literal)
    return maker(text) if text else None
