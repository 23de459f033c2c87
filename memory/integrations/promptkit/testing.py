"""PromptKit's test store: memories in a list, in the order they came."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from copy import deepcopy

from django.utils import timezone

from memory.integrations.promptkit.memories import Memory, Scope
from memory.integrations.promptkit.protocols import (
    DEFAULT_LIST,
    DEFAULT_RETRIEVE,
    FIRST_PAGE,
    NO_FILTERS,
    Listing,
    Memories,
    Retrieve,
)


def _bucket(scope: Scope) -> tuple[tuple[str, str], ...]:
    """Return a scope as a dict key; the empty scope is one, too."""
    return tuple(sorted(scope.items()))


class InMemoryStore:
    """Substring search, no ranking, no expiry: the minimum of a store."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._numbers: Iterator[int] = itertools.count(1)
        self._memories: dict[tuple[tuple[str, str], ...], Memories] = {}

    def save(self, memory: Memory) -> None:
        """Append a memory, even when its id is stored already."""
        with self._lock:
            memory.id = memory.id or f"mem_{next(self._numbers)}"
            now = timezone.now()
            memory.created_at = memory.created_at or now
            memory.accessed_at = now
            self._memories.setdefault(_bucket(memory.scope), []).append(
                deepcopy(memory)
            )

    def _of(self, scope: Scope, types: tuple[str, ...]) -> Memories:
        with self._lock:
            rows = deepcopy(self._memories.get(_bucket(scope), []))
        return [row for row in rows if not types or row.type in types]

    def retrieve(
        self, scope: Scope, query: str, options: Retrieve = NO_FILTERS
    ) -> Memories:
        """Return memories whose content holds the query, without regard to case."""
        min_confidence, text = options.min_confidence, query.casefold()
        matches = [
            row
            for row in self._of(scope, options.types)
            if text in row.content.casefold()
            and (min_confidence <= 0 or row.confidence >= min_confidence)
        ]
        return matches[: options.limit if options.limit > 0 else DEFAULT_RETRIEVE]

    def list(self, scope: Scope, options: Listing = FIRST_PAGE) -> Memories:
        """Return memories in the order they came."""
        size = options.limit if options.limit > 0 else DEFAULT_LIST
        return self._of(scope, options.types)[max(0, options.offset) :][:size]

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Delete one of this scope; do nothing for other ids."""
        with self._lock:
            rows = self._memories.get(_bucket(scope), [])
            rows[:] = [row for row in rows if row.id != memory_id]

    def delete_all(self, scope: Scope) -> None:
        """Delete the memories of exactly this scope."""
        with self._lock:
            self._memories.pop(_bucket(scope), None)
