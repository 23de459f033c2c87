"""The byte strings of names and words, and a search for thousands of them in one pass.

A text is stored in several forms: UTF-8, UTF-16 of either byte order, escaped in
JSON, in a URL or quoted-printable, in hexadecimal digits, in base64 at each of three
offsets, and without its first letters, because a word index stores a prefix shared with
the word before only once. ASCII case is ignored: both sides are lowered.

The search hashes eight bytes at every fourth offset of a text into a table, after Karp
and Rabin, "Efficient randomized pattern-matching algorithms" (1987), and compares in
full only where the table has the hash: its cost hardly depends on the number of
patterns. A pattern of eleven bytes covers one of these offsets wherever it is, so four
of its windows are in the table. Shorter ones are few; each is searched for separately.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final
from urllib.parse import quote

import numpy as np
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

# Shorter byte strings occur by chance; such names are searched for as words only.
MIN_BYTES: Final = 4
TOO_SHORT_ONE: Final = gettext_noop(
    "1 name is too short to be told from chance in the bytes of files; rows, reading"
    " paths and word lists were asked for such a name."
)
TOO_SHORT: Final = gettext_noop(
    "{count} names are too short to be told from chance in the bytes of files; rows,"
    " reading paths and word lists were asked for such a name."
)
# Two UTF-16 letters are two small numbers, which occur in any binary file.
MIN_UTF16_CHARS: Final = 3
# A token of so many signs fills a search window, and does not occur by chance.
MIN_TOKEN: Final = 11
# What quoted-printable leaves as it is.
PRINTABLE: Final = "".join(map(chr, range(32, 127))).replace("=", "")
WINDOW_BYTES: Final = 8
PREFIX: Final = 8
MIN_TAIL: Final = 6
# There are thousands of words: only those that fill a search window are cheap.
MIN_WORD: Final = 8
ENOUGH_WORDS: Final = 10
# Words beyond these are searched for in the database's own encoding only.
MAX_ENCODED_WORDS: Final = 300
# Byte strings with fewer distinct bytes, such as zeros, occur everywhere.
MIN_DISTINCT_BYTES: Final = 4
# The distance of windows in bytes.
STRIDE: Final = 4
MIN_HASHED: Final = WINDOW_BYTES + STRIDE - 1
_BITS: Final = 20
_SECOND_BITS: Final = 16
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MIX: Final = np.uint64(0xC2B2AE3D27D4EB4F)
# The bit that distinguishes capitals, in each of eight bytes. It merges some other
# signs too, which the full comparison tells apart.
_CASE: Final = np.uint64(0x2020202020202020)


def _spellings(text: str) -> Iterator[str]:
    """Yield a text in its likely cases and Unicode normal forms."""
    for form in ("NFC", "NFD"):
        shaped = unicodedata.normalize(form, text)
        yield from (shaped, shaped.lower(), shaped.upper(), shaped.casefold())


def _encodings(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass")
    if len(text) >= MIN_UTF16_CHARS:
        yield text.encode("utf-16-le", "surrogatepass")
        yield text.encode("utf-16-be", "surrogatepass")
    yield json.dumps(text)[1:-1].encode()
    yield quote(text, errors="replace").encode()


def _base64(data: bytes) -> Iterator[str]:
    """Yield how base64 writes bytes at each of three offsets in a longer text.

    Without the signs at either end that its neighbours decide too.
    """
    for before in range(3):
        text = b64encode(bytes(before) + data).decode()
        last = (before + len(data)) * 8 // 6
        inner = text[-(-before * 8 // 6) : last]
        yield from dict.fromkeys((inner, inner.replace("+", "-").replace("/", "_")))


def _tokens(text: str) -> Iterator[bytes]:
    """Yield a text as encoded tokens have it; short ones occur by chance."""
    data = text.encode("utf-8", "surrogatepass")
    shapes = [data.hex(), *_base64(data)]
    if len(text) >= MIN_UTF16_CHARS:
        shapes += _base64(text.encode("utf-16-le", "surrogatepass"))
    if not text.isascii():
        shapes.append(quote(text, safe=PRINTABLE, errors="replace").replace("%", "="))
    yield from (shape.encode() for shape in shapes if len(shape) >= MIN_TOKEN)


def of_alias(value: str) -> set[bytes]:
    """Return the byte strings of a name: every spelling and encoding, and its tail."""
    shapes: set[bytes] = set()
    for text in _spellings(value.strip()):
        shapes.update((*_encodings(text), *_tokens(text)))
        if len(text) >= PREFIX + MIN_TAIL:
            shapes.add(text[PREFIX:].encode("utf-8", "surrogatepass"))
    return _usable(shapes)


def too_short(names: Iterable[str]) -> list[str]:
    """Return the report's sentence about names too short for the byte search."""
    short = sum(len(name.strip().encode()) < MIN_BYTES for name in names)
    if not short:
        return []
    return [TOO_SHORT_ONE if short == 1 else TOO_SHORT.format(count=short)]


