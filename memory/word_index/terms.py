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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
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
# Version, length of the text in terms; then the terms, then how often each occurs.
_HEADER: Final = struct.Struct("<BH")
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


def of_text(summary: str, body: str) -> dict[int, int]:
    """Return term → how often it occurs in the first ``TEXT_CHARS`` of a text."""
    counts: dict[int, int] = {}
    for word in tokenizer.split(f"{summary}\n{body}"[:TEXT_CHARS]):
        for term in of_word(word):
            counts[term] = counts.get(term, 0) + 1
    return counts


def pack(counts: Mapping[int, int]) -> bytes:
    """Return an entry's terms as they are stored: sorted, then their counts."""
    size, order = len(counts), sorted(counts)
    length = min(sum(counts.values()), MAX_LENGTH)
    numbers = (min(counts[term], MAX_COUNT) for term in order)
    return _HEADER.pack(VERSION, length) + struct.pack(
        f"<{size}I{size}B", *order, *numbers
    )


def words_of(summary: str, body: str) -> bytes:
    """Return a text's terms as they are stored."""
    return pack(of_text(summary, body))


def is_readable(blob: bytes | memoryview | None) -> bool:
    """Whether this version of the program wrote these bytes."""
    if blob is None or len(blob) < _HEADER.size or blob[0] != VERSION:
        return False
    return (len(blob) - _HEADER.size) % _TERM_BYTES == 0


def unpack(blobs: Sequence[bytes]) -> WordLists:
    """Return the lists that ``is_readable`` blobs hold."""
    data = np.frombuffer(b"".join(blobs), dtype=np.uint8)
    bytes_each = np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))
    sizes = (bytes_each - _HEADER.size) // _TERM_BYTES
    # What each byte belongs to: the header, a term or a count.
    parts = np.empty((len(blobs), 4), dtype=np.int64)
    parts[:, 0], parts[:, 1], parts[:, 2], parts[:, 3] = 1, 2, 4 * sizes, sizes
    kinds = np.repeat(
        np.tile(np.arange(4, dtype=np.uint8), len(blobs)), parts.reshape(-1)
    )
    return WordLists(
        terms=data[kinds == 2].view("<u4").astype(np.uint32, copy=False),
        counts=data[kinds == 3],
        sizes=sizes,
        lengths=data[kinds == 1].view("<u2").astype(np.uint16, copy=False),
    )


def of_words(words: Iterable[str]) -> dict[int, int]:
    """Return term → number of the first word it stands for, for a question's words."""
    numbers: dict[int, int] = {}
    for place, word in enumerate(words):
        for term in of_word(word):
            numbers.setdefault(term, place)
    return numbers
