"""Byte strings to look for, and a search for thousands of them in one pass.

A text rests on disk in more than one shape: UTF-8, UTF-16 of either kind, escaped in
JSON or in an address, and without the first letters, because a word index keeps what
a word shares with the one before it only once. Case is ASCII's: both sides are lowered.

The search hashes eight bytes at every fourth place of a text into a table, after Karp
and Rabin, "Efficient randomized pattern-matching algorithms" (1987), and compares in
full only where the table says yes: its price hardly depends on how many are sought. A
needle of eleven bytes covers one of these places wherever it lies, so that four of its
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
LEAST: Final = 4
# Two letters of sixteen bits each are two small numbers, as any catalogue holds them.
WIDE: Final = 3
SURE: Final = 8
PREFIX: Final = 8
TAIL_LEAST: Final = 6
# Of words there are thousands: only what fills a window of the search is cheap.
WORD_LEAST: Final = 8
ENOUGH: Final = 10
# More words than these are sought as the database writes them, and in no other shape.
MANY: Final = 300
# Zeros and other monotony lie everywhere.
TELLING: Final = 4
# Windows lie so far apart; a needle that fills one at any of them is long enough.
STRIDE: Final = 4
LONG: Final = SURE + STRIDE - 1
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
    if len(text) >= WIDE:
        yield text.encode("utf-16-le", "surrogatepass")
        yield text.encode("utf-16-be", "surrogatepass")
    yield json.dumps(text)[1:-1].encode()
    yield quote(text, errors="replace").encode()


def of_alias(value: str) -> set[bytes]:
    """Return the shapes of a name: every spelling in every encoding, and its tail."""
    found: set[bytes] = set()
    for text in _spelled(value.strip()):
        found.update(_encoded(text))
        if len(text) >= PREFIX + TAIL_LEAST:
            found.add(text[PREFIX:].encode("utf-8", "surrogatepass"))
    return _usable(found)


def too_short(names: Iterable[str]) -> list[str]:
    """Return what a report has to say of names that the search of bytes leaves out."""
    short = sum(len(name.strip().encode()) < LEAST for name in names)
    if not short:
        return []
    some = "1 name is" if short == 1 else f"{short} names are"
    told = f"{some} too short to be told from chance in the bytes of files"
    return [f"{told}; rows, reading paths and word lists were asked for such a name."]


def of_tokens(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the shapes of words and vectors taken from rows before they went.

    Short words are sought only where there are hardly any long ones: each costs a look
    through all files, and the word index was asked for them.
    """
    found: set[bytes] = set()
    words = []
    for token in tokens:
        if len(set(token)) < TELLING:
            continue
        found.add(token)
        text = as_word(token)
        if text is not None:
            words.append(text)
    words.sort(key=lambda word: (-len(word), word))
    found.update(shape for text in words[:MANY] for shape in _encoded(text))
    for text in (*words, *stems(words)):
        found.add(text.encode())
        found.add(text[PREFIX:].encode())
    usable = {needle for needle in _usable(found) if len(needle) >= WORD_LEAST}
    telling = {needle for needle in usable if len(needle) >= LONG}
    if len(telling) >= ENOUGH:
        return telling
    rest = sorted(usable - telling, key=lambda needle: (-len(needle), needle))
    return telling.union(rest[:ENOUGH])


def _usable(found: Iterable[bytes]) -> set[bytes]:
    return {needle.lower() for needle in found if len(needle) >= LEAST}


