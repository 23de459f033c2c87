"""The embedder and the vector index this process works with."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from django.conf import settings

from episodic.embedders import registry
from episodic.embedders.base import CachedQueries, Embedder, Observed, Status
from episodic.embedders.limited import LimitedQueries
from episodic.embedders.ollama import OllamaEmbedder
from episodic.vectors.base import VectorIndex
from episodic.vectors.pg import PgIndex
from episodic.vectors.scan import ScanIndex
from memory import fulltext


@dataclass(slots=True)
class _Parts:
    observed: Observed | None = None
    cached: CachedQueries | None = None
    scan: ScanIndex | None = None


_parts = _Parts()
_lock = threading.RLock()


def _build() -> Embedder:
    return registry.build(
        settings.EMBEDDER,
        local_model=settings.LOCAL_MODEL,
        ollama_host=settings.OLLAMA_HOST,
        ollama_model=settings.OLLAMA_MODEL,
        ollama_timeout=settings.OLLAMA_TIMEOUT,
        threads=settings.EMBED_THREADS,
    )


def use(inner: Embedder | None) -> None:
    """Use another embedder; None builds the configured one again."""
    with _lock:
        inner = inner or _build()
        _parts.observed = Observed(inner)
        is_remote = isinstance(inner, OllamaEmbedder)
        queries = LimitedQueries(_parts.observed) if is_remote else _parts.observed
        _parts.cached = CachedQueries(queries, size=settings.QUERY_CACHE)


def embedder() -> CachedQueries:
    """Return the process's embedder, built from the settings on first use."""
    with _lock:
        if _parts.cached is None:
            use(None)
        assert _parts.cached is not None  # noqa: S101  (use() sets it)
        return _parts.cached


def status() -> Status:
    """Return whether the embedder really answers, from its last call."""
    embedder()
    with _lock:
        return _parts.observed.status() if _parts.observed else Status()


def vectors() -> VectorIndex:
    """Return the vector index that fits the database."""
    if not fulltext.is_sqlite():
        return PgIndex()
    with _lock:
        most_bytes = settings.VECTOR_MEMORY_MB * 2**20
        _parts.scan = _parts.scan or ScanIndex(most_bytes)
        return _parts.scan


def cached_questions() -> int:
    """Return how many question vectors this process keeps; none is built for that."""
    with _lock:
        return _parts.cached.counts().size if _parts.cached else 0


def vector_bytes() -> int:
    """Return how many bytes of vectors this process keeps in memory."""
    with _lock:
        return _parts.scan.bytes_used if _parts.scan else 0
