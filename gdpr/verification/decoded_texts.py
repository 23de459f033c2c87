"""What encoded texts say: escapes resolved, and words decoded that may be encodings.

Nothing here is shared with ``gdpr.matching``: this decodes with the standard library
what the first search may compare in its encoded form.
"""

from __future__ import annotations

import binascii
import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits, hexdigits
from typing import Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

# Separates two texts; a text that decodes to one is read by itself.
END: Final = "\x00"
ROUNDS: Final = 3
# Shorter words are no address and no full name in base64 or hexadecimal digits.
MIN_ENCODED: Final = 12
MIN_HEX: Final = 20
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_QUOTED: Final = re.compile(r"(?:=[0-9A-Fa-f]{2})+")
_SOFT_BREAK: Final = re.compile(r"=[ \t]*\r?\n")
_HTML: Final = re.compile(r"&(?:#[xX]?[0-9A-Fa-f]{1,7}|[A-Za-z]{2,8});")
# Literal beginnings first: an expression that begins otherwise is tried everywhere.
_JSON: Final = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*|x[0-9A-Fa-f]{2}|[nrtbf\"'/\\])"
)
_SIGNS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_HYPHEN: Final = re.compile(r"[-\u2010\u00ad](?<=\w.)\s{0,4}?\r?\n\s{0,8}(?=\w)")
# Where a line may end in a hyphen. It begins with a literal sign and is searched for
# first, because few texts have such a line.
_HYPHEN_LINE: Final = re.compile(
    "\n(?:"
    + "|".join(rf"(?<=[-\u2010\u00ad]\s{{{spaces}}}\n)" for spaces in range(6))
    + ")"
)
# Encoded lines of a letter have 60 to 76 characters.
_WRAPPED: Final = re.compile(r"\n(?<=[A-Za-z0-9+/]{60}\n)(?=[A-Za-z0-9+/])")
_HEX: Final = re.compile(rf"[0-9A-Fa-f]{{{MIN_HEX},}}")
_EDGES: Final = re.compile(r"[+/_\-]")
_URL_SAFE: Final = str.maketrans("-_", "+/")
# What a sign of an encoded word is, as bits: ids and paths in small letters are none.
_SMALL, _CAPITAL, _OTHER, _HEX_DIGIT = 1, 2, 4, 8
_KINDS: Final = bytes(
    _SMALL * (sign in ascii_lowercase)
    | _CAPITAL * (sign in ascii_uppercase)
    | _OTHER * (sign in f"{digits}+/_-")
    | _HEX_DIGIT * (sign in hexdigits)
    for sign in map(chr, range(256))
)
_LAYOUT: Final = str.maketrans("", "", "\r\n\t")
_ALIGNMENTS: Final = 4


# ── Escapes ──────────────────────────────────────────────────────────────────
def _from_percent(text: str) -> str:
    if "%" not in text or not _PERCENT.search(text):
        return text
    return unquote(text, errors="replace")


def _from_html(text: str) -> str:
    return html.unescape(text) if "&" in text and _HTML.search(text) else text


def _quoted(match: re.Match[str]) -> str:
    return _decoded(bytes.fromhex(match[0].replace("=", "")))


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _from_quoted_printable(text: str) -> str:
    if "=" not in text:
        return text
    return _QUOTED.sub(_quoted, _SOFT_BREAK.sub("", text))


def _json(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] == "u":
        data = bytes.fromhex(escape.replace("\\u", ""))
        return data.decode("utf-16-be", "replace")
    if escape[1] == "x":
        return chr(int(escape[2:], 16))
    return _SIGNS.get(escape[1], escape[1])


def _from_json(text: str) -> str:
    return _JSON.sub(_json, text) if "\\" in text else text


def _without_hyphens(text: str) -> str:
    if "\n" not in text or not _HYPHEN_LINE.search(text):
        return text
    return _HYPHEN.sub("", text)


_STEPS: Final = (_from_json, _from_percent, _from_html, _from_quoted_printable)