def as_word(token: bytes) -> str | None:
    """Return a token as a word, None when it is the start of a vector."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def stems(words: Iterable[str]) -> list[str]:
    """Return the stems under which the word index keeps words, each once."""
    return list(dict.fromkeys(s for found in stemmed(words).values() for s in found))


def stemmed(words: Iterable[str]) -> dict[str, set[str]]:
    """Return word → stems under which the word index keeps it, asking its own code.

    A database in memory does it; where FTS5 is missing there is no such index either.
    """
    asked = list(dict.fromkeys(words))
    found: dict[str, set[str]] = {}
    with closing(sqlite3.connect(":memory:")) as memory:
        try:
            memory.execute(
                "CREATE VIRTUAL TABLE t USING fts5(word, content='',"
                " tokenize='porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError:
            return {}
        memory.executemany("INSERT INTO t(rowid, word) VALUES (?, ?)", enumerate(asked))
        memory.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        for term, number in memory.execute("SELECT term, doc FROM v"):
            found.setdefault(asked[number], set()).add(str(term))
    return found


# ── Searching ────────────────────────────────────────────────────────────────
def _slots(windows: NDArray[np.uint64], bits: int = _BITS) -> NDArray[np.int64]:
    """Return where in a table windows belong, worked out in their own place."""
    windows *= _ODD
    windows >>= np.uint64(64 - bits)
    # As signed numbers they index without being copied.
    return windows.view(np.int64)


def _pieces(needle: bytes) -> list[bytes]:
    return [needle[at : at + SURE] for at in range(len(needle) - SURE + 1)]


def _rarest(needle: bytes, common: Counter[bytes]) -> range:
    """Return where in a needle its windows are taken: where it is least like others.

    Addresses and ids begin alike, and everybody's rows are full of their beginnings.
    """
    shared = [common[piece] for piece in _pieces(needle)]
    starts = range(len(shared) - STRIDE + 1)
    best = min(starts, key=lambda at: sum(shared[at : at + STRIDE]))
    return range(best, best + STRIDE)


class Finder:
    """Looks for lowered byte strings. Those that were found can be dropped.

    Most of the work is numpy's, which lets other threads run meanwhile.
    """

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._needles = set(needles)
        self._room = np.empty(0, dtype=np.uint64)
        self._arm()

    def __len__(self) -> int:
        return len(self._needles)

    @property
    def longest(self) -> int:
        """How far pieces of one text have to overlap, or a needle falls between."""
        return max((len(needle) for needle in self._needles), default=0)

    def drop(self, found: Iterable[bytes]) -> None:
        """Look for these no longer."""
        self._needles.difference_update(found)
        self._arm()

    def _arm(self) -> None:
        self._short = [n for n in self._needles if len(n) < LONG]
        # Eight bytes → how far inside, how long → needles: one look-up for each pair.
        self._long: dict[int, dict[tuple[int, int], set[bytes]]] = {}
        long = [n for n in self._needles if len(n) >= LONG]
        common = Counter(piece for needle in long for piece in _pieces(needle))
        for needle in long:
            for at in _rarest(needle, common):
                head = int.from_bytes(needle[at : at + SURE], "little") | int(_CASE)
                kinds = self._long.setdefault(head, {})
                kinds.setdefault((at, len(needle)), set()).add(needle)
        self._keys = np.array(sorted(self._long), dtype=np.uint64)
        self._table = np.zeros(1 << _BITS, dtype=np.bool_)
        self._table[_slots(self._keys.copy())] = True
        # One in a hundred windows is in the table by chance: hardly any in both.
        self._again = np.zeros(1 << _FEWER, dtype=np.bool_)
        self._again[_slots(self._keys ^ _OTHER, _FEWER)] = True

    def found(self, data: bytes) -> set[bytes]:
        """Return the needles that lie in some bytes, in whatever case."""
        hits: set[bytes] = set()
        if self._short:
            low = data.lower()
            hits.update(needle for needle in self._short if _is_in(low, needle))
        if self._long:
            for offset in range(0, SURE, STRIDE):
                self._aligned(data, offset, hits)
        return hits

    def _aligned(self, data: bytes, offset: int, hits: set[bytes]) -> None:
        """Look at the places that lie ``offset`` after a multiple of eight."""
        count = (len(data) - offset) // SURE
        if count <= 0:
            return
        windows = np.frombuffer(data, dtype="<u8", count=count, offset=offset)
        if len(self._room) < count:
            self._room = np.empty(count, dtype=np.uint64)
        folded = np.bitwise_or(windows, _CASE, out=self._room[:count])
        near = np.flatnonzero(self._table.take(_slots(folded)))
        if not len(near):
            return
        values = windows[near] | _CASE
        likely = self._again.take(_slots(values ^ _OTHER, _FEWER))
        near, values = near[likely], values[likely]
        at = np.searchsorted(self._keys, values)
        at[at == len(self._keys)] = 0
        good = self._keys[at] == values
        for value, place in zip(
            values[good].tolist(), near[good].tolist(), strict=True
        ):
            for (inside, size), needles in self._long[value].items():
                start = place * SURE + offset - inside
                piece = data[start : start + size].lower() if start >= 0 else b""
                if piece in needles:
                    hits.add(piece)


def _is_in(low: bytes, needle: bytes) -> bool:
    """Whether a short needle lies in some bytes; the shortest only as a word of text.

    In the middle of numbers four bytes are found by chance.
    """
    if len(needle) >= TAIL_LEAST:
        return needle in low
    start = low.find(needle)
    while start >= 0:
        end = start + len(needle)
        before, after = low[max(0, start - 4) : start], low[end : end + 4]
        joined = before[-1:].isalnum() or after[:1].isalnum()
        if not joined and _is_text(before) and _is_text(after):
            return True
        start = low.find(needle, start + 1)
    return False


def _is_text(some: bytes) -> bool:
    return all(byte >= 32 or byte in b"\x00\t\r\n" for byte in some)
