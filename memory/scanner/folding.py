"""The form of a text in which words are compared, character by character."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from memory.scanner import invisible

# Alphabets before this one write accents that many people leave out.
_LAST_FOLDED: Final = 0x530
_APOSTROPHES: Final = "\u2018\u2019\u02bc\u00b4"
# White letters on a dark ground.
_NEGATIVE: Final = ((0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F130, 0x1F149))
# What Arabic, Persian, Urdu and Hindi writers use in either form, or leave out.
_VARIANTS: Final = {
    **dict.fromkeys("\u0623\u0625\u0622\u0671", "\u0627"),
    **dict.fromkeys("\u0649\u06cc", "\u064a"),
    "\u0629": "\u0647",
    "\u06a9": "\u0643",
    "\u0640": "",
    "\u093c": "",
    "\u0901": "\u0902",
}
_VOWEL_SIGNS: Final = ((0x300, 0x36F), (0x64B, 0x652), (0x670, 0x670))
# Each ends a line, as both of the first two together do.
_LINE_ENDS: Final = "\r\n\v\f\x85\u2028\u2029"
# Parts that are put together before they are folded, as one of them tells nothing:
# Korean letters, signs of Japanese and Arabic ones, the end of a line, and what sets
# the colour or the title of a terminal.
DECOMPOSED: Final = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\u3046-\u30fd][\u3099\u309a]"
    "|[\uff66-\uff9d][\uff9e\uff9f]|[\u0627-\u06d5][\u0653-\u0655]|\r\n"
    r"|(?:\x1b\[|\x9b)[0-9;:?]{0,20}[@-~]|\x1b\][^\x07\x1b]{0,80}(?:\x07|\x1b\\)"
)
# It holds at least one of these.
DECOMPOSED_SIGNS: Final = frozenset(
    "\r\x1b\x9b\u3099\u309a\uff9e\uff9f\u0653\u0654\u0655"
).union(map(chr, range(0x1161, 0x1176)))


@lru_cache(maxsize=16384)
def fold_char(char: str) -> str:
    """What rules read for one character; empty for an invisible one."""
    code = ord(char)
    if invisible.ANY.match(char):
        return ""
    if char in _LINE_ENDS:
        return "\n"
    if char in _APOSTROPHES:
        return "'"
    for first, last in _NEGATIVE:
        if first <= code <= last:
            return chr(97 + code - first)
    compatible = unicodedata.normalize("NFKC", char).lower()
    if len(compatible) > 1 and _is_sign(char) and compatible.isalpha():
        return " "
    return "".join(_base(part) for part in compatible)


def _is_sign(char: str) -> bool:
    """Whether it stands for a word, as a trade mark, and belongs to none beside it.

    That of a number is read as its letters: policy asks for numbers of records.
    """
    return unicodedata.category(char)[0] == "S" and char != "\u2116"


def _base(char: str) -> str:
    code = ord(char)
    if any(first <= code <= last for first, last in _VOWEL_SIGNS):
        return ""
    if char in _VARIANTS:
        return _VARIANTS[char]
    base = unicodedata.normalize("NFD", char)[0]
    if base == "\u0131":
        return "i"
    return base if ord(base) < _LAST_FOLDED else char


def folded(text: str) -> str:
    """The folded form of a text, without offsets."""
    if text.isascii() and not invisible.controls(text):
        return text.lower()
    return "".join(map(fold_char, DECOMPOSED.sub(composed, text)))


def composed(match: re.Match[str]) -> str:
    """The one character for the parts that were matched; none for a colour."""
    parts = match.group()
    if parts[0] in "\x1b\x9b":
        return ""
    return "\n" if parts == "\r\n" else unicodedata.normalize("NFKC", parts)
