"""Invisible characters: which are ordinary and which carry a hidden channel.

Emoji flags, joiners in emoji, Persian and Indic joiners, direction marks and single
soft hyphens are ordinary writing. Tag characters, runs of variation selectors, runs
of zero-width characters and zero-width characters between Latin letters are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner.views import beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Iterator

ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u180e\u2061\u2062\u2063\u2064\u034f"
FILLERS = "\u115f\u1160\u3164\uffa0"
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
SOFT_HYPHEN = "\u00ad"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
# Programs leave out what these stand for, or never show it: variants of Mongolian
# letters, deprecated and reserved formats, notes between lines, marks of music.
_UNSHOWN = (
    "\u17b4\u17b5\u180b-\u180f\u2065\u206a-\u206f\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff"
)
# All but blanks; a NUL ends a sentence.
_ASCII_CONTROLS = "\x01-\x08\x0e-\x1b\x7f"
_CONTROLS = f"{_ASCII_CONTROLS}\x80-\x84\x86-\x9f"
_NO_CONTROL = re.sub(f"[{_ASCII_CONTROLS}\v-\r]".encode(), b"", bytes(range(256)))
ANY = re.compile(
    f"[{ZERO_WIDTH}{FILLERS}{BIDI}{SOFT_HYPHEN}{_SELECTORS}{_TAGS}{_UNSHOWN}{_CONTROLS}]"
)
RUN = re.compile(f"{ANY.pattern}+")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f")
_TAG_RUN = re.compile(f"[{_TAGS}]+")
_SELECTOR_RUN = re.compile(f"[{_SELECTORS}]{{2,}}")
_ZERO_RUN = re.compile(f"[{ZERO_WIDTH}{FILLERS}]{{2,}}")
_IN_WORD = re.compile(f"(?<=[A-Za-z])[{ZERO_WIDTH}{FILLERS}]+(?=[A-Za-z])")
_OVERRIDE = re.compile("[\u202d\u202e][^\u202c\u2069\n]{1,2000}")
_MIN_RUN, _MIN_IN_WORD, _MIN_TAGS = 6, 3, 2
_BYTE = 8


class Channel(NamedTuple):
    """A hidden channel: what kind, where, and what it says when that can be read."""

    kind: str
    start: int
    end: int
    decoded: str


def has_any(text: str) -> bool:
    return any(ANY.match(char) for char in controls(text)) or (
        ANY.search(beyond_ascii(text)) is not None
    )


def controls(text: str) -> set[str]:
    """The control characters of ASCII that the text has, but blanks and a NUL."""
    encoded = text.encode("utf-8", "surrogatepass")
    return set(encoded.translate(None, _NO_CONTROL).decode())


def channels(text: str) -> list[Channel]:
    """Return hidden channels in the text; ordinary uses are no channels."""
    return [*_tags(text), *_runs(text), *_in_words(text), *_overrides(text)]


def _tags(text: str) -> Iterator[Channel]:
    flags = {match.start() + 1 for match in _FLAG.finditer(text)}
    for match in _TAG_RUN.finditer(text):
        if match.start() not in flags and len(match.group()) >= _MIN_TAGS:
            codes = (ord(char) - 0xE0000 for char in match.group())
            decoded = "".join(chr(code) for code in codes if 0x20 <= code < 0x7F)
            yield Channel("tag_characters", *match.span(), decoded)


def _runs(text: str) -> Iterator[Channel]:
    for match in _SELECTOR_RUN.finditer(text):
        if len(match.group()) > _MIN_TAGS:
            decoded = _unselect(match.group())
            yield Channel("variation_selectors", *match.span(), decoded)
    for match in _ZERO_RUN.finditer(text):
        if len(match.group()) >= _MIN_RUN:
            yield Channel("zero_width", *match.span(), _bits(match.group()))


def _in_words(text: str) -> Iterator[Channel]:
    inside = [match.span() for match in _IN_WORD.finditer(text)]
    if len(inside) >= _MIN_IN_WORD:
        yield Channel("zero_width", inside[0][0], inside[-1][1], "")


def _overrides(text: str) -> Iterator[Channel]:
    for match in _OVERRIDE.finditer(text):
        if re.search("[A-Za-z]{3}", match.group()):
            yield Channel("bidi_override", *match.span(), match.group()[:0:-1])


def _unselect(run: str) -> str:
    codes = (ord(char) for char in run)
    values = bytes(
        code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes
    )
    return _printable(values)


def _bits(run: str) -> str:
    """Read two or more kinds of zero-width characters as ones and zeros."""
    kinds = sorted(set(run))
    for one_kind in kinds:
        bits = "".join("1" if char == one_kind else "0" for char in run)
        usable = len(bits) - len(bits) % _BYTE
        values = bytes(int(bits[i : i + _BYTE], 2) for i in range(0, usable, _BYTE))
        decoded = _printable(values)
        if decoded:
            return decoded
    return ""


def _printable(values: bytes) -> str:
    text = values.decode("utf-8", errors="replace").strip("\0")
    return text if text and text.isprintable() and "\ufffd" not in text else ""
