"""Texts inside encoded tokens: base64, hexadecimal digits, and both compressed.

A token counts only when it decodes to text that is mostly printable: journals are full
of hashes, ids and long words. ``pieces`` reads one text exactly; ``suspects`` finds the
few places among very many texts that are worth reading, with ``unbroken`` for texts
that are not ASCII.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# What is decoded from a compressed token at most: a small one may stand for gigabytes.
MAX_INFLATED: Final = 256 * 1024
MAX_COMPRESSED_TOKENS: Final = 8
# Encodings within encodings.
MAX_DEPTH: Final = 2
MIN_BASE64: Final = 8
MIN_HEX: Final = 10
# Of a token the signs without those that fill it up; of a line that is wrapped.
MIN_TOKEN: Final = 6
MIN_WRAPPED: Final = 40
# Shorter texts in hexadecimal digits are read whole (``unbroken``).
MIN_HEX_BYTES: Final = 8
# Of ten characters so many may be unreadable.
_UNREADABLE: Final = 3
_SEPARATORS: Final = 16

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_VALUES: Final = {
    **{sign: value for value, sign in enumerate(_ALPHABET)},
    "+": 62,
    "-": 62,
    "/": 63,
    "_": 63,
}
_HEX: Final = "0123456789abcdef"
# Of these signs alone a token is a hash or an id, and no base64.
_ID_SIGNS: Final = f"{_HEX}-"
_TEXT_BYTES: Final = frozenset((0, 9, 10, 13, *range(32, 127)))
# Lines of a wrapped token are one token; lines of words are too short for that.
_TOKEN: Final = re.compile(
    rf"(?:(?:[A-Za-z0-9+/]{{4}}){{{MIN_WRAPPED // 4},}}\r?\n[ \t]{{0,4}})*"
    rf"[A-Za-z0-9+/_\-]{{{MIN_TOKEN},}}={{0,2}}"
)
_HEX_ASCII: Final = re.compile(rf"(?:[2-7][0-9A-Fa-f]){{{MIN_HEX_BYTES},}}")
_HEX_TOKEN: Final = re.compile(rf"[0-9A-Fa-f]{{{MIN_HEX},}}")
# The part before, backwards: a search for its beginning would be quadratic.
_JWT_HEAD: Final = re.compile(r"\.[\w\-]+Jye")
_JWT_TAIL: Final = re.compile(r"(?:\.[\w\-]+){1,4}")
_GARBAGE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_SPLIT: Final = re.compile(r"[+/_\-]")
# How gzip and zlib begin, and the same in base64.
_COMPRESSED: Final = (b"\x1f\x8b\x08", b"\x78\x9c")
_COMPRESSED_TOKENS: Final = (re.compile("H4sI"), re.compile("eJ[w-z]"))


class Piece(NamedTuple):
    """An encoded token, where it is in the text, and what it says."""

    start: int
    end: int
    text: str


def _may_be(position: int, value: int) -> bool:
    """Whether a sign at a position of a group of four can belong to ASCII text."""
    if position == 0:
        return any(value << 2 | low in _TEXT_BYTES for low in range(4))
    if position == 1:
        return any((value & 15) << 4 | low in _TEXT_BYTES for low in range(16))
    return value & 3 < 2


def _class(position: int) -> str:
    signs = "".join(c for c, value in _VALUES.items() if _may_be(position, value))
    return f"[{re.escape(signs)}]"


# Two groups of base64 that are six bytes of ASCII text, the second perhaps incomplete.
_GROUP: Final = f"{_class(0)}{_class(1)}{_class(2)}"
_ASCII: Final = re.compile(
    rf"{_GROUP}[A-Za-z0-9+/_\-]{_class(0)}{_class(1)}(?:{_class(2)}[A-Za-z0-9+/_=\-]|==)"
)
_OTHER: Final = re.compile(r"[A-Z0-9+/]")


def _signs(values: Callable[[int], bool]) -> str:
    return f"[{re.escape(''.join(c for c, v in _VALUES.items() if values(v)))}]"


def _utf8_tokens() -> re.Pattern[str]:
    """Return the expression of tokens of base64 whose first bytes may be UTF-8."""
    ascii_first, lead_first = _signs(lambda v: v < 32), _signs(lambda v: v >= 48)
    ascii_next = f"{_signs(lambda v: v & 15 < 8)}{_signs(lambda v: v & 3 != 2)}"
    lead_next = f"{_signs(lambda v: v & 15 >= 12)}{_signs(lambda v: v & 3 == 2)}"
    rest = _signs(lambda v: 8 <= v & 15 < 12)
    start = f"{ascii_first}(?:{ascii_next}|{lead_next})|{lead_first}{rest}"
    return re.compile(rf"(?<![A-Za-z0-9+/_\-])(?={start}){_TOKEN.pattern}")


_UTF8_TOKEN: Final = _utf8_tokens()
_DIGIT: Final = "[0-9A-Fa-f]"
_REST: Final = f"[89abAB]{_DIGIT}"
# A character of UTF-8 in hexadecimal digits; a token begins with four, or has fewer.
_UNIT: Final = (
    f"(?:[0-7]{_DIGIT}|[cCdD]{_DIGIT}{_REST}|[eE]{_DIGIT}(?:{_REST}){{2}}"
    f"|[fF]{_DIGIT}(?:{_REST}){{3}})"
)
_UTF8_HEX: Final = re.compile(
    rf"{_DIGIT}?(?:{_UNIT}{{4}}|{_UNIT}{{1,3}}{_DIGIT}?(?!{_DIGIT}))"
)


# ── One text ─────────────────────────────────────────────────────────────────
def pieces(text: str) -> Iterator[Piece]:
    """Yield the encoded tokens of a text with what they say."""
    budget = MAX_COMPRESSED_TOKENS
    for match in _TOKEN.finditer(text):
        if match.end() - match.start() < MIN_BASE64:
            continue
        for at, data in _base64(match[0]):
            if data.startswith(_COMPRESSED):
                budget -= 1
                data = _inflated(data) if budget >= 0 else b""
            reading = _said(data)
            if reading is not None:
                yield Piece(*_whole(text, match.start() + at, match.end()), reading)
    for match in _HEX_TOKEN.finditer(text):
        for data in _hexadecimal(match[0]):
            reading = _said(data)
            if reading is not None:
                yield Piece(match.start(), match.end(), reading)


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of what is to be replaced: of a JWT, all its parts."""
    if text.endswith(".", 0, start):
        head = _JWT_HEAD.match(text[max(0, start - 4096) : start][::-1])
        start -= len(head[0]) if head else 0
    if text.startswith("eyJ", start) and text.startswith(".", end):
        tail = _JWT_TAIL.match(text, end)
        end = tail.end() if tail else end
    return start, end


