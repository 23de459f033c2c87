"""Creates our provider for a registry of the capability contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import errors
from memory.integrations.atomicmemory.contract.registry import ProviderRegistry
from memory.integrations.atomicmemory.provider.provider import NAME, NativeProvider
from memory.rules.permissions import Actor


def make(options: Mapping[str, Any]) -> NativeProvider:
    """Return our provider for ``actor`` and, if given, another ``owner``."""
    by, owner = options.get("actor"), options.get("owner")
    if not isinstance(by, Actor):
        raise errors.ConfigError("native: options need an actor.")
    if owner is not None and not isinstance(owner, Owner):
        raise errors.ConfigError("native: owner has to be an Owner.")
    return NativeProvider(by, owner)


def registry() -> ProviderRegistry:
    """Return a fresh registry with our provider in it."""
    providers = ProviderRegistry()
    providers.register(NAME, make)
    return providers
