"""Folds text: no case, accents or escapes, with offsets back into the original.

A view is the folded text with the offset of each of its characters in the original. The
plain view folds the text as written; further views first resolve JSON, percent and HTML
escapes, because a payload may carry text that was escaped once or twice, the signs of
quoted-printable, and encoded tokens (``encodings``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from gdpr.matching import encodings, escapes, line_breaks, name_fields

# Letters that carry a stroke or are two in one have no decomposition in Unicode.
_STROKES: Final = dict(
    zip("łøđħŧıæœðþŋ", "l o d h t i ae oe d th n".split(), strict=True)
)
_IGNORED: Final = frozenset("\u034f\u20e3")
_LEVELS: Final = 3


def _ranges(wanted_points: Iterable[int]) -> str:
    """Return code points as the inside of a character class."""
    points = sorted(wanted_points)
    if not points:
        return ""
    breaks = [b for a, b in pairwise(points) if b != a + 1]
    ends = [a for a, b in pairwise(points) if b != a + 1]
    pairs = zip([points[0], *breaks], [*ends, points[-1]], strict=True)
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in pairs)


# Scripts without spaces between words: a name there has no word boundary.
UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff"
    "\u31f0-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
)
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
# Vowel signs are part of a word, though ``\w`` does not match them.
_SIGNS: Final = _ranges(
    point
    for point in range(0x300, 0xAC00)
    if unicodedata.category(chr(point)).startswith("M")
    and not unicodedata.combining(chr(point))
    and not _UNSPACED.match(chr(point))
)
# One character of a word, as the inside of nothing else: an alternation of classes.
LETTER: Final = rf"(?:[^\W_{UNSPACED}]|[{_SIGNS}])"
LETTER_BEFORE: Final = rf"(?<![^\W_{UNSPACED}])(?<![{_SIGNS}])"
LETTER_AFTER: Final = rf"(?!{LETTER})"
_WORD: Final = rf"[^\W_{UNSPACED}]+(?:[{_SIGNS}]+[^\W_{UNSPACED}]*)*"
WORD: Final = re.compile(rf"{_WORD}|[{UNSPACED}]+")


def unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces."""
    return _UNSPACED.match(character) is not None


def _is_dropped(character: str) -> bool:
    """Whether a character is decoration or invisible, so that folding drops it.

    The iota below a Greek vowel is kept: in capitals it is a letter.
    """
    return character != "\u0345" and (
        unicodedata.combining(character) != 0
        or unicodedata.category(character) == "Cf"
        or character in _IGNORED
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _without_decoration(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not _is_dropped(c))


def _folded(character: str) -> str:
    folded = _without_decoration(_without_decoration(character).casefold())
    folded = "".join(_STROKES.get(c, c) for c in folded)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded)


class _Fold(dict[str, str]):
    """What each character folds to, computed once."""

    def __missing__(self, character: str) -> str:
        folded = _folded(character)
        if len(self) < 50_000:
            self[character] = folded
        return folded


_FOLD: Final = _Fold()


class _Classes(NamedTuple):
    dropped: re.Pattern[str]
    special: re.Pattern[str]


@cache
def _classes() -> _Classes:
    """Return the character classes to drop and to replace, computed once."""
    points = range(0x80, 0x10000)
    dropped_points = _ranges(point for point in points if _is_dropped(chr(point)))
    digits = _ranges(point for point in points if chr(point).isdecimal())
    special = f"[{''.join(_STROKES)}{digits}]"
    return _Classes(re.compile(f"[{dropped_points}]+"), re.compile(special))


def fold(text: str) -> str:
    """Return a text without case, accents and invisible characters.

    Equal to folding each character, in a tenth of the time.
    """
    if text.isascii():
        return text.lower()
    if max(text) > "\uffff":
        # A class that reaches beyond the basic plane is searched range by range.
        return "".join(map(_FOLD.__getitem__, text))
    decoration, special = _classes()
    folded = decoration.sub("", unicodedata.normalize("NFKD", text)).casefold()
    if not unicodedata.is_normalized("NFKD", folded):
        folded = decoration.sub("", unicodedata.normalize("NFKD", folded))
    return special.sub(lambda match: _FOLD[match[0]], folded)


_EDGES: Final = {c: " " for c in range(128) if not chr(c).isalnum()}


def words_of(folded: str) -> set[str]:
    if folded.isascii():
        return set(folded.translate(_EDGES).split())
    return set(WORD.findall(folded))


@dataclass(frozen=True, slots=True)
class View:
    """A folded text; ``starts`` and ``ends`` are offsets of its characters.

    None means the same offsets, as in ASCII text. ``cased`` has, for each character,
    the one that was folded to it: it shows capitals. ``token`` is the range of an
    encoded token whose content this is: it is one thing in the original.
    """

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None
    cased: str = ""
    token: tuple[int, int] | None = None

    def original(self, start: int, end: int) -> tuple[int, int] | None:
        """Return a range in the original; None when it would cut a character.

        A mark that belongs to a letter may be left out, another letter may not.
        """
        if self.token is not None:
            return self.token
        if self.starts is None or self.ends is None:
            return start, end
        first, last = self.starts[start], self.starts[end - 1]
        while start > 0 and self.starts[start - 1] == first:
            start -= 1
            if self.text[start].isalnum():
                return None
        while end < len(self.text) and self.starts[end] == last:
            if self.text[end].isalnum():
                return None
            end += 1
        return first, self.ends[end - 1]