def _base64(token: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in the token, bytes) of its readings that may be text."""
    signs = "".join(token.split())
    is_ascii = _ASCII.search(signs) is not None
    # Small letters alone are a word.
    if not signs.strip(_ID_SIGNS) or not (is_ascii or _OTHER.search(signs)):
        return
    full_text = _decoded(signs)
    if not is_ascii and not _is_utf8(full_text):
        return
    if (
        not is_ascii
        or full_text.startswith(_COMPRESSED)
        or _said(full_text) is not None
    ):
        yield 0, full_text
        return
    ends = [match.end() for match in _SPLIT.finditer(signs)][:_SEPARATORS]
    readings = list(_texts_from(signs, ends)) or _texts_from(signs, (1, 2, 3))
    # A wrapped token is replaced as a whole.
    yield from ((at if signs == token else 0, data) for at, data in readings)


def _texts_from(signs: str, starts: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    for start in starts:
        data = _decoded(signs[start:]) if len(signs) - start >= MIN_BASE64 - 1 else b""
        if data.startswith(_COMPRESSED) or _said(data) is not None:
            yield start, data


def _hexadecimal(token: str) -> Iterator[bytes]:
    """Yield the bytes of hexadecimal digits that may be text, at either offset."""
    is_ascii = _HEX_ASCII.search(token) is not None
    for start in range(2):
        data = bytes.fromhex(token[start : start + (len(token) - start) // 2 * 2])
        if is_ascii or _is_utf8(data):
            yield data


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.startswith(_COMPRESSED)
    return True


def _decoded(token: str) -> bytes:
    """Return the bytes of a token; signs left over at its end are dropped."""
    signs = token.rstrip("=").replace("-", "+").replace("_", "/")
    signs = signs[:-1] if len(signs) % 4 == 1 else signs
    return b64decode(signs + "=" * (-len(signs) % 4))


def _said(data: bytes) -> str | None:
    """Return bytes as text; None when they are mostly unreadable."""
    text = _as_utf16(data) if b"\x00" in data else data.decode("utf-8", "replace")
    if len(_GARBAGE.findall(text)) * 10 > _UNREADABLE * len(text) or not text:
        return None
    return text


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=47).decompress(data, MAX_INFLATED)
    except zlib.error:
        return b""


def _as_utf16(data: bytes) -> str:
    """Return bytes with zeros as text: UTF-16 of the likelier byte order."""
    big = data[::2].count(0) > data[1::2].count(0)
    if (data[::2] if big else data[1::2]).count(0) * 3 < len(data):
        return data.decode("utf-8", "replace")
    return data.decode("utf-16-be" if big else "utf-16-le", "replace")


# ── Very many texts ──────────────────────────────────────────────────────────
# What a sign can be, as bits: of a group of four its first, second, third, any; of a
# pair of hexadecimal digits its first, any; a sign that is no digit of these.
_ANY, _PAIR_FIRST, _PAIR_ANY, _NO_DIGIT = 8, 16, 32, 64
# Of a token any sign, one that no word in small letters has, one that no id has, a
# hexadecimal digit; what fills a token up.
_SIGN, _NO_WORD, _NO_ID, _HEX_DIGIT, _FILLER = 1, 2, 4, 8, 16


def _flags() -> bytes:
    table = bytearray(256)
    for sign, value in _VALUES.items():
        bits = sum(_may_be(position, value) << position for position in range(3))
        table[ord(sign)] = bits | _ANY | (0 if sign in _ID_SIGNS else _NO_DIGIT)
    table[ord("=")] = 4 | _ANY
    for digit in f"{_HEX}ABCDEF":
        table[ord(digit)] |= _PAIR_ANY | (_PAIR_FIRST if digit in "234567" else 0)
    return bytes(table)


def _token_flags() -> bytes:
    table = bytearray(256)
    for sign in _VALUES:
        table[ord(sign)] = _SIGN | (_NO_WORD if _OTHER.match(sign) else 0)
        table[ord(sign)] |= 0 if sign in _ID_SIGNS else _NO_ID
    for digit in f"{_HEX}ABCDEF":
        table[ord(digit)] |= _HEX_DIGIT
    table[ord("=")] = _FILLER
    return bytes(table)


_FLAGS: Final = _flags()
_TOKEN_FLAGS: Final = _token_flags()
_GROUP_MASK: Final = np.frombuffer(bytes((1, 2, 4, _ANY)), np.uint32)[0]
_PAIRS_MASK: Final = np.frombuffer(bytes((_PAIR_FIRST, _PAIR_ANY) * 2), np.uint32)[0]


def suspects(body: str) -> Iterator[int]:
    """Yield offsets in many joined texts of what may be an encoded ASCII text."""
    flags = body.encode("ascii", "replace").translate(_FLAGS)
    signs = np.frombuffer(flags, np.uint8)
    for start in range(4):
        count = (len(flags) - start) // 4
        if count <= 0:
            return
        windows = np.frombuffer(flags, np.uint32, count, start)
        groups = _runs(windows & _GROUP_MASK == _GROUP_MASK, 2) * 4 + start
        spread = groups[:, None] + np.arange(MIN_BASE64)
        yield from groups[(signs[spread] & _NO_DIGIT).any(axis=1)].tolist()
        pairs = _runs(windows & _PAIRS_MASK == _PAIRS_MASK, MIN_HEX_BYTES // 2)
        yield from (pairs * 4 + start).tolist()
    for beginning in _COMPRESSED_TOKENS:
        yield from (match.start() for match in beginning.finditer(body))


def unbroken(body: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges in many joined texts of tokens that are other UTF-8 text.

    Such a text has no run of ASCII that ``suspects`` would notice. The tokens are
    those of ``pieces``: a hash or an id is hardly ever UTF-8.
    """
    flags = f"\0{body}\0".encode("ascii", "replace").translate(_TOKEN_FLAGS)
    signs, end = np.frombuffer(flags, np.uint8), 0
    for start in _token_starts(signs):
        # A token of several lines has the beginnings of the others in it.
        match = _UTF8_TOKEN.match(body, start) if start >= end else None
        if match is None:
            continue
        token, end = match[0], match.end()
        if len(token) >= MIN_BASE64 and _OTHER.search(token) and token.strip(_ID_SIGNS):
            data = _decoded("".join(token.split()))
            if _is_utf8(data) and _said(data) is not None:
                yield match.span()
    for start, end in _spans(signs & _HEX_DIGIT != 0, MIN_HEX).tolist():
        if _UTF8_HEX.match(body, start) and any(
            _said(data) is not None for data in _hexadecimal(body[start:end])
        ):
            yield start, end


