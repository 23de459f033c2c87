"""The integrations of this installation, in the order people read them.

Every folder of this package is one, with an ``INTEGRATION`` in ``integration.py``.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Final

from memory import integrations
from memory.integrations.base import Dialect, Integration

# Folders that are not named here come after these, by name.
ORDER: Final = (
    "mcp",
    "promptkit",
    "atomicmemory",
    "gateway",
    "mem0",
    "langgraph",
    "anthropic",
)


def _position(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


@cache
def registered() -> tuple[Integration, ...]:
    """Return every integration. Call it after Django's apps are ready."""
    modules = pkgutil.iter_modules(integrations.__path__)
    names = sorted((module.name for module in modules if module.ispkg), key=_position)
    package = integrations.__name__
    return tuple(
        import_module(f"{package}.{name}.integration").INTEGRATION for name in names
    )


def by_name(name: str) -> Integration:
    """Return one integration; KeyError for an unknown name."""
    return {integration.name: integration for integration in registered()}[name]


def dialects() -> tuple[Dialect, ...]:
    """Return the dialects, which have addresses of their own."""
    return tuple(
        integration.dialect
        for integration in registered()
        if integration.dialect is not None
    )


def dialect_at(path: str) -> Dialect | None:
    """Return the dialect whose prefix a path is or is below."""
    for dialect in dialects():
        if path == dialect.prefix or path.startswith(f"{dialect.prefix}/"):
            return dialect
    return None


def has_key_in_body(path: str) -> bool:
    """Return whether requests at a path carry their credential in the body."""
    dialect = dialect_at(path)
    if dialect is None or not dialect.reads_first:
        return False
    return any(
        path.startswith(f"{dialect.prefix}/{route.path.partition('<')[0]}")
        for route in dialect.routes
        if not route.is_open
    )
