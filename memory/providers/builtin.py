"""The three providers that come with the project."""

from __future__ import annotations

from memory.providers import base, native, registry, remote, tierfiles
from memory.providers.registry import Entry

ENTRIES = (
    Entry(tierfiles.NAME, "Tier files", tierfiles.make, base.LOCAL_SECONDS),
    Entry(native.NAME, "Records", native.make, base.LOCAL_SECONDS),
    Entry(remote.NAME, "Remote", remote.make, base.REMOTE_SECONDS),
)


def install() -> None:
    """Register them and close the registry; called at start-up."""
    if registry.is_closed():
        return
    for entry in ENTRIES:
        registry.register(entry)
    registry.close()
