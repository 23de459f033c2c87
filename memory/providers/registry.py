"""The registered providers, and which one a workspace uses.

Providers are registered while the process starts; then the registry is closed, so that
the provider of a request cannot change while it is served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory import workspace_settings
from memory.models import Workspace
from memory.providers.base import Binding, Provider
from memory.rules import errors
from memory.workspace_settings import declarations

DEFAULT: Final = declarations.PROVIDER.default
Factory = Callable[[Binding | None], Provider]


@dataclass(frozen=True, slots=True)
class Entry:
    """The factory of a provider, and how long its health check may take in seconds."""

    name: str
    title: str
    make: Factory
    seconds: float


class _Registry:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.is_closed = False


_registry = _Registry()


def register(entry: Entry) -> None:
    """Add a provider; only while the process starts, and each name once."""
    if _registry.is_closed:
        message = "The providers are closed: register at start-up."
        raise RuntimeError(message)
    if entry.name in _registry.entries:
        message = f"There is a provider {entry.name} already."
        raise RuntimeError(message)
    _registry.entries[entry.name] = entry
    declarations.provider_titles[entry.name] = entry.title


def close() -> None:
    _registry.is_closed = True


def is_closed() -> bool:
    return _registry.is_closed


def entries() -> list[Entry]:
    """Return every provider, in the order of registration."""
    return list(_registry.entries.values())


def entry(name: str) -> Entry:
    """Return a provider by name, or raise NotFound."""
    result = _registry.entries.get(name)
    if result is None:
        raise errors.NotFound
    return result


def workspace_provider(workspace: Workspace) -> str:
    """Return the name of a workspace's provider; Unavailable when it is unknown."""
    name = workspace_settings.value(workspace.id, declarations.PROVIDER)
    if name not in _registry.entries:
        raise errors.Unavailable(reason="the workspace's provider is not here")
    return name


def provider(
    workspace: Workspace, binding: Binding, name: str | None = None
) -> Provider:
    """Return a workspace's provider, bound to one agent or crew."""
    return entry(name or workspace_provider(workspace)).make(binding)
