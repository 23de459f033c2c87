"""The class a provider derives from: order, scope, and one kind of failure.

Every call goes: ready? → is the scope whole? → the provider's own hook → anything
unknown becomes a ProviderError. So a request that lacks its scope touches nothing.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from memory.integrations.atomicmemory.contract import errors, extensions, reading, types
from memory.integrations.atomicmemory.contract.extensions import ALIASES, Capabilities

T = TypeVar("T")
Given = Mapping[str, Any]


class MemoryProvider(ABC):
    """A memory behind the capability contract.

    Derive from it, set ``name``, declare ``capabilities`` and write the five hooks;
    extensions are plain methods that go through ``run``. Safe from many threads.
    """

    name: ClassVar[str] = "provider"

    def __init__(self, *, custom: Mapping[str, object] | None = None) -> None:
        self._custom = dict(custom or {})
        self._lock = threading.RLock()
        self._ready = False

    # ── Lifecycle ────────────────────────────────────────────────────────────
    @property
    def is_ready(self) -> bool:
        """Whether the provider was initialized and not closed since."""
        return self._ready

    def initialize(self) -> None:
        """Start; again is harmless. Raises ConfigError when a claim does not hold."""
        with self._lock:
            if self._ready:
                return
            self._check_honesty()
            try:
                self._open()
            except Exception:
                # Half open is worse than shut; the first error is the one that tells.
                with suppress(Exception):
                    self._shut()
                raise
            self._ready = True

    def close(self) -> None:
        """Stop; again, or before the start, is harmless."""
        with self._lock:
            if self._ready:
                self._ready = False
                self._shut()

    def _open(self) -> None:  # noqa: B027  (optional)
        """Take what the provider needs to work."""

    def _shut(self) -> None:  # noqa: B027  (optional)
        """Give it back; called too when ``_open`` failed half-way."""

    def _check_honesty(self) -> None:
        told = self.capabilities()
        lies = extensions.dishonest(self, told)
        declared, there = set(told.custom_extensions or {}), set(self._custom)
        lies += [f"{name} is declared and not there" for name in declared - there]
        lies += [f"{name} is there and not declared" for name in there - declared]
        if lies:
            raise errors.ConfigError(f"{self.name}: {'; '.join(sorted(lies))}.")

    # ── What it can do ───────────────────────────────────────────────────────
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Return what this provider does; the same answer for its whole life."""

    def get_extension(self, name: str) -> Any:
        """Return who does an extension, by its real or its seed name.

        A declared flag gives the provider itself, a false one None; any other name the
        object registered under it, or None.
        """
        real = ALIASES.get(name)
        if real is not None:
            return self if getattr(self.capabilities().extensions, real) else None
        return self._custom.get(name)

    # ── The order of every call ──────────────────────────────────────────────
    def run(self, operation: str, scope: types.Scope, hook: Callable[[], T]) -> T:
        """Run a hook behind the checks; extensions go through here too."""
        self._require_ready()
        needed = self.capabilities().needs(operation)
        missing = [name for name in needed if not getattr(scope, name)]
        if missing:
            raise errors.InvalidScopeError(operation, missing)
        try:
            return hook()
        except (errors.AtomicMemoryError, errors.MemoryToolError):
            raise
        except Exception as error:
            raise errors.of_cause(
                error, provider=self.name, operation=operation
            ) from error

    def _require_ready(self) -> None:
        if not self._ready:
            raise errors.NotInitializedError

    # ── The five ─────────────────────────────────────────────────────────────
    def ingest(self, given: types.Ingest | Given) -> types.IngestResult:
        """Take a text in, in one of the declared modes."""
        self._require_ready()
        asked = reading.read_ingest(given)

        def hook() -> types.IngestResult:
            if asked.mode not in self.capabilities().ingest_modes:
                raise errors.UnsupportedOperationError(
                    f"ingest: {self.name} does not take {asked.mode}.",
                    provider=self.name,
                    operation="ingest",
                )
            return self._ingest(asked)

        return self.run("ingest", asked.scope, hook)

    def search(self, given: types.SearchRequest | Given) -> types.SearchResultPage:
        """Return the best hits."""
        self._require_ready()
        asked = reading.read(types.SearchRequest, given)
        return self.run("search", asked.scope, lambda: self._search(asked))

    def get(self, given: types.MemoryRef | Given) -> types.Memory | None:
        """Return a memory, None when it is not there; a miss is no error."""
        self._require_ready()
        asked = reading.read(types.MemoryRef, given)
        return self.run("get", asked.scope, lambda: self._get(asked))

    def delete(self, given: types.MemoryRef | Given) -> None:
        """Delete a memory; one that is gone already is no error."""
        self._require_ready()
        asked = reading.read(types.MemoryRef, given)
        self.run("delete", asked.scope, lambda: self._delete(asked))

    def list(self, given: types.ListRequest | Given) -> types.ListResultPage:
        """Return a page of a scope."""
        self._require_ready()
        asked = reading.read(types.ListRequest, given)
        return self.run("list", asked.scope, lambda: self._list(asked))

    # ── Hooks ────────────────────────────────────────────────────────────────
    @abstractmethod
    def _ingest(self, asked: types.Ingest) -> types.IngestResult: ...

    @abstractmethod
    def _search(self, asked: types.SearchRequest) -> types.SearchResultPage: ...

    @abstractmethod
    def _get(self, asked: types.MemoryRef) -> types.Memory | None: ...

    @abstractmethod
    def _delete(self, asked: types.MemoryRef) -> None: ...

    @abstractmethod
    def _list(self, asked: types.ListRequest) -> types.ListResultPage: ...
