"""Fold a text into the form that rules read, with offsets into the original.

Compatibility forms, look-alike letters in mixed-script words and invisible
characters disappear; the original text is never replaced by the result.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache

from memory.scanner import invisible, segment
from memory.scanner.folding import DECOMPOSED, DECOMPOSED_SIGNS, fold_char, folded
from memory.scanner.views import Piece, View, beyond_ascii, replaced

# Letters of other scripts that pass for a Latin one. Written as code points so that
# this file itself stays free of look-alikes.
_SIMILAR = {
    "a": "\u0430\u03b1\u1d00\u0251\u0250\u2c81",
    "b": "\u0432\u03b2\u0299",
    "c": "\u0441\u03f2\u1d04\u2ca5",
    "d": "\u0501\u1d05\u1e9f",
    "e": "\u0435\u03b5\u1d07\u025b\u2c89",
    "f": "\ua730",
    "g": "\u0581\u0261\u0262\u13aa",
    "h": "\u04bb\u043d\u0570\u029c",
    "i": "\u0456\u03b9\u026a\u0131\u0269\u13a5",
    "j": "\u0458\u1d0a",
    "k": "\u043a\u03ba\u1d0b",
    "l": "\u04cf\u029f\u01c0",
    "m": "\u043c\u1d0d",
    "n": "\u043f\u0578\u03b7\u0274",
    "o": "\u043e\u0585\u03bf\u03c3\u1d0f\u2c9f",
    "p": "\u0440\u03c1\u1d18\u13e2\u2ca3",
    "q": "\u051b\u0566",
    "r": "\u0433\u0280\u13d2",
    "s": "\u0455\ua731\u13da",
    "t": "\u0442\u03c4\u1d1b",
    "u": "\u0438\u057d\u03c5\u1d1c",
    "v": "\u0475\u03bd\u1d20",
    "w": "\u051d\u0561\u03c9\u1d21",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u028f",
    "z": "\u1d22",
}
# Letters of Cherokee and of Lisu that pass for a capital one.
_SIMILAR_CAPITALS = {
    "a": "\u13aa\ua4ee",
    "b": "\u13f4\ua4d0",
    "c": "\u13df\ua4da",
    "d": "\u13a0\ua4d3",
    "e": "\u13ac\ua4f0",
    "f": "\ua4dd",
    "g": "\u13c0\ua4d6",
    "h": "\u13bb\ua4e7",
    "i": "\u13c6\ua4f2",
    "j": "\u13ab\ua4d9",
    "k": "\u13e6\ua4d7",
    "l": "\u13de\ua4e1",
    "m": "\u13b7\ua4df",
    "n": "\ua4e0",
    "o": "\ua4f3",
    "p": "\ua4d1",
    "r": "\ua4e3",
    "s": "\ua4e2",
    "t": "\u13a2\ua4d4",
    "u": "\ua4f4",
    "v": "\u13d9\ua4e6",
    "w": "\u13b3\ua4ea",
    "x": "\ua4eb",
    "y": "\u13a9\ua4ec",
    "z": "\u13c3\ua4dc",
}
# Words are compared in small letters, which those of Cherokee have as well.
_LOOKALIKES = {
    ord(char.lower()): letter
    for letters in (_SIMILAR, _SIMILAR_CAPITALS)
    for letter, chars in letters.items()
    for char in chars
}
_BORROWED = frozenset(map(chr, _LOOKALIKES))
_WORD = re.compile(r"[^\W\d_]{3,40}")
_LATIN = re.compile("[a-z]")
_LATIN_LETTER = "[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"
_MIN_WORD, _MIN_WHOLE, _FEW_CHARS = 4, 5, 24
_ASCII_LINE_ENDS = tuple(b"\v\f\r")
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff](?: ?[\U0001f1e6-\U0001f1ff]){2,}")
_APART = re.compile("[\U0001f1e6-\U0001f1ff](?: [\U0001f1e6-\U0001f1ff]){3,}")


def normalise(view: View) -> View:
    """The folded view, with the same offsets where lengths stay equal."""
    text = view.text
    controls = invisible.controls(text)
    if text.isascii() and not controls:
        return replace(view, text=text.lower())
    beyond = controls.union(beyond_ascii(text))
    table = {char: fold_char(char) for char in beyond}
    plain = {ord(char): letter for char, letter in table.items() if len(letter) == 1}
    uneven = _uneven(table)
    if not uneven:
        return replace(view, text=_translate(text, plain))
    parts = [
        ("" if match.lastgroup else folded(match.group()), *match.span())
        for match in re.finditer(uneven, text)
    ]
    pieces = replaced(text, parts, lambda rest: _translate(rest, plain))
    return view.derive(pieces, kind=view.kind, hidden=False)


def _uneven(table: dict[str, str]) -> str:
    """An expression for what does not fold to as many characters; empty without any.

    A mark on a Latin letter is dropped, whatever script it comes from.
    """
    # Parts of a character and colours first: a mark must not take half of one.
    forms = [] if DECOMPOSED_SIGNS.isdisjoint(table) else [DECOMPOSED.pattern]
    marks = [char for char in table if unicodedata.category(char)[0] == "M"]
    if marks:
        unseen = [char for char, letters in table.items() if not letters]
        forms.append(f"(?<={_LATIN_LETTER})(?P<mark>[{''.join(marks + unseen)}]+)")
    if odd := [char for char, letters in table.items() if len(letters) != 1]:
        forms.append(f"[{re.escape(''.join(odd))}]+")
    return "|".join(forms)


def _translate(text: str, table: dict[int, str]) -> str:
    """Replace single characters; few distinct ones are replaced one by one, faster."""
    if text.isascii() and not any(code in table for code in _ASCII_LINE_ENDS):
        return text.lower()
    if len(table) > _FEW_CHARS:
        return text.translate(table).lower()
    for code, letter in table.items():
        text = text.replace(chr(code), letter)
    return text.lower()


def unmask(view: View) -> tuple[View | None, list[tuple[int, int]]]:
    """Look-alike letters in Latin words replaced, and the spans of those words."""
    if view.text.isascii() or _BORROWED.isdisjoint(beyond_ascii(view.text)):
        return None, []
    parts = [
        (plain, *match.span())
        for match in _WORD.finditer(view.text)
        if (plain := _unmask_word(match.group()))
    ]
    if not parts:
        return None, []
    plain_view = view.derive(replaced(view.text, parts), kind="lookalike")
    return plain_view, [(start, end) for _, start, end in parts]


def forget() -> None:
    """Drop the words kept in memory: they are readable."""
    _unmask_word.cache_clear()


@lru_cache(maxsize=16384)
def _unmask_word(word: str) -> str:
    """The Latin word written with look-alikes; empty for an ordinary word."""
    if word.isascii():
        return ""
    plain = word.translate(_LOOKALIKES)
    if not plain.isascii():
        return ""
    is_mixed = _LATIN.search(word) is not None and len(word) >= _MIN_WORD
    is_known_word = len(word) >= _MIN_WHOLE and segment.is_known(plain)
    return plain if is_mixed or is_known_word else ""


def spaces_for_invisible(text: str) -> View:
    """Invisible characters read as spaces, for words glued by them."""
    parts = [(" ", *match.span()) for match in invisible.RUN.finditer(text)]
    return View(text).derive(replaced(text, parts, folded), kind="spread")


def flag_letters(text: str) -> View | None:
    """Letters written with flag symbols; real flags come in pairs."""
    if not _REGIONAL.search(beyond_ascii(text)) or not _REGIONAL.search(text):
        return None
    letters = {0x1F1E6 + number: chr(97 + number) for number in range(26)}
    parts: list[Piece] = []
    for match in _APART.finditer(text):
        run = match.group().replace(" ", "").translate(letters)
        parts.append((" ".join(segment.segment(run)), *match.span()))
    pieces = replaced(text, parts, lambda rest: rest.translate(letters))
    return View(text).derive(pieces, kind="flag_letters")
