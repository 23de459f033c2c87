"""Whether two texts are the same or nearly the same.

``fingerprint`` names one normalised text exactly; ``signature`` is a 64-bit simhash
(Charikar 2002) over pairs of words, in which near texts differ in few bits.
"""

from __future__ import annotations

import re
from hashlib import blake2b, sha256
from itertools import pairwise

from memory.scanner.folding import folded

_WORDS = re.compile(r"\w+")
BITS = 64
# From this similarity on two texts count as the same attack: 9 bits of 64 may differ.
SAME_FROM = 0.85


def _words(text: str) -> list[str]:
    return _WORDS.findall(folded(text))


def fingerprint(text: str) -> str:
    """Return a digest of the words: 64 hex digits, blind to case and disguise."""
    return sha256(" ".join(_words(text)).encode("utf-8", "replace")).hexdigest()


def signature(text: str) -> str:
    """Return the simhash of a text as 16 hex digits."""
    words = _words(text)
    pairs = {" ".join(pair) for pair in pairwise(words)}
    weights = [0] * BITS
    for shingle in pairs or set(words):
        encoded = shingle.encode("utf-8", "replace")
        value = int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big")
        for bit in range(BITS):
            weights[bit] += 1 if value >> bit & 1 else -1
    bits = sum(1 << bit for bit, weight in enumerate(weights) if weight > 0)
    return f"{bits:016x}"


def similarity(first: str, second: str) -> float:
    """Return the share of equal bits; unrelated texts are near 0.5."""
    return 1.0 - (int(first, 16) ^ int(second, 16)).bit_count() / BITS
