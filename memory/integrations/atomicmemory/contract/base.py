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
RequestData = Mapping[str, Any]


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
            self._check_capabilities()
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

    def _check_capabilities(self) -> None:
        capabilities = self.capabilities()
        problems = extensions.dishonest(self, capabilities)
        declared, registered = (
            set(capabilities.custom_extensions or {}),
            set(self._custom),
        )
        problems += [
            f"{name} is declared and not there" for name in declared - registered
        ]
        problems += [
            f"{name} is there and not declared" for name in registered - declared
        ]
        if problems:
            raise errors.ConfigError(f"{self.name}: {'; '.join(sorted(problems))}.")

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
        absent = [name for name in needed if not getattr(scope, name)]
        if absent:
            raise errors.InvalidScopeError(operation, absent)
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
    def ingest(self, data: types.Ingest | RequestData) -> types.IngestResult:
        """Take a text in, in one of the declared modes."""
        self._require_ready()
        request = reading.read_ingest(data)

        def hook() -> types.IngestResult:
            if request.mode not in self.capabilities().ingest_modes:
                raise errors.UnsupportedOperationError(
                    f"ingest: {self.name} does not take {request.mode}.",
                    provider=self.name,
                    operation="ingest",
                )
            return self._ingest(request)

        return self.run("ingest", request.scope, hook)

    def search(self, data: types.SearchRequest | RequestData) -> types.SearchResultPage:
        """Return the best hits."""
        self._require_ready()
        request = reading.read(types.SearchRequest, data)
        return self.run("search", request.scope, lambda: self._search(request))

    def get(self, data: types.MemoryRef | RequestData) -> types.Memory | None:
        """Return a memory, None when it is not there; a miss is no error."""
        self._require_ready()
        ref = reading.read(types.MemoryRef, data)
        return self.run("get", ref.scope, lambda: self._get(ref))

    def delete(self, data: types.MemoryRef | RequestData) -> None:
        """Delete a memory; one that is gone already is no error."""
        self._require_ready()
        ref = reading.read(types.MemoryRef, data)
        self.run("delete", ref.scope, lambda: self._delete(ref))

    def list(self, data: types.ListRequest | RequestData) -> types.ListResultPage:
        """Return a page of a scope."""
        self._require_ready()
        request = reading.read(types.ListRequest, data)
        return self.run("list", request.scope, lambda: self._list(request))

    # ── Hooks ────────────────────────────────────────────────────────────────
    @abstractmethod
    def _ingest(self, request: types.Ingest) -> types.IngestResult: ...

    @abstractmethod
    def _search(self, request: types.SearchRequest) -> types.SearchResultPage: ...

    @abstractmethod
    def _get(self, ref: types.MemoryRef) -> types.Memory | None: ...

    @abstractmethod
    def _delete(self, ref: types.MemoryRef) -> None: ...

    @abstractmethod
    def _list(self, request: types.ListRequest) -> types.ListResultPage: ...
