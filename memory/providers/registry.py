"""Which providers there are, and which one a workspace uses.

Providers are registered while the process starts; then the registry is closed, so that
what serves a request can never change under it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory import workspace_settings
from memory.models import Workspace
from memory.providers.base import Bound, Provider
from memory.rules import errors
from memory.workspace_settings import declarations

DEFAULT: Final = declarations.PROVIDER.default
Factory = Callable[[Bound | None], Provider]


@dataclass(frozen=True, slots=True)
class Entry:
    """How a provider is made, and how long its Health may take."""

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
    """End the registration."""
    _registry.is_closed = True


def is_closed() -> bool:
    """Whether the start-up is over."""
    return _registry.is_closed


def entries() -> list[Entry]:
    """Return every provider, in the order of registration."""
    return list(_registry.entries.values())


def entry(name: str) -> Entry:
    """Return a provider by name, or raise NotFound."""
    found = _registry.entries.get(name)
    if found is None:
        raise errors.NotFound
    return found


def chosen(workspace: Workspace) -> str:
    """Return the name of a workspace's provider; an unknown one is an error, loudly."""
    name = workspace_settings.value(workspace.id, declarations.PROVIDER)
    if name not in _registry.entries:
        raise errors.Unavailable(reason="the workspace's provider is not here")
    return name


def provider(workspace: Workspace, bound: Bound, name: str | None = None) -> Provider:
    """Return a workspace's provider, bound to one agent or crew."""
    return entry(name or chosen(workspace)).make(bound)
