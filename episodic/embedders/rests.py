"""Rests between texts while appends keep coming.

A text takes a processor for ten milliseconds, and Linux does not take it away at once
for a request that wakes up meanwhile, whatever its priority. While entries are being
appended a worker therefore rests after each text for as long as that took.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

Text = TypeVar("Text")
Vector = TypeVar("Vector")
# How long after an append more are expected.
BUSY_SECONDS: Final = 0.25
LONGEST_REST: Final = 0.05


class Rests:
    """When there was an append last, by the monotonic clock."""

    def __init__(self) -> None:
        self._appended_at = -BUSY_SECONDS

    def note_append(self) -> None:
        self._appended_at = time.monotonic()

    def after(self, start: float, end: float) -> float:
        """Return how long to rest after a text that took so long."""
        if end - self._appended_at >= BUSY_SECONDS:
            return 0.0
        return min(end - start, LONGEST_REST)

    def between(self, embed: Callable[[Text], Vector]) -> Callable[[Text], Vector]:
        """Return a function that embeds a text, then rests if need be."""

        def embed_and_rest(text: Text) -> Vector:
            start = time.monotonic()
            vector = embed(text)
            rest = self.after(start, time.monotonic())
            if rest:
                time.sleep(rest)
            return vector

        return embed_and_rest


rests = Rests()
