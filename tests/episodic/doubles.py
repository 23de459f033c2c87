"""Embedders that misbehave on purpose; each is a real implementation of the seam."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from episodic.embedders import base
from episodic.embedders.hashing import HashingEmbedder


class Down(HashingEmbedder):
    """Answers nothing, for a reason of one's choice."""

    name = "down"

    def __init__(self, error: base.EmbedderError | None = None) -> None:
        self.error = error or base.Unreachable("Nobody answers.")

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:  # noqa: ARG002
        raise self.error

    def embed_query(self, text: str) -> base.Vectors:  # noqa: ARG002
        raise self.error


class Poisoned(HashingEmbedder):
    """Chokes on one word, and takes the whole batch with it."""

    def __init__(self, word: str) -> None:
        self.word = word

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        if any(self.word in text for text in texts):
            raise base.BadAnswer("The embedder gave a vector without a direction.")
        return super().embed_documents(texts)


class Other(HashingEmbedder):
    """Another model with fewer dimensions: its vectors compare with nobody else's."""

    name = "other"
    model = "other-8"
    dim = 8

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> base.Vectors:
        return base.unit(super().embed_query(text).reshape(8, -1).sum(axis=1) + 1e-3)


class Renamed(HashingEmbedder):
    """The same numbers under another model's name."""

    model = "hashing-512-v2"


class Watched(HashingEmbedder):
    """Remembers which threads asked it."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        self.threads.add(threading.get_ident())
        return super().embed_documents(texts)


class Interrupted(HashingEmbedder):
    """Does something else in the world before it answers."""

    def __init__(self, act: object) -> None:
        self.act = act

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        assert callable(self.act)
        self.act()
        return super().embed_documents(texts)
