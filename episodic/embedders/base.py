"""The interface between the index and the embedders.

The protocol of every embedder, the errors they raise, the wrapper that records whether
the embedder answers (configured is not the same as working), and the cache of query
vectors, which stores text and can erase it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory.measurements import recorded
from memory.rules.translation import gettext, gettext_noop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Vectors = NDArray[np.float32]
"""Rows of unit length, n by dim; or one such vector, (dim,)."""

CACHED_QUERIES = 2048
RECENT_CALLS = 60

T = TypeVar("T")


class Embedder(Protocol):
    """Turns text into unit vectors whose dot product is the cosine similarity.

    ``name`` says which embedder runs ("local:minilm", "ollama", "none"). ``model`` is
    stored beside every vector and changes whenever old vectors stop being comparable
    with new ones. ``dim`` may be unknown (None) until the first answer.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def dim(self) -> int | None: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dim), unit rows in the order given.

        No texts give (0, dim), with 0 for an unknown dim. Raises EmbedderError.
        """

    def embed_query(self, text: str) -> Vectors:
        """Return one float32 unit vector, (dim,). Raises EmbedderError."""


class Reason(StrEnum):
    """Short codes for why an embedder does not answer."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BAD_ANSWER = "bad_answer"
    NOT_CONFIGURED = "not_configured"
    DAMAGED = "damaged"
    UNEXPECTED = "unexpected"


class EmbedderError(Exception):
    """No vectors; ``reason`` is a code, the message a sentence anyone may read.

    The health page shows it to everyone, so a sentence never carries an address, a
    piece of an answer, or the text that was to be embedded.
    """

    reason = Reason.UNEXPECTED


class Unreachable(EmbedderError):
    """No server answers at the embedder's address."""

    reason = Reason.UNREACHABLE


class TooSlow(EmbedderError):
    """The embedder is there and did not answer in time."""

    reason = Reason.TIMEOUT


class BadAnswer(EmbedderError):
    """The embedder answered with something that is not usable as vectors."""

    reason = Reason.BAD_ANSWER


class NotConfigured(EmbedderError):
    """A setting or a package is missing; trying again does not help."""

    reason = Reason.NOT_CONFIGURED


class Damaged(EmbedderError):
    """The model's files are missing or are not the files that were shipped."""

    reason = Reason.DAMAGED


def failure_text(stored: str) -> str:
    """Return a stored failure, a code and a sentence, in the reader's language."""
    code, colon, sentence = stored.partition(": ")
    return f"{code}{colon}{gettext(sentence)}" if sentence else stored


def unit(rows: Vectors) -> Vectors:
    """Scale each row (or a single vector) to length one.

    Raises BadAnswer for NaN, infinity or a row of zeros: they have no direction.
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise BadAnswer(gettext_noop("The embedder gave a vector without a direction."))
    scaled: Vectors = (rows / lengths).astype(np.float32)
    return scaled


def sendable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


class State(StrEnum):
    """What the last real call showed."""

    NOT_CALLED = "untried"
    ANSWERING = "answering"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Call:
    """One finished call: when it ended (UTC), how long it took, whether it worked."""

    at: datetime
    ms: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Status of the embedder, from the last call that was completed."""

    state: State = State.NOT_CALLED
    reason: Reason | None = None  # only while failing
    last_ms: float | None = None
    checked_at: datetime | None = None
    recent: tuple[Call, ...] = ()  # oldest first, at most RECENT_CALLS


class Wrapper:
    """An embedder that wraps another one, and has its name, model and length."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dim(self) -> int | None:
        return self.inner.dim


class Observed(Wrapper):
    """An embedder that records how its calls ended.

    One good answer after an outage means answering. A call that the caller interrupted
    (KeyboardInterrupt, SystemExit, GeneratorExit) is not recorded, nor is a call with
    no texts.
    """

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self._status = Status()
        self._recent: deque[Call] = deque(maxlen=RECENT_CALLS)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self.inner.embed_documents(texts)
        return self._watch(lambda: self.inner.embed_documents(texts))

    def embed_query(self, text: str) -> Vectors:
        return self._watch(lambda: self.inner.embed_query(text))

    def status(self) -> Status:
        """Return the present status, as an immutable value."""
        with self._lock:
            return self._status

    def _watch(self, call: Callable[[], T]) -> T:
        started = time.perf_counter()
        try:
            answer = call()
        except EmbedderError as error:
            self._note(started, error.reason)
            raise
        except Exception:
            self._note(started, Reason.UNEXPECTED)
            raise
        self._note(started, None)
        return answer

    def _note(self, started: float, reason: Reason | None) -> None:
        duration_ms = (time.perf_counter() - started) * 1000
        state = State.FAILING if reason else State.ANSWERING
        with self._lock:
            beat = Call(at=datetime.now(UTC), ms=duration_ms, ok=reason is None)
            self._recent.append(beat)
            self._status = Status(
                state, reason, duration_ms, beat.at, tuple(self._recent)
            )
        recorded.embedder_called(duration_ms, reason.value if reason else None)


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """How the query cache has served since the process started."""

    hits: int
    misses: int
    size: int


class CachedQueries(Wrapper):
    """An embedder that keeps the vectors of the most recent questions.

    The cache stores the questions themselves, so it is a place of personal data:
    ``count`` finds, ``forget`` and ``clear`` erase. Wrap it around Observed, so that an
    answer from the cache does not count as an answer of the embedder.
    """

    def __init__(self, inner: Embedder, *, size: int = CACHED_QUERIES) -> None:
        super().__init__(inner)
        self._size = size
        self._vectors: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._erasures = 0
        self._hits = 0
        self._misses = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """See Embedder; documents are not cached."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """See Embedder; the vector is shared and therefore read-only."""
        key = (self.model, text)
        with self._lock:
            cached = self._get(key)
            erasures = self._erasures
        if cached is not None:
            return cached
        vector = self.inner.embed_query(text)
        vector.setflags(write=False)
        with self._lock:
            # An erasure that ran meanwhile must not be undone by a late answer.
            if erasures == self._erasures:
                self._keep(key, vector)
        return vector

    def count(self, predicate: Callable[[str], bool]) -> int:
        """Return for how many cached questions the predicate is true."""
        with self._lock:
            return sum(predicate(text) for _, text in self._vectors)

    def forget(self, predicate: Callable[[str], bool]) -> int:
        """Drop the questions the predicate is true for; return how many."""
        with self._lock:
            self._erasures += 1
            keys = [key for key in self._vectors if predicate(key[1])]
            for key in keys:
                del self._vectors[key]
        return len(keys)

    def clear(self) -> int:
        """Drop every question; return how many there were."""
        return self.forget(lambda _: True)

    def counts(self) -> CacheCounts:
        """Return hits, misses and how many questions are kept."""
        with self._lock:
            return CacheCounts(self._hits, self._misses, len(self._vectors))

    def _get(self, key: tuple[str, str]) -> Vectors | None:
        vector = self._vectors.get(key)
        # A server may change the model behind a name; its old vectors are then invalid.
        if vector is None or vector.shape != (self.dim,):
            self._misses += 1
            recorded.QUERY_CACHE_MISSES().inc()
            return None
        self._hits += 1
        recorded.QUERY_CACHE_HITS().inc()
        self._vectors.move_to_end(key)
        return vector

    def _keep(self, key: tuple[str, str], vector: Vectors) -> None:
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
