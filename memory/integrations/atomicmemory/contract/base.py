"""The base class of providers: checks before each call, and one kind of failure.

Every call checks: ready? → scope complete? → the provider's hook → an unknown exception
becomes a ProviderError. So a request without its scope changes nothing.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from memory.integrations.atomicmemory.contract import errors, extensions, reading, types
from memory.integrations.atomicmemory.contract.extensions import ALIASES, Capabilities

RequestData = Mapping[str, Any]


class MemoryProvider(ABC):
    """A memory provider of the capability contract.

    Derive from it, set ``name``, declare ``capabilities`` and write the five hooks;
    extensions are plain methods whose work is ``checked``. Thread-safe.
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
        """Start; idempotent. Raises ConfigError for a capability that is not there."""
        with self._lock:
            if self._ready:
                return
            self._check_capabilities()
            try:
                self._open()
            except Exception:
                # Close what was opened; the first error is the one to raise.
                with suppress(Exception):
                    self._shut()
                raise
            self._ready = True

    def close(self) -> None:
        """Stop; idempotent, also before the start."""
        with self._lock:
            if self._ready:
                self._ready = False
                self._shut()

    def _open(self) -> None:  # noqa: B027  (optional)
        """Acquire the provider's resources."""

    def _shut(self) -> None:  # noqa: B027  (optional)
        """Release them; also called when ``_open`` failed half-way."""

    def _check_capabilities(self) -> None:
        capabilities = self.capabilities()
        problems = extensions.dishonest(self, capabilities)
        declared = set(capabilities.custom_extensions or {})
        registered = set(self._custom)
        problems += [
            f"{name} is declared and not registered" for name in declared - registered
        ]
        problems += [
            f"{name} is registered and not declared" for name in registered - declared
        ]
        if problems:
            raise errors.ConfigError(f"{self.name}: {'; '.join(sorted(problems))}.")

    # ── Capabilities ─────────────────────────────────────────────────────────
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Return what this provider supports; constant for its lifetime."""

    def get_extension(self, name: str) -> Any:
        """Return the object that implements an extension, by its name or seed name.

        A declared flag gives the provider itself, a false one None; any other name the
        object registered under it, or None.
        """
        real = ALIASES.get(name)
        if real is not None:
            return self if getattr(self.capabilities().extensions, real) else None
        return self._custom.get(name)

    # ── Checks of every call ─────────────────────────────────────────────────
    @contextmanager
    def checked(self, operation: str, scope: types.Scope) -> Iterator[None]:
        """Check, then let an operation run; extensions use this too."""
        self._check(operation, scope)
        try:
            yield
        except (errors.AtomicMemoryError, errors.MemoryToolError):
            raise
        except Exception as error:
            raise errors.of_cause(
                error, provider=self.name, operation=operation
            ) from error

    def _check(self, operation: str, scope: types.Scope) -> None:
        self._require_ready()
        needed = self.capabilities().needs(operation)
        absent = [name for name in needed if not getattr(scope, name)]
        if absent:
            raise errors.InvalidScopeError(operation, absent)

    def _require_ready(self) -> None:
        if not self._ready:
            raise errors.NotInitializedError

    # ── Operations ────────────────────────────────────────────────────────────
    def ingest(self, data: types.Ingest | RequestData) -> types.IngestResult:
        """Ingest a text in one of the declared modes."""
        self._require_ready()
        request = reading.read_ingest(data)

        with self.checked("ingest", request.scope):
            if request.mode not in self.capabilities().ingest_modes:
                raise errors.UnsupportedOperationError(
                    f"ingest: {self.name} does not support {request.mode}.",
                    provider=self.name,
                    operation="ingest",
                )
            return self._ingest(request)

    def search(self, data: types.SearchRequest | RequestData) -> types.SearchResultPage:
        self._require_ready()
        request = reading.read(types.SearchRequest, data)
        with self.checked("search", request.scope):
            return self._search(request)

    def get(self, data: types.MemoryRef | RequestData) -> types.Memory | None:
        self._require_ready()
        ref = reading.read(types.MemoryRef, data)
        with self.checked("get", ref.scope):
            return self._get(ref)

    def delete(self, data: types.MemoryRef | RequestData) -> None:
        """Delete a memory; idempotent."""
        self._require_ready()
        ref = reading.read(types.MemoryRef, data)
        with self.checked("delete", ref.scope):
            self._delete(ref)

    def list(self, data: types.ListRequest | RequestData) -> types.ListResultPage:
        self._require_ready()
        request = reading.read(types.ListRequest, data)
        with self.checked("list", request.scope):
            return self._list(request)

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