def _resolved(text: str) -> str:
    for step in _STEPS:
        text = step(text)
    return text


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts joined by ``END``, and the index of each among those that were given."""

    indexes: Sequence[int]
    texts: Sequence[str]
    body: str


def readings(texts: Sequence[str]) -> Iterator[Reading]:
    """Yield the texts as written, then those that read differently once resolved.

    Words divided at the end of a line are joined in a reading of their own.
    """
    body = END.join(texts)
    if body.count(END) >= len(texts):
        texts = [text.replace(END, " ") for text in texts]
        body = END.join(texts)
    current: Reading | None = Reading(range(len(texts)), texts, body)
    for _ in range(ROUNDS + 1):
        if current is None:
            return
        yield current
        joined_reading = _changed(current, _without_hyphens)
        if joined_reading is not None:
            yield joined_reading
        current = _changed(current, _resolved)


def _changed(reading: Reading, step: Callable[[str], str]) -> Reading | None:
    """Return the texts that a step changes; all are read at once unless that mixes."""
    result = step(reading.body)
    if result == reading.body:
        return None
    parts = result.split(END)
    if len(parts) != len(reading.texts):
        parts = [step(text).replace(END, " ") for text in reading.texts]
    changed_at = [
        at
        for at, (text, part) in enumerate(zip(reading.texts, parts, strict=True))
        if part != text
    ]
    if not changed_at:
        return None
    changed_texts = [parts[at] for at in changed_at]
    indexes = [reading.indexes[at] for at in changed_at]
    return Reading(indexes, changed_texts, END.join(changed_texts))


# ── Encoded words ────────────────────────────────────────────────────────────
class Words:
    """Decodes the words of texts; each distinct word once."""

    def __init__(self) -> None:
        self._meanings: dict[str, tuple[str, ...]] = {}

    def among(self, reading: Reading) -> Iterator[tuple[int, str]]:
        """Yield what words say in base64 or hexadecimal, with their text's index.

        Only what decodes to readable text: most words do not.
        """
        body = reading.body
        if "\r" in body:
            body = body.replace("\r\n", "\n")
        if "\n" in body:
            body = _WRAPPED.sub("", body)
        words = _encoded_words(body)
        for word in words - self._meanings.keys():
            self._meanings[word] = tuple(_meanings(word))
        if not any(self._meanings[word] for word in words):
            return
        # The offset at which the text after each begins.
        starts = list(accumulate(len(text) + 1 for text in body.split(END)))
        for word in words:
            for meaning in self._meanings[word]:
                at = body.find(word)
                while at >= 0:
                    index = bisect_right(starts, at)
                    yield reading.indexes[index], meaning
                    at = body.find(word, starts[index])


def _encoded_words(body: str) -> set[str]:
    """Return the words of a text that may be an encoding, found without a loop.

    A text of many rows has a million words, and hardly an encoded one.
    """
    data = f"\n{body}\n".encode("utf-8", "surrogatepass")
    kinds = np.frombuffer(data.translate(_KINDS), np.uint8)
    is_sign = kinds != 0
    # Where words begin and end, in turn.
    edges = np.flatnonzero(is_sign[1:] != is_sign[:-1]) + 1
    spans = edges.reshape(-1, 2)
    spans = spans[spans[:, 1] - spans[:, 0] >= MIN_ENCODED]
    if not len(spans):
        return set()
    in_word = np.bitwise_or.reduceat(kinds, spans.ravel())[::2]
    is_small = in_word & (_SMALL | _CAPITAL) == _SMALL
    spans = np.concatenate((spans[~is_small], _with_digits(kinds, spans[is_small])))
    words = {data[start:end] for start, end in spans.tolist()}
    return {word.decode() for word in words}


def _with_digits(
    kinds: NDArray[np.uint8], spans: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the words in which ``MIN_HEX`` hexadecimal digits may follow each other.

    In a word of less than twice their number, they include what is in its middle.
    """
    sizes = spans[:, 1] - spans[:, 0]
    spans, sizes = spans[sizes >= MIN_HEX], sizes[sizes >= MIN_HEX]
    is_short = sizes < 2 * MIN_HEX
    short, long = spans[is_short], spans[~is_short]
    if not len(short):
        return long
    middles = np.column_stack((short[:, 1] - MIN_HEX, short[:, 0] + MIN_HEX))
    in_middle = np.bitwise_and.reduceat(kinds, middles.ravel())[::2]
    return np.concatenate((short[in_middle & _HEX_DIGIT != 0], long))


def _meanings(word: str) -> Iterator[str]:
    # Base64 mixes capitals with other letters; words, ids and paths rarely do.
    if not (word[1:].islower() or word.isupper()):
        yield from _from_base64(word)
    for match in _HEX.finditer(word):
        yield from _from_hex(match[0])


def _from_base64(word: str) -> Iterator[str]:
    parts = dict.fromkeys((word, *_EDGES.split(word)))
    for part in parts:
        for offset in range(_ALIGNMENTS):
            stretch = part[offset:].translate(_URL_SAFE)
            stretch = stretch[: len(stretch) - (len(stretch) % 4 == 1)]
            if len(stretch) >= MIN_ENCODED:
                data = binascii.a2b_base64(stretch + "=" * (-len(stretch) % 4))
                yield from _readable(data)


def _from_hex(word: str) -> Iterator[str]:
    for offset in range(2):
        stretch = word[offset:]
        yield from _readable(bytes.fromhex(stretch[: len(stretch) // 2 * 2]))


def _readable(data: bytes) -> Iterator[str]:
    """Yield bytes as text when they are text in a usual encoding."""
    if data.count(b"\x00") * 3 > len(data):
        encodings = ("utf-16-le", "utf-16-be")
    else:
        encodings = ("utf-8", "latin-1")
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.translate(_LAYOUT).isprintable():
            yield text
            return
