"""What generated entries are about: topics with a direction and words of their own.

Each entry has one topic. Its vector is the topic's direction with as much noise as
leaves two entries of a topic at a cosine of about 0.5, and all of them share a part, as
real ones do. Its words are drawn by Zipf's law, six of them among those of the topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crewship_memory.bench import dataset

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

DIM: Final = 384
TOPICS: Final = 1_000
TOPIC_WORDS: Final = 12
SUMMARY_WORDS: Final = 9
WORDS: Final = 34
DRAWN_OF_TOPIC: Final = 6
# How much of a vector all entries share, and how much is the entry's own.
COMMON_SHARE: Final = 0.35
OWN_SHARE: Final = 1.0


@dataclass(frozen=True)
class Topics:
    """The topics of a seed; the same in every process and workspace."""

    seed: int = 7

    @cached_property
    def vocabulary(self) -> NDArray[np.object_]:
        return np.array(dataset.vocabulary(self.seed), dtype=object)

    @cached_property
    def directions(self) -> Floats:
        rng = np.random.default_rng(self.seed)
        return _unit(rng.standard_normal((TOPICS, DIM), dtype=np.float32))

    @cached_property
    def common_part(self) -> Floats:
        rng = np.random.default_rng(self.seed + 1)
        direction: Floats = _unit(rng.standard_normal((1, DIM), dtype=np.float32))[0]
        return direction

    @cached_property
    def words(self) -> Places:
        """The places of each topic's words in the vocabulary, rather rare ones."""
        rng = np.random.default_rng(self.seed + 2)
        rarest = len(self.vocabulary)
        return rng.integers(rarest // 30, rarest, (TOPICS, TOPIC_WORDS))

    def vectors(self, topics: Places, rng: np.random.Generator) -> Floats:
        """Return a unit vector for each of the topics, another one every time."""
        noise = _unit(rng.standard_normal((len(topics), DIM), dtype=np.float32))
        return _unit(
            self.directions[topics]
            + OWN_SHARE * noise
            + COMMON_SHARE * self.common_part
        )

    def texts(self, topics: Places, rng: np.random.Generator) -> list[tuple[str, str]]:
        """Return a summary and a longer text for each of the topics."""
        size = len(self.vocabulary)
        ranks = np.exp(rng.random((len(topics), WORDS)) * np.log(size)).astype(np.int64)
        places = np.minimum(ranks, size) - 1
        own = rng.integers(0, TOPIC_WORDS, (len(topics), DRAWN_OF_TOPIC))
        at = rng.permutation(WORDS)[:DRAWN_OF_TOPIC]
        places[:, at] = self.words[topics[:, None], own]
        return [
            (" ".join(row[:SUMMARY_WORDS]), " ".join(row[SUMMARY_WORDS:]))
            for row in self.vocabulary[places].tolist()
        ]

    def question(self, topic: int, rng: np.random.Generator) -> str:
        """Return a question of three words of a topic and three common ones."""
        own = self.vocabulary[rng.choice(self.words[topic], 3, replace=False)]
        common = self.vocabulary[rng.integers(0, 200, 3)]
        return " ".join([*own.tolist(), *common.tolist()])


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = (rows / lengths).astype(np.float32, copy=False)
    return scaled
