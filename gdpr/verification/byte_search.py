"""Byte strings to look for, and a search for thousands of them in one pass.

A text rests on disk in more than one shape: UTF-8, UTF-16 of either kind, escaped in
JSON or in an address, and without the first letters, because a word index keeps what
a word shares with the one before it only once. Case is ASCII's: both sides are lowered.

The search hashes eight bytes at every fourth place of a text into a table, after Karp
and Rabin, "Efficient randomized pattern-matching algorithms" (1987), and compares in
full only where the table says yes: its price hardly depends on how many are sought. A
pattern of eleven bytes covers one of these places wherever it lies, so that four of its
windows are in the table. Shorter ones are few, and each is looked for by itself.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

# Below this a byte string is found by chance; names as short are sought as words.
MIN_BYTES: Final = 4
# Two letters of sixteen bits each are two small numbers, as any catalogue holds them.
MIN_UTF16_CHARS: Final = 3
WINDOW_BYTES: Final = 8
PREFIX: Final = 8
MIN_TAIL: Final = 6
# Of words there are thousands: only what fills a window of the search is cheap.
MIN_WORD: Final = 8
ENOUGH_WORDS: Final = 10
# More words than these are sought as the database writes them, and in no other shape.
MAX_ENCODED_WORDS: Final = 300
# Zeros and other monotony lie everywhere.
MIN_DISTINCT_BYTES: Final = 4
# Windows lie so far apart; a pattern that fills one at any of them is long enough.
STRIDE: Final = 4
MIN_HASHED: Final = WINDOW_BYTES + STRIDE - 1
_BITS: Final = 20
_FEWER: Final = 16
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_OTHER: Final = np.uint64(0xC2B2AE3D27D4EB4F)
# The bit that tells capitals, in each of eight bytes. Some signs become one by it: the
# comparison in full tells them apart.
_CASE: Final = np.uint64(0x2020202020202020)


def _spelled(text: str) -> Iterator[str]:
    """Return a text in the cases and compositions in which somebody may write it."""
    for form in ("NFC", "NFD"):
        shaped = unicodedata.normalize(form, text)
        yield from (shaped, shaped.lower(), shaped.upper(), shaped.casefold())


def _encoded(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass")
    if len(text) >= MIN_UTF16_CHARS:
        yield text.encode("utf-16-le", "surrogatepass")
        yield text.encode("utf-16-be", "surrogatepass")
    yield json.dumps(text)[1:-1].encode()
    yield quote(text, errors="replace").encode()


def of_alias(value: str) -> set[bytes]:
    """Return the shapes of a name: every spelling in every encoding, and its tail."""
    shapes: set[bytes] = set()
    for text in _spelled(value.strip()):
        shapes.update(_encoded(text))
        if len(text) >= PREFIX + MIN_TAIL:
            shapes.add(text[PREFIX:].encode("utf-8", "surrogatepass"))
    return _usable(shapes)


def too_short(names: Iterable[str]) -> list[str]:
    """Return what a report has to say of names that the search of bytes leaves out."""
    short = sum(len(name.strip().encode()) < MIN_BYTES for name in names)
    if not short:
        return []
    count_text = "1 name is" if short == 1 else f"{short} names are"
    text = f"{count_text} too short to be told from chance in the bytes of files"
    return [f"{text}; rows, reading paths and word lists were asked for such a name."]


def of_tokens(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the shapes of words and vectors taken from rows before they went.

    Short words are sought only where there are hardly any long ones: each costs a look
    through all files, and the word index was asked for them.
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
        shape for text in words[:MAX_ENCODED_WORDS] for shape in _encoded(text)
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
    """Return the stems under which the word index keeps words, each once."""
    return list(
        dict.fromkeys(s for word_stems in stemmed(words).values() for s in word_stems)
    )


def stemmed(words: Iterable[str]) -> dict[str, set[str]]:
    """Return word → stems under which the word index keeps it, asking its own code.

    A database in memory does it; where FTS5 is missing there is no such index either.
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
    """Return where in a table windows belong, worked out in their own place."""
    windows *= _ODD
    windows >>= np.uint64(64 - bits)
    # As signed numbers they index without being copied.
    return windows.view(np.int64)


def _pieces(pattern: bytes) -> list[bytes]:
    return [
        pattern[at : at + WINDOW_BYTES] for at in range(len(pattern) - WINDOW_BYTES + 1)
    ]


def _rarest(pattern: bytes, common: Counter[bytes]) -> range:
    """Return where in a pattern its windows are taken: where it is least like others.

    Addresses and ids begin alike, and everybody's rows are full of their beginnings.
    """
    frequencies = [common[piece] for piece in _pieces(pattern)]
    starts = range(len(frequencies) - STRIDE + 1)
    best = min(starts, key=lambda at: sum(frequencies[at : at + STRIDE]))
    return range(best, best + STRIDE)


class Finder:
    """Looks for lowered byte strings. Those that were found can be dropped.

    Most of the work is numpy's, which lets other threads run meanwhile.
    """

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self._patterns = set(patterns)
        self._buffer = np.empty(0, dtype=np.uint64)
        self._build_tables()

    def __len__(self) -> int:
        return len(self._patterns)

    @property
    def longest(self) -> int:
        """How far pieces of one text have to overlap, or a pattern falls between."""
        return max((len(pattern) for pattern in self._patterns), default=0)

    def drop(self, patterns: Iterable[bytes]) -> None:
        """Look for these no longer."""
        self._patterns.difference_update(patterns)
        self._build_tables()

    def _build_tables(self) -> None:
        self._short = [n for n in self._patterns if len(n) < MIN_HASHED]
        # Eight bytes → how far inside, how long → patterns: one look-up for each pair.
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
        # One in a hundred windows is in the table by chance: hardly any in both.
        self._second_table = np.zeros(1 << _FEWER, dtype=np.bool_)
        self._second_table[_slots(self._keys ^ _OTHER, _FEWER)] = True

    def find(self, data: bytes) -> set[bytes]:
        """Return the patterns that lie in some bytes, in whatever case."""
        hits: set[bytes] = set()
        if self._short:
            low = data.lower()
            hits.update(pattern for pattern in self._short if _is_in(low, pattern))
        if self._long:
            for offset in range(0, WINDOW_BYTES, STRIDE):
                self._aligned(data, offset, hits)
        return hits

    def _aligned(self, data: bytes, offset: int, hits: set[bytes]) -> None:
        """Look at the places that lie ``offset`` after a multiple of eight."""
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
        likely = self._second_table.take(_slots(values ^ _OTHER, _FEWER))
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
    """Whether a short pattern lies in some bytes; the shortest only as a word of text.

    In the middle of numbers four bytes are found by chance.
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
