"""The registry of providers, and a service that starts and stops several as one.

A start is all or nothing: when one provider fails, the started ones are closed and the
first error is raised. A stop closes every one and then raises the first error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from memory.integrations.atomicmemory.contract import errors, reading, types
from memory.integrations.atomicmemory.contract.base import MemoryProvider, RequestData
from memory.integrations.atomicmemory.contract.extensions import Capabilities

log = structlog.get_logger(__name__)
Factory = Callable[[Mapping[str, Any]], MemoryProvider]


class ProviderRegistry:
    """Factories by unique name."""

    def __init__(self) -> None:
        self._factories: dict[str, Factory] = {}
        self._lock = threading.Lock()

    def register(self, name: str, factory: Factory) -> None:
        """Add a factory; ValueError when the name is taken or blank."""
        if not name.strip():
            raise ValueError("A provider needs a name.")
        with self._lock:
            if name in self._factories:
                raise ValueError(f"There is a provider {name} already.")
            self._factories[name] = factory

    def names(self) -> list[str]:
        return sorted(self._factories)

    def factory(self, name: str) -> Factory | None:
        return self._factories.get(name)


def _close_all(providers: Sequence[MemoryProvider]) -> Exception | None:
    """Close in reverse order; return the first error and log the others."""
    first: Exception | None = None
    for provider in reversed(providers):
        try:
            provider.close()
        except Exception as error:  # noqa: BLE001  (every one has to be closed)
            if first is not None:
                log.warning("provider_close_failed", provider=provider.name)
            first = first or error
    return first


class MemoryService:
    """Configured providers, one of them the default.

    ``configured`` maps a name to its options. A name without a factory is left out,
    unless it is the default. A failed start stays failed until ``close``.
    """

    def __init__(
        self,
        registry: ProviderRegistry,
        configured: Mapping[str, Mapping[str, Any]],
        *,
        default: str | None = None,
    ) -> None:
        self._registry, self._configured = registry, dict(configured)
        self._default = default or next(iter(self._configured), "")
        self._live: dict[str, MemoryProvider] = {}
        self._failure: Exception | None = None
        self._lock = threading.RLock()

    # ── Lifecycle ────────────────────────────────────────────────────────────
    def initialize(self) -> None:
        """Start every provider or none; idempotent."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._live:
                return
            try:
                self._live = self._staged()
            except Exception as error:
                self._failure = error
                raise

    def _staged(self) -> dict[str, MemoryProvider]:
        if self._registry.factory(self._default) is None:
            raise errors.ConfigError(f"There is no provider {self._default or 'set'}.")
        staged: dict[str, MemoryProvider] = {}
        try:
            for name, options in self._configured.items():
                factory = self._registry.factory(name)
                if factory is None:
                    continue
                # Added before it starts: one that fails half-way is closed as well.
                staged[name] = factory(options)
                staged[name].initialize()
            if self._default not in staged:
                raise errors.ConfigError(f"{self._default} is not configured.")
        except Exception:
            _close_all(list(staged.values()))
            raise
        return staged

    def close(self) -> None:
        """Stop every provider; the service may be started again."""
        with self._lock:
            live, self._live, self._failure = list(self._live.values()), {}, None
            error = _close_all(live)
        if error is not None:
            raise error

    # ── Providers ────────────────────────────────────────────────────────────
    def provider(self, name: str | None = None) -> MemoryProvider:
        """Return a provider by name, else the default."""
        if not self._live:
            raise errors.NotInitializedError
        provider = self._live.get(name or self._default)
        if provider is None:
            raise errors.ConfigError(f"There is no provider {name}.")
        return provider

    def status(self) -> dict[str, bool]:
        """Return name → whether it is ready, for every configured name."""
        with self._lock:
            return {
                name: name in self._live and self._live[name].is_ready
                for name in self._configured
            }

    # ── The client's calls ───────────────────────────────────────────────────
    def capabilities(self) -> Capabilities:
        return self.provider().capabilities()

    def get_extension(self, name: str) -> Any:
        return self.provider().get_extension(name)

    def ingest(self, data: types.Ingest | RequestData) -> types.IngestResult:
        return self.provider().ingest(data)

    def search(self, data: types.SearchRequest | RequestData) -> types.SearchResultPage:
        return self.provider().search(data)

    def package(self, data: types.PackageRequest | RequestData) -> types.ContextPackage:
        """Return text for a prompt; UnsupportedOperationError without the extension."""
        packager = self.get_extension("package")
        if packager is None:
            raise errors.UnsupportedOperationError(
                "package: the provider does not offer it.", operation="package"
            )
        request = reading.read(types.PackageRequest, data)
        answer: types.ContextPackage = packager.package(request)
        return answer

    def get(self, data: types.MemoryRef | RequestData) -> types.Memory | None:
        return self.provider().get(data)

    def delete(self, data: types.MemoryRef | RequestData) -> None:
        self.provider().delete(data)

    def list(self, data: types.ListRequest | RequestData) -> types.ListResultPage:
        return self.provider().list(data)