def _view(units: escapes.Units) -> View:
    text: list[str] = []
    cased: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for character, start, end in units:
        folded = _FOLD[character]
        if not folded and ends and ends[-1] == start and _is_dropped(character):
            # An accent belongs to the letter before it.
            self_start = starts[-1]
            for back in range(len(ends) - 1, -1, -1):
                if starts[back] != self_start:
                    break
                ends[back] = end
        text.append(folded)
        cased.append(character * len(folded))
        starts.extend([start] * len(folded))
        ends.extend([end] * len(folded))
    return View("".join(text), starts, ends, "".join(cased))


def plain_view(text: str) -> View:
    """Return the view of a text as written, folded."""
    if text.isascii():
        return View(text.lower(), cased=text)
    return _view([(c, i, i + 1) for i, c in enumerate(text)])


def mended_view(text: str) -> View:
    """Return the view of a text whose parted words (``line_breaks``) are one."""
    return _view(_mended(escapes.units_of(text), text))


def _mended(units: escapes.Units, text: str) -> escapes.Units:
    """Return the units of a text without its line breaks inside words."""
    read: escapes.Units = []
    at = 0
    for match in line_breaks.BREAK.finditer(text):
        read += units[at : match.start()]
        at = match.end()
    return read + units[at:]


def is_encoded(text: str) -> bool:
    """Whether a text has encoded tokens or is quoted-printable."""
    return escapes.is_quoted(text) or any(True for _ in encodings.pieces(text))


def quoted_places(body: str) -> Iterator[int]:
    """Return offsets in joined texts of quoted-printable signs."""
    return (match.start() for match in escapes.QUOTED.finditer(body))


def escaped_views(text: str) -> Iterator[View]:
    """Return the further readings of a text.

    One per level of escaping, and on each level the quoted-printable text and what
    encoded tokens say; each again with its parted words as one.
    """
    tokens: set[tuple[int, int, str]] = set()
    for units in _levels(text):
        plain = text if units is None else escapes.text_of(units)
        if units is not None:
            yield from _views(units)
        is_quoted, is_query = escapes.is_quoted(plain), escapes.is_query(plain)
        pieces = list(encodings.pieces(plain))
        if not (is_quoted or is_query or pieces):
            continue
        own = units or escapes.units_of(text)
        if is_quoted:
            yield from _views(escapes.without_escapes(own, escapes.QUOTED) or [])
        if is_query:
            spaced_text = [
                (" " if c == "+" else c, start, end) for c, start, end in own
            ]
            yield from _views(escapes.without_escapes(spaced_text) or [])
        for piece in pieces:
            start, end = own[piece.start][1], own[piece.end - 1][2]
            if (start, end, piece.text) not in tokens:
                tokens.add((start, end, piece.text))
                for content in _contents(piece.text, encodings.MAX_DEPTH):
                    inner = plain_view(content)
                    yield View(inner.text, cased=inner.cased, token=(start, end))


def _views(units: escapes.Units) -> Iterator[View]:
    """Return the view of units, and the one with their parted words as one."""
    yield _view(units)
    text = escapes.text_of(units)
    if line_breaks.parts(text):
        yield _view(_mended(units, text))


def _levels(text: str) -> Iterator[escapes.Units | None]:
    """Yield None for the text as written, then the units of each level of escaping."""
    yield None
    units: escapes.Units | None = (
        escapes.units_of(text) if escapes.has_escapes(text) else None
    )
    for _ in range(_LEVELS):
        units = escapes.without_escapes(units) if units is not None else None
        if units is None:
            return
        yield units


def _contents(text: str, depth: int) -> Iterator[str]:
    """Return the readings of the content of an encoded token."""
    plain = name_fields.json_as_text(text)
    yield from _texts(plain)
    yield from _written(plain, depth - 1)


def readings(text: str, depth: int = encodings.MAX_DEPTH) -> Iterator[str]:
    """Return the texts of the escaped views, folded, without offsets."""
    return map(fold, _written(text, depth))


def _written(text: str, depth: int) -> Iterator[str]:
    """Return the texts of the escaped views, with their capitals."""
    tokens: set[str] = set()
    for level in range(_LEVELS + 1):
        if level:
            text, count = (
                escapes.ESCAPE.subn(escapes.replacement, text)
                if escapes.has_escapes(text)
                else (text, 0)
            )
            if not count:
                return
            yield from _texts(text)
        if escapes.is_quoted(text):
            yield from _texts(escapes.QUOTED.sub(escapes.replacement, text))
        if escapes.is_query(text):
            spaced_text = text.replace("+", " ")
            yield from _texts(escapes.ESCAPE.sub(escapes.replacement, spaced_text))
        for piece in encodings.pieces(text) if depth else ():
            if piece.text not in tokens:
                tokens.add(piece.text)
                yield from _contents(piece.text, depth)


def _texts(text: str) -> Iterator[str]:
    """Return a text, and the one with its parted words as one."""
    yield text
    if line_breaks.parts(text):
        yield line_breaks.joined(text)
