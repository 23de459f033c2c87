"""Untrusted text, escaped for one line of a prompt block.

The result has no line break, no control, direction or invisible character, no
angle bracket of any alphabet, and nowhere the name of the block's own tag, however it
was spelled: in full width, in look-alike letters, or split by invisible characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from memory.rules import prompt_fence

NAME: Final = "recalledmemory"
REPLACEMENT: Final = "[tag]"
BREAK: Final = " ⏎ "
# More combining marks than this on one letter cover the lines around it.
MOST_MARKS: Final = 3
_SPACES: Final = "\t\u2800"
_FILLERS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Letters and signs of other scripts that pass for those of NAME, by code point, so
# that this file has no look-alikes in it. ``i`` becomes ``l`` after folding.
_PASSES: Final = {
    "r": (0x0433, 0x1D26, 0x13A1, 0x13D2, 0x2C85, 0xAB47, 0xAB48, 0xAB81),
    "e": (0x0435, 0x0454, 0x04BD, 0x03B5, 0x212E, 0x0258, 0x025B, 0x1D07, 0x13AC,
          0x2C89, 0x22FF, 0xAB32, 0x33, 0x0190),
    "c": (0x0441, 0x03F2, 0x1D04, 0x13DF, 0x2CA5, 0xABAF, 0x217D, 0x00A2, 0x1043D),
    "a": (0x0430, 0x03B1, 0x0251, 0x13AA, 0x237A, 0x0391, 0x40, 0x34),
    "l": (0x69, 0x31, 0x7C, 0x0131, 0x0456, 0x04CF, 0x03B9, 0x01C0, 0x05C0, 0x05D5,
          0x05DF, 0x0627, 0x07CA, 0x2223, 0x2C93, 0x2D4F, 0xA4F2, 0x13DE, 0x16C1,
          0x23FD, 0x0661, 0x06F1, 0x1028A, 0x217C, 0x21),
    "d": (0x0501, 0x13E7, 0x146F, 0xA4D2, 0x13A0, 0x217E, 0xA4D3),
    "m": (0x043C, 0x1D0D, 0x13B7, 0x03FB, 0x2C99, 0x16D6, 0x217F, 0x028D),
    "o": (0x043E, 0x03BF, 0x0585, 0x05E1, 0x0647, 0x06BE, 0x06C1, 0x06D5, 0x0966,
          0x0A66, 0x0AE6, 0x0C66, 0x0E50, 0x0ED0, 0x101D, 0x1040, 0x1D0F, 0x2C9F,
          0x2D54, 0xA4F3, 0x0D20, 0x30, 0x03C3, 0x25CB, 0x3007, 0x0665, 0x07C0, 0xD20),
    "y": (0x0443, 0x04AF, 0x03B3, 0x03C5, 0x10E7, 0x0263, 0x1D8C, 0x1EFF, 0x028F,
          0x213D, 0x2CA9, 0x13A9, 0x13BD, 0xAB5A),
}  # fmt: skip
_LOOKS: Final = {chr(code): name for name, codes in _PASSES.items() for code in codes}
_LETTER_NAME: Final = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR|TAG|SQUARED|CIRCLED)\b.*?"
    r"(?:LETTER|SYMBOL LETTER)(?: SMALL CAPITAL)? ([A-Z])\b"
)
# The two words as an ordinary sentence spells them; a tag is not spelled so.
_PLAIN: Final = re.compile(r"recalled[ .,;:!?)]* memory", re.IGNORECASE)


@lru_cache(maxsize=1 << 14)
def _letters(char: str) -> str:
    """Return the letters a character may be taken for, "" for anything else."""
    letters = []
    for part in unicodedata.normalize("NFKD", char).casefold():
        letter = _LOOKS.get(part)
        if letter is None and not part.isascii():
            match = _LETTER_NAME.match(unicodedata.name(part, ""))
            letter = match[1].lower() if match else None
            letter = _LOOKS.get(letter, letter) if letter else None
        if letter is None and part.isalnum():
            letter = part
        letters.append(letter or "")
    return "".join(letters)


def _skeleton(text: str) -> tuple[str, list[int]]:
    """Return the letters of a text as they look, and the position of each in it."""
    letters, at = [], []
    for place, char in enumerate(text):
        for letter in _letters(char):
            letters.append(letter)
            at.append(place)
    return "".join(letters), at


_TAG: Final = re.compile(
    NAME.replace("i", "l").replace("m", "(?:m|rn|nn)").replace("d", "(?:d|cl)")
)


def _is_sentence(text: str, first: int, last: int) -> bool:
    """Whether the two words are part of a sentence: spaced, no tag before them."""
    before = text[:first].rstrip()[-1:]
    honest = not before or before.isalnum() or before in ".,;:!?'\"()"
    return honest and _PLAIN.fullmatch(text[first:last]) is not None


def nameless(text: str) -> str:
    """Return a text in which the block's name is not spelled as a tag spells it."""
    skeleton, at = _skeleton(text)
    out, end = [], 0
    for match in _TAG.finditer(skeleton):
        first, last = at[match.start()], at[match.end() - 1] + 1
        if first < end or _is_sentence(text, first, last):
            continue
        out += [text[end:first], REPLACEMENT]
        end = last
    return "".join((*out, text[end:]))


def _visible(char: str) -> str:
    """Return the replacement of one character: itself, a sign, a space or nothing."""
    category = unicodedata.category(char)
    if char in "\n\r\v\f\x1c\x1d\x1e\x85" or category in ("Zl", "Zp"):
        return BREAK
    if category == "Zs" or char in _SPACES:
        return " "
    if category in _HIDDEN or char in _FILLERS or "VARIATION SELECTOR" in _name(char):
        return ""
    return char


@lru_cache(maxsize=1 << 14)
def _name(char: str) -> str:
    return "" if char.isascii() else unicodedata.name(char, "")


def _thin(text: str) -> str:
    """Return a text in which no letter carries more than a few marks."""
    out, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if marks <= MOST_MARKS:
            out.append(char)
    return "".join(out)


def visible(text: str) -> str:
    """Return a text on one line, with nothing in it that cannot be seen."""
    characters = "".join(_visible(char) for char in text.replace("\r\n", "\n"))
    return " ".join(_thin(characters).split())


def _escaped(text: str) -> str:
    out = []
    # An angle bracket with a mark over it composes into another sign; both go.
    for char in text.replace("&", "&amp;"):
        base = unicodedata.normalize("NFKD", char)
        if any(sign in prompt_fence.LESS for sign in (char, *base)):
            out.append("&lt;")
        elif any(sign in prompt_fence.GREATER for sign in (char, *base)):
            out.append("&gt;")
        else:
            out.append(char)
    return "".join(out)


def line(text: str) -> str:
    """Return untrusted text escaped for one line of the block."""
    return _escaped(nameless(visible(text)))
