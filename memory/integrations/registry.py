"""Dialects: the wires of other memory systems, spoken over our own services.

A dialect is data: its prefix, its routes, and how it says no. The roof mounts it; see
``crewship_memory/integrations.py``. Add a new one to ``spoken``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from memory.integrations.base import Dialect

# Modules of this package with a ``DIALECT``, in the order people read them.
MODULES: Final = ("atomicmemory", "gateway", "mem0", "langgraph", "anthropic")


def spoken() -> tuple[Dialect, ...]:
    """Return every dialect of this installation."""
    made = (import_module(f"memory.integrations.{name}.routes") for name in MODULES)
    return tuple(module.DIALECT for module in made)
