"""A deterministic embedder without a model: it knows spelling, not meaning.

Words and their four-letter pieces are hashed into 512 signed buckets, so texts that
share words, or nearly share them, come out close; "car" and "automobile" do not. Tests
use it, and it is an explicit last resort where no model can run.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from episodic.embedders import base

if TYPE_CHECKING:
    from collections.abc import Sequence

DIM = 512
GRAM = 4
GRAM_WEIGHT = 0.35
WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Spelling as vectors: float32, 512 dimensions, the same on every machine."""

    name = "hashing"
    model = "hashing-512-v1"
    dim = DIM

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        """See Embedder; never fails."""
        rows = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = hashed(text)
        return rows

    def embed_query(self, text: str) -> base.Vectors:
        """See Embedder; never fails."""
        return hashed(text)


def hashed(text: str) -> base.Vectors:
    """Return the (512,) unit vector of one text; a blank text has one of its own."""
    vector = np.zeros(DIM, dtype=np.float32)
    for feature, weight in features(text).items():
        bucket, sign = place(feature)
        vector[bucket] += sign * weight
    if not vector.any():  # no features, or they cancelled out
        vector[0] = 1.0
    return base.unit(vector)


def features(text: str) -> dict[str, float]:
    """Weigh the words and their pieces; repetition counts by its square root."""
    words = WORD.findall(folded(text)) or text.split()
    counts = Counter(words)
    weights: dict[str, float] = {}
    for word, count in counts.items():
        weights[f"w:{word}"] = count**0.5
        for gram in grams(word):
            key = f"g:{gram}"
            weights[key] = weights.get(key, 0.0) + GRAM_WEIGHT * count**0.5
    return weights


def grams(word: str) -> list[str]:
    """Cut a word, with a mark at either end, into overlapping four-letter pieces."""
    marked = f"<{word}>"
    return [marked[at : at + GRAM] for at in range(len(marked) - GRAM + 1)]


def folded(text: str) -> str:
    """Lower the case and drop the accents, so that "Café" and "cafe" are one word."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def place(feature: str) -> tuple[int, float]:
    """Return bucket and sign of a feature; the sign makes collisions cancel out."""
    raw = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
    number = int.from_bytes(raw, "little")
    return number % DIM, 1.0 if number >> 63 else -1.0
