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
from memory.scanner.views import View, beyond_ascii

# Letters of other scripts that pass for Latin ones. Kept as code points so that
# this file itself stays free of look-alikes.
_LOOKALIKES = {
    0x0430: "a",
    0x0435: "e",
    0x043E: "o",
    0x0440: "p",
    0x0441: "c",
    0x0443: "y",
    0x0445: "x",
    0x0455: "s",
    0x0456: "i",
    0x0458: "j",
    0x04BB: "h",
    0x0501: "d",
    0x051B: "q",
    0x051D: "w",
    0x0475: "v",
    0x043C: "m",
    0x043D: "h",
    0x0442: "t",
    0x043A: "k",
    0x0432: "b",
    0x0433: "r",
    0x0438: "u",
    0x043F: "n",
    0x04CF: "l",
    0x0561: "w",
    0x0578: "n",
    0x057D: "u",
    0x0585: "o",
    0x0570: "h",
    0x0566: "q",
    0x0581: "g",
    0x03B1: "a",
    0x03B2: "b",
    0x03B5: "e",
    0x03B7: "n",
    0x03B9: "i",
    0x03BA: "k",
    0x03BD: "v",
    0x03BF: "o",
    0x03C1: "p",
    0x03C4: "t",
    0x03C5: "u",
    0x03C7: "x",
    0x03C9: "w",
    0x03B3: "y",
    0x03C3: "o",
    0x03F2: "c",
    0x0261: "g",
    0x026A: "i",
    0x0274: "n",
    0x0280: "r",
    0x1D00: "a",
    0x0299: "b",
    0x1D04: "c",
    0x1D05: "d",
    0x1D07: "e",
    0xA730: "f",
    0x0262: "g",
    0x029C: "h",
    0x1D0A: "j",
    0x1D0B: "k",
    0x029F: "l",
    0x1D0D: "m",
    0x1D0F: "o",
    0x1D18: "p",
    0xA731: "s",
    0x1D1B: "t",
    0x1D1C: "u",
    0x1D20: "v",
    0x1D21: "w",
    0x028F: "y",
    0x1D22: "z",
    0x0131: "i",
    0x0269: "i",
    0x0251: "a",
    0x0250: "a",
    0x025B: "e",
    0x13A5: "i",
    0x13D2: "r",
    0x13AA: "g",
    0x13E2: "p",
    0x13DA: "s",
    0x1E9F: "d",
    0x01C0: "l",
    0x2C81: "a",
    0x2C89: "e",
    0x2C9F: "o",
    0x2CA3: "p",
    0x2CA5: "c",
}
_BORROWED = frozenset(map(chr, _LOOKALIKES))
# Words in a script of their own where accents are optional lose them.
_LAST_FOLDED = 0x530
_WORD = re.compile(r"[^\W\d_]{3,40}")
_APOSTROPHES = "\u2018\u2019\u02bc\u00b4"
_LATIN = re.compile("[a-z]")
_MIN_WORD, _MIN_WHOLE, _FEW_CHARS = 4, 5, 24
_NEGATIVE = ((0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F130, 0x1F149))
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff](?: ?[\U0001f1e6-\U0001f1ff]){2,}")
_APART = re.compile("[\U0001f1e6-\U0001f1ff](?: [\U0001f1e6-\U0001f1ff]){3,}")


@lru_cache(maxsize=16384)
def fold_char(char: str) -> str:
    """What rules read for one character; empty for an invisible one."""
    code = ord(char)
    if invisible.ANY.match(char):
        return ""
    for first, last in _NEGATIVE:
        if first <= code <= last:
            return chr(97 + code - first)
    folded = unicodedata.normalize("NFKC", char).lower()
    return "".join(_base(part) for part in folded)


def _base(char: str) -> str:
    if char in _APOSTROPHES:
        return "'"
    base = unicodedata.normalize("NFD", char)[0]
    if 0x300 <= ord(char) < 0x370:
        return ""
    if ord(base) == 0x131:
        return "i"
    return base if ord(base) < _LAST_FOLDED else char


def normalise(view: View) -> View:
    """The folded view, with the same offsets where lengths stay equal."""
    text = view.text
    if text.isascii():
        return replace(view, text=text.lower())
    beyond = set(beyond_ascii(text))
    table = {char: fold_char(char) for char in beyond}
    odd = "".join(char for char, folded in table.items() if len(folded) != 1)
    plain = {ord(char): letter for char, letter in table.items() if len(letter) == 1}
    if not odd:
        return replace(view, text=_translate(text, plain))
    pieces: list[tuple[str, int, int]] = []
    position = 0
    for match in re.finditer(f"[{re.escape(odd)}]+", text):
        start, end = match.span()
        pieces.append((_translate(text[position:start], plain), position, start))
        pieces.append(("".join(map(fold_char, match.group())), start, end))
        position = end
    pieces.append((_translate(text[position:], plain), position, len(text)))
    return view.derive(pieces, kind=view.kind, hidden=False)


def _translate(text: str, table: dict[int, str]) -> str:
    """Replace single characters; few distinct ones are replaced one by one, faster."""
    if text.isascii():
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
    pieces: list[tuple[str, int, int]] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for match in _WORD.finditer(view.text):
        plain = _unmask_word(match.group())
        if not plain:
            continue
        start, end = match.span()
        pieces.append((view.text[position:start], position, start))
        pieces.append((plain, start, end))
        spans.append((start, end))
        position = end
    if not pieces:
        return None, []
    pieces.append((view.text[position:], position, len(view.text)))
    return view.derive(pieces, kind="lookalike"), spans


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
    pieces: list[tuple[str, int, int]] = []
    position = 0
    for match in invisible.RUN.finditer(text):
        start, end = match.span()
        pieces.append((folded(text[position:start]), position, start))
        pieces.append((" ", start, end))
        position = end
    pieces.append((folded(text[position:]), position, len(text)))
    return View(text).derive(pieces, kind="spread")


def flag_letters(text: str) -> View | None:
    """Letters written with flag symbols; real flags come in pairs."""
    if not _REGIONAL.search(beyond_ascii(text)) or not _REGIONAL.search(text):
        return None
    letters = {0x1F1E6 + number: chr(97 + number) for number in range(26)}
    pieces: list[tuple[str, int, int]] = []
    position = 0
    for match in _APART.finditer(text):
        start, end = match.span()
        run = match.group().replace(" ", "").translate(letters)
        pieces.append((text[position:start].translate(letters), position, start))
        pieces.append((" ".join(segment.segment(run)), start, end))
        position = end
    pieces.append((text[position:].translate(letters), position, len(text)))
    return View(text).derive(pieces, kind="flag_letters")


def folded(text: str) -> str:
    """The folded form of a short text, without offsets."""
    return text.lower() if text.isascii() else "".join(map(fold_char, text))