def of_tokens(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the byte strings of words and vectors taken from rows before erasure.

    Short words are used only where there are few long ones: each costs a pass over all
    files, and the word index is checked for them anyway.
    """
    shapes: set[bytes] = set()
    words = []
    for token in tokens:
        if len(set(token)) < MIN_DISTINCT_BYTES:
            continue
        shapes.add(token)
        text = as_word(token)
        if text is not None:
            words.append(text)
    words.sort(key=lambda word: (-len(word), word))
    shapes.update(
        shape for text in words[:MAX_ENCODED_WORDS] for shape in _encodings(text)
    )
    for text in (*words, *stems(words)):
        shapes.add(text.encode())
        shapes.add(text[PREFIX:].encode())
    usable = {pattern for pattern in _usable(shapes) if len(pattern) >= MIN_WORD}
    long_patterns = {pattern for pattern in usable if len(pattern) >= MIN_HASHED}
    if len(long_patterns) >= ENOUGH_WORDS:
        return long_patterns
    rest = sorted(usable - long_patterns, key=lambda pattern: (-len(pattern), pattern))
    return long_patterns.union(rest[:ENOUGH_WORDS])


def _usable(shapes: Iterable[bytes]) -> set[bytes]:
    return {pattern.lower() for pattern in shapes if len(pattern) >= MIN_BYTES}


def as_word(token: bytes) -> str | None:
    """Return a token as a word, None when it is the start of a vector."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def stems(words: Iterable[str]) -> list[str]:
    """Return the distinct stems under which the word index stores words."""
    return list(
        dict.fromkeys(s for word_stems in stemmed(words).values() for s in word_stems)
    )


def stemmed(words: Iterable[str]) -> dict[str, set[str]]:
    """Return word → stems under which the word index stores it, from FTS5 itself.

    It uses a database in memory; without FTS5 there is no such index either.
    """
    distinct = list(dict.fromkeys(words))
    stems_by_word: dict[str, set[str]] = {}
    with closing(sqlite3.connect(":memory:")) as memory:
        try:
            memory.execute(
                "CREATE VIRTUAL TABLE t USING fts5(word, content='',"
                " tokenize='porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError:
            return {}
        memory.executemany(
            "INSERT INTO t(rowid, word) VALUES (?, ?)", enumerate(distinct)
        )
        memory.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        for term, number in memory.execute("SELECT term, doc FROM v"):
            stems_by_word.setdefault(distinct[number], set()).add(str(term))
    return stems_by_word


# ── Searching ────────────────────────────────────────────────────────────────
def _slots(windows: NDArray[np.uint64], bits: int = _BITS) -> NDArray[np.int64]:
    """Return the table slots of windows, computed in place."""
    windows *= _MULTIPLIER
    windows >>= np.uint64(64 - bits)
    # As signed numbers they can be used as an index without a copy.
    return windows.view(np.int64)


def _pieces(pattern: bytes) -> list[bytes]:
    return [
        pattern[at : at + WINDOW_BYTES] for at in range(len(pattern) - WINDOW_BYTES + 1)
    ]


def _rarest(pattern: bytes, common: Counter[bytes]) -> range:
    """Return the offsets of a pattern's windows: where it shares least with others.

    Addresses and ids have common prefixes, which occur in many other rows.
    """
    frequencies = [common[piece] for piece in _pieces(pattern)]
    starts = range(len(frequencies) - STRIDE + 1)
    best = min(starts, key=lambda at: sum(frequencies[at : at + STRIDE]))
    return range(best, best + STRIDE)


class Finder:
    """Searches for lower-case byte strings; those found can be dropped.

    Most of the work is done in numpy, which releases the interpreter lock.
    """

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self._patterns = set(patterns)
        self._buffer = np.empty(0, dtype=np.uint64)
        self._build_tables()

    def __len__(self) -> int:
        return len(self._patterns)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the patterns that there are when it begins."""
        return iter(tuple(self._patterns))

    def __contains__(self, pattern: bytes) -> bool:
        return pattern in self._patterns

    @property
    def longest(self) -> int:
        """The longest pattern: consecutive pieces of a file have to overlap by this."""
        return max((len(pattern) for pattern in self._patterns), default=0)

    def drop(self, patterns: Iterable[bytes]) -> None:
        self._patterns.difference_update(patterns)
        self._build_tables()

    def _build_tables(self) -> None:
        self._short = [n for n in self._patterns if len(n) < MIN_HASHED]
        # Window → (offset inside, length) → patterns: one look-up for each pair.
        self._long: dict[int, dict[tuple[int, int], set[bytes]]] = {}
        long = [n for n in self._patterns if len(n) >= MIN_HASHED]
        common = Counter(piece for pattern in long for piece in _pieces(pattern))
        for pattern in long:
            for at in _rarest(pattern, common):
                head = int.from_bytes(pattern[at : at + WINDOW_BYTES], "little") | int(
                    _CASE
                )
                kinds = self._long.setdefault(head, {})
                kinds.setdefault((at, len(pattern)), set()).add(pattern)
        self._keys = np.array(sorted(self._long), dtype=np.uint64)
        self._table = np.zeros(1 << _BITS, dtype=np.bool_)
        self._table[_slots(self._keys.copy())] = True
        # One window in a hundred is in the first table by chance, hardly any in both.
        self._second_table = np.zeros(1 << _SECOND_BITS, dtype=np.bool_)
        self._second_table[_slots(self._keys ^ _SECOND_MIX, _SECOND_BITS)] = True

    def find(self, data: bytes) -> set[bytes]:
        """Return the patterns that occur in some bytes, ignoring ASCII case."""
        hits: set[bytes] = set()
        if self._short:
            low = data.lower()
            hits.update(pattern for pattern in self._short if _is_in(low, pattern))
        if self._long:
            for offset in range(0, WINDOW_BYTES, STRIDE):
                self._aligned(data, offset, hits)
        return hits

    def _aligned(self, data: bytes, offset: int, hits: set[bytes]) -> None:
        """Check the windows at ``offset`` after each multiple of eight."""
        count = (len(data) - offset) // WINDOW_BYTES
        if count <= 0:
            return
        windows = np.frombuffer(data, dtype="<u8", count=count, offset=offset)
        if len(self._buffer) < count:
            self._buffer = np.empty(count, dtype=np.uint64)
        folded = np.bitwise_or(windows, _CASE, out=self._buffer[:count])
        positions = np.flatnonzero(self._table.take(_slots(folded)))
        if not len(positions):
            return
        values = windows[positions] | _CASE
        likely = self._second_table.take(_slots(values ^ _SECOND_MIX, _SECOND_BITS))
        positions, values = positions[likely], values[likely]
        at = np.searchsorted(self._keys, values)
        at[at == len(self._keys)] = 0
        good = self._keys[at] == values
        for value, place in zip(
            values[good].tolist(), positions[good].tolist(), strict=True
        ):
            for (inside, size), patterns in self._long[value].items():
                start = place * WINDOW_BYTES + offset - inside
                piece = data[start : start + size].lower() if start >= 0 else b""
                if piece in patterns:
                    hits.add(piece)


def _is_in(low: bytes, pattern: bytes) -> bool:
    """Whether a short pattern occurs in some bytes; the shortest only as a word.

    In binary data four bytes occur by chance.
    """
    if len(pattern) >= MIN_TAIL:
        return pattern in low
    start = low.find(pattern)
    while start >= 0:
        end = start + len(pattern)
        before, after = low[max(0, start - 4) : start], low[end : end + 4]
        inside_word = before[-1:].isalnum() or after[:1].isalnum()
        if not inside_word and _is_text(before) and _is_text(after):
            return True
        start = low.find(pattern, start + 1)
    return False


def _is_text(data: bytes) -> bool:
    return all(byte >= 32 or byte in b"\x00\t\r\n" for byte in data)
