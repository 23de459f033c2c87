"""The table of providers, and which one a workspace uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext, gettext_noop

from memory import workspace_settings
from memory.models import Workspace
from memory.providers import base, native, remote, tierfiles
from memory.providers.base import Binding, Provider
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.workspace_settings import declarations

Factory = Callable[[Binding | None], Provider]


@dataclass(frozen=True, slots=True)
class Entry:
    """The factory of a provider, and how long its health check may take in seconds."""

    name: str
    title: str
    make: Factory
    seconds: float


_TABLE: Final = (
    Entry(
        tierfiles.NAME,
        gettext_noop("Tier files"),
        tierfiles.TierFiles,
        base.LOCAL_SECONDS,
    ),
    Entry(native.NAME, gettext_noop("Records"), native.Native, base.LOCAL_SECONDS),
    Entry(remote.NAME, gettext_noop("Remote"), remote.make, base.REMOTE_SECONDS),
)
# Read-only: the provider of a request cannot change while it is served.
ENTRIES: Final = MappingProxyType({entry.name: entry for entry in _TABLE})
declarations.provider_titles.update({entry.name: entry.title for entry in _TABLE})


def entries() -> list[Entry]:
    """Return every provider, in the order of the table."""
    return list(ENTRIES.values())


def entry(name: str) -> Entry:
    """Return a provider by name, or raise NotFound."""
    if name not in ENTRIES:
        raise errors.NotFound
    return ENTRIES[name]


def workspace_provider(workspace: Workspace) -> str:
    """Return the name of a workspace's provider; Unavailable when it is unknown."""
    name = workspace_settings.value(workspace.id, declarations.PROVIDER)
    if name not in ENTRIES:
        raise errors.Unavailable(reason=gettext("the workspace's provider is not here"))
    return name


def provider(
    workspace: Workspace, binding: Binding, name: str | None = None
) -> Provider:
    """Return a workspace's provider, bound to one agent or crew."""
    return entry(name or workspace_provider(workspace)).make(binding)


def choose(workspace: Workspace, name: str, *, by: Actor) -> bool:
    """Change the provider of a workspace; False when it is the present one.

    Nothing is moved: what the old provider stores stays there.
    """
    by.require("providers.manage", workspace.id)
    entry(name)
    if workspace_settings.value(workspace.id, declarations.PROVIDER) == name:
        return False
    return bool(workspace_settings.change({declarations.PROVIDER.name: name}, by=by))
