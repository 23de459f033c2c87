"""The learned head: a small linear model over hashed letter and word groups.

It orders the review queue and never holds a text: on sources it has not seen it is
right too seldom for that. Its weights are one byte each, see NOTICE for their origin.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

BITS = 16
SIZE = 1 << BITS
WINDOW = 1500
_WORD = re.compile(r"\w+|[^\w\s]")
_GRAM = 4


class Head(NamedTuple):
    """Weights as signed bytes, the factor that restores them, and the bias."""

    weights: bytes
    scale: float
    bias: float


def features(text: str) -> set[int]:
    """The hashed groups of a text: words, pairs of words, and letters in fours."""
    words = _WORD.findall(text[:WINDOW].lower())
    groups = [f"w {word}" for word in words]
    groups += [f"p {a} {b}" for a, b in itertools.pairwise(words)]
    joined_text = " ".join(words)
    if joined_text.isascii():
        encoded = joined_text.encode()
        letters = [encoded[i : i + _GRAM] for i in range(len(encoded) - _GRAM + 1)]
    else:
        parts = zip(*(joined_text[i:] for i in range(_GRAM)), strict=False)
        letters = _encoded(map("".join, parts))
    return {crc & (SIZE - 1) for crc in map(zlib.crc32, {*letters, *_encoded(groups)})}


def _encoded(groups: Iterable[str]) -> list[bytes]:
    # A lone surrogate has no other encoding.
    return [group.encode(errors="surrogatepass") for group in groups]


@lru_cache(maxsize=1)
def load() -> Head | None:
    """The trained weights; none when the file is absent."""
    path = Path(__file__).with_name("head.bin")
    if not path.exists():
        return None
    first, _, weights = path.read_bytes().partition(b"\n")
    facts = json.loads(first)
    return Head(weights, float(facts["scale"]), float(facts["bias"]))


def likelihood(text: str) -> float:
    """How much a text resembles the attacks it was trained on, from 0 to 1."""
    head = load()
    if head is None:
        return 0.0
    places = features(text)
    if not places:
        return 0.0
    total = 0
    for place in places:
        value = head.weights[place]
        total += value - 256 if value > 127 else value
    # Long texts have more groups; the root keeps their sum comparable.
    margin = total * head.scale / math.sqrt(len(places)) + head.bias
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, margin))))
