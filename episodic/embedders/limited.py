"""Questions to an embedder of another machine: few of them wait for it at once.

A server that accepts a connection and never answers would otherwise keep every request
thread for its whole time limit, one with an append behind it, too. What is refused here
is answered by words.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from episodic.embedders.base import Embedder, EmbedderError, Vectors, Wrapper
from episodic.embedders.ollama import slow

# A web process has eight request threads.
MOST_WAITING: Final = 4
# Once the oldest question has waited for so long, no further one waits beside them.
SLOW_SECONDS: Final = 1.0
# After a question that waited longer than that for nothing, none is sent for so long.
PAUSE_SECONDS: Final = 10.0
_is_question: ContextVar[bool] = ContextVar("is_question", default=False)


@contextmanager
def for_a_question() -> Iterator[None]:
    """Count texts that are embedded inside as a question: a request waits for them."""
    token = _is_question.set(True)
    try:
        yield
    finally:
        _is_question.reset(token)


class LimitedQueries(Wrapper):
    """An embedder whose questions wait for it only a few at a time."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self._turn = threading.Condition()
        self._starts: list[float] = []
        self._paused_until = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """See Embedder; a sweep has a thread of its own to wait in."""
        if _is_question.get():
            return self._limited(lambda: self.inner.embed_documents(texts))
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """See Embedder; raises TooSlow where others wait for an answer too long."""
        return self._limited(lambda: self.inner.embed_query(text))

    def _limited(self, call: Callable[[], Vectors]) -> Vectors:
        start = self._begin()
        try:
            return call()
        except EmbedderError:
            if time.monotonic() - start > SLOW_SECONDS:
                self._paused_until = time.monotonic() + PAUSE_SECONDS
            raise
        finally:
            self._end(start)

    def _begin(self) -> float:
        with self._turn:
            while True:
                now = time.monotonic()
                if now < self._paused_until:
                    raise slow()
                if len(self._starts) < MOST_WAITING:
                    self._starts.append(now)
                    return now
                remaining = min(self._starts) + SLOW_SECONDS - now
                if remaining <= 0:
                    raise slow()
                self._turn.wait(remaining)

    def _end(self, start: float) -> None:
        with self._turn:
            self._starts.remove(start)
            self._turn.notify()
