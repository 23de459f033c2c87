"""Text as terms: numbers that stand for word stems, equal in every process.

A word is what ``tokenizer.split`` says, without diacritics, in Porter's stem, as
FTS5's ``porter unicode61 remove_diacritics 2`` has it. A run of Chinese, Japanese or
Korean letters is taken as its overlapping pairs, a letter alone as itself. A term is
the first four bytes of a digest, so two of a million different stems share a number
with about 100 others: rare enough not to matter to a ranking.
"""

from __future__ import annotations

import re
import struct
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from typing import Final

import numpy as np
import Stemmer
from numpy.typing import NDArray

from memory.rules import tokenizer

# The part of a text that counts; words behind it are not in the ranking.
TEXT_CHARS: Final = 65_536
VERSION: Final = 1
MAX_COUNT: Final = 255
MAX_LENGTH: Final = 65_535
# Words that are longer are no words, and would fill the cache.
CACHED_CHARS: Final = 40
CACHED_WORDS: Final = 100_000
# A question is ranked by no more: one run of Chinese letters may be thousands.
MAX_ASKED: Final = 128
# Version, length of the text in terms, how many different ones; then these, how often
# each occurs, and the text as places in them, a byte each or two where they are many.
_HEADER: Final = struct.Struct("<BHH")
_SHORT: Final = 256
_TERM_BYTES: Final = 5

_MARKS: Final = re.compile("[\u0300-\u036f]+")
_CJK: Final = re.compile(
    "([\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323af]+)"
)
# A stemmer serves one thread at a time.
_local = threading.local()


@dataclass(frozen=True, slots=True)
class WordLists:
    """The terms of several entries, one after the other.

    ``sizes`` is how many different terms each has, ``lengths`` how many in all.
    """

    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    lengths: NDArray[np.uint16]


def _stem(word: str) -> str:
    if not hasattr(_local, "stemmer"):
        # Without a cache of its own: ours is behind it.
        _local.stemmer = Stemmer.Stemmer("porter", 0)
    return str(_local.stemmer.stemWord(word))


def _number(stem: str) -> int:
    return int.from_bytes(blake2b(stem.encode(), digest_size=4).digest(), "little")


def _without_marks(word: str) -> str:
    if word.isascii():
        return word
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", word))
    # Together again: Korean syllables come apart too.
    return unicodedata.normalize("NFC", bare).lower()


def stems(word: str) -> list[str]:
    """Return the stems of one word of ``tokenizer.split``; of a CJK run its pairs."""
    parts: list[str] = []
    for part in _CJK.split(_without_marks(word)):
        if not _CJK.match(part):
            parts += [_stem(part)] if part else []
        elif len(part) == 1:
            parts.append(part)
        else:
            parts += [part[at : at + 2] for at in range(len(part) - 1)]
    return parts


@lru_cache(maxsize=CACHED_WORDS)
def _of_short_word(word: str) -> tuple[int, ...]:
    return tuple(_number(stem) for stem in stems(word))


def of_word(word: str) -> tuple[int, ...]:
    """Return the terms of one word of ``tokenizer.split``."""
    if len(word) > CACHED_CHARS:
        return tuple(_number(stem) for stem in stems(word))
    return _of_short_word(word)


def forget() -> None:
    """Drop the words kept in memory: they are readable."""
    _of_short_word.cache_clear()


def of_text(summary: str, body: str) -> list[int]:
    """Return the terms of the first ``TEXT_CHARS`` of a text, in their order."""
    words = tokenizer.split(f"{summary}\n{body}"[:TEXT_CHARS])
    all_short = max(map(len, words), default=0) <= CACHED_CHARS
    terms_of = _of_short_word if all_short else of_word
    return list(islice(chain.from_iterable(map(terms_of, words)), MAX_LENGTH))


def pack(text: Sequence[int]) -> bytes:
    """Return an entry's terms as they are stored: sorted, their counts, their order."""
    counts = Counter(text)
    order = sorted(counts)
    size = len(order)
    places = map(dict(zip(order, range(size), strict=True)).__getitem__, text)
    # The length stands in no format: ``struct`` keeps a hundred of them at most.
    return b"".join(
        (
            _HEADER.pack(VERSION, len(text), size),
            struct.pack(f"<{size}I", *order),
            bytes([min(counts[term], MAX_COUNT) for term in order]),
            bytes(places) if size <= _SHORT else struct.pack(f"<{len(text)}H", *places),
        )
    )


