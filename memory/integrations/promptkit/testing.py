"""PromptKit's test store: memories in a list, in the order they came."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from copy import deepcopy

from django.utils import timezone

from memory.integrations.promptkit.memories import Memory, Scope
from memory.integrations.promptkit.protocols import (
    ANYTHING,
    FIRST,
    LISTED,
    RETRIEVED,
    Listing,
    Memories,
    Retrieve,
)


def _bucket(scope: Scope) -> tuple[tuple[str, str], ...]:
    """Return a scope as a key; the empty one is a bucket like any other."""
    return tuple(sorted(scope.items()))


class InMemoryStore:
    """Substring search, no ranking, no expiry: the least a store must do."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._numbers: Iterator[int] = itertools.count(1)
        self._kept: dict[tuple[tuple[str, str], ...], Memories] = {}

    def save(self, memory: Memory) -> None:
        """Append a memory, also when its id is known."""
        with self._lock:
            memory.id = memory.id or f"mem_{next(self._numbers)}"
            now = timezone.now()
            memory.created_at = memory.created_at or now
            memory.accessed_at = now
            self._kept.setdefault(_bucket(memory.scope), []).append(deepcopy(memory))

    def _of(self, scope: Scope, types: tuple[str, ...]) -> Memories:
        with self._lock:
            rows = deepcopy(self._kept.get(_bucket(scope), []))
        return [row for row in rows if not types or row.type in types]

    def retrieve(
        self, scope: Scope, query: str, options: Retrieve = ANYTHING
    ) -> Memories:
        """Return memories whose content holds the query, without regard to case."""
        least, wanted = options.min_confidence, query.casefold()
        found = [
            row
            for row in self._of(scope, options.types)
            if wanted in row.content.casefold()
            and (least <= 0 or row.confidence >= least)
        ]
        return found[: options.limit if options.limit > 0 else RETRIEVED]

    def list(self, scope: Scope, options: Listing = FIRST) -> Memories:
        """Return memories in the order they came."""
        size, start = options.limit if options.limit > 0 else LISTED, options.offset
        return self._of(scope, options.types)[max(0, start) :][:size]

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Delete one of this scope; anything else stays as it is."""
        with self._lock:
            rows = self._kept.get(_bucket(scope), [])
            rows[:] = [row for row in rows if row.id != memory_id]

    def delete_all(self, scope: Scope) -> None:
        """Drop exactly this scope."""
        with self._lock:
            self._kept.pop(_bucket(scope), None)