def _token_starts(signs: NDArray[np.uint8]) -> list[int]:
    """Return where tokens of base64 may begin: no words, and no short ids.

    Only long lines are wrapped; any other token is one run of signs.
    """
    spans = _spans(signs & _SIGN != 0, MIN_TOKEN)
    if not len(spans):
        return []
    in_token = np.bitwise_or.reduceat(signs, spans.ravel() + 1)[::2]
    is_filled = signs[spans[:, 1] + 1] == _FILLER
    is_likely = (in_token & _NO_WORD != 0) & ((in_token & _NO_ID != 0) | is_filled)
    is_long = spans[:, 1] - spans[:, 0] >= MIN_WRAPPED
    starts: list[int] = spans[is_likely | is_long, 0].tolist()
    return starts


def _spans(marks: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Return where so many marks or more follow each other: starts and ends.

    Neither the first nor the last is a mark; offsets begin behind the first.
    """
    edges: NDArray[np.int64] = np.flatnonzero(marks[1:] != marks[:-1])
    spans = edges.reshape(-1, 2)
    return spans[spans[:, 1] - spans[:, 0] >= size]


def _runs(marks: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Return where so many marks follow each other."""
    places: NDArray[np.int64] = np.flatnonzero(marks)
    if len(places) < size:
        return places[:0]
    starts = places[: len(places) - size + 1]
    is_run: NDArray[np.bool_] = places[size - 1 :] - starts == size - 1
    return starts[is_run]