def words_of(summary: str, body: str) -> bytes:
    """Return a text's terms as they are stored."""
    return pack(of_text(summary, body))


def is_readable(blob: bytes | memoryview | None) -> bool:
    """Whether this version of the program wrote these bytes."""
    if blob is None or len(blob) < _HEADER.size or blob[0] != VERSION:
        return False
    _, length, size = _HEADER.unpack_from(blob)
    wide = 1 if size <= _SHORT else 2
    return bool(len(blob) == _HEADER.size + _TERM_BYTES * size + wide * length)


def all_readable(blobs: Sequence[bytes | None]) -> bool:
    """Whether ``is_readable`` says yes to each of many."""
    if None in blobs:
        return False
    bytes_each = np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))  # type: ignore[arg-type]
    if len(blobs) and bytes_each.min() < _HEADER.size:
        return False
    data = np.frombuffer(b"".join(blobs), dtype=np.uint8)  # type: ignore[arg-type]
    starts = np.cumsum(bytes_each) - bytes_each
    lengths, sizes = _numbers(data, starts + 1), _numbers(data, starts + 3)
    wide = np.where(sizes <= _SHORT, 1, 2)
    expected = _HEADER.size + _TERM_BYTES * sizes + wide * lengths
    return bool((data[starts] == VERSION).all() and (bytes_each == expected).all())


def _numbers(data: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of two bytes that stand at some places."""
    numbers: NDArray[np.int64] = data[places].astype(np.int64)
    return numbers | data[places + 1].astype(np.int64) << 8


def unpack(blobs: Sequence[bytes]) -> WordLists:
    """Return the lists that ``is_readable`` blobs hold."""
    data = np.frombuffer(b"".join(blobs), dtype=np.uint8)
    bytes_each = np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))
    starts = np.cumsum(bytes_each) - bytes_each
    sizes = _numbers(data, starts + 3)
    lengths = _numbers(data, starts + 1).astype(np.uint16)
    # What each byte belongs to: the header, a term, a count or the order.
    parts = np.empty((len(blobs), 4), dtype=np.int64)
    parts[:, 0], parts[:, 1], parts[:, 2] = _HEADER.size, 4 * sizes, sizes
    parts[:, 3] = bytes_each - parts[:, :3].sum(axis=1)
    kinds = np.repeat(
        np.tile(np.arange(4, dtype=np.uint8), len(blobs)), parts.reshape(-1)
    )
    return WordLists(
        terms=data[kinds == 1].view("<u4").astype(np.uint32, copy=False),
        counts=data[kinds == 2],
        sizes=sizes,
        lengths=lengths,
    )


def counts_of(
    blobs: Sequence[bytes], numbers: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each text holds each of sorted terms, and how long it is."""
    counts = np.zeros((len(blobs), len(numbers)), dtype=np.int64)
    if not blobs:
        return counts, np.zeros(0, dtype=np.int64)
    lists = unpack(blobs)
    ends = np.cumsum(lists.sizes)
    # A question has few terms: comparing all with each is quicker than sorting them in.
    for place, number in enumerate(numbers):
        matches = np.flatnonzero(lists.terms == number)
        rows = np.searchsorted(ends, matches, side="right")
        counts[rows, place] = lists.counts[matches]
    return counts, lists.lengths.astype(np.int64)


def in_order(blob: bytes) -> NDArray[np.uint32]:
    """Return the terms of a ``is_readable`` blob in the order of the text."""
    _, length, size = _HEADER.unpack_from(blob)
    order = np.frombuffer(blob, dtype="<u4", count=size, offset=_HEADER.size)
    places = np.frombuffer(
        blob,
        dtype=np.uint8 if size <= _SHORT else "<u2",
        count=length,
        offset=_HEADER.size + _TERM_BYTES * size,
    )
    text: NDArray[np.uint32] = order[places].astype(np.uint32, copy=False)
    return text


def of_words(words: Iterable[str]) -> dict[int, int]:
    """Return term → number of the first word it stands for, for a question's words.

    Only the first ``MAX_ASKED`` terms are returned.
    """
    numbers: dict[int, int] = {}
    for place, word in enumerate(words):
        for term in of_word(word):
            numbers.setdefault(term, place)
    return dict(islice(numbers.items(), MAX_ASKED))
