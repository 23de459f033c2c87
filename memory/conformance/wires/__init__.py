"""The wires in the order people read them."""

from __future__ import annotations

from typing import Final

from memory.conformance.stand import Wire
from memory.conformance.wires import (
    anthropic,
    atomicmemory,
    gateway,
    langgraph,
    mcp,
    mem0,
    promptkit,
)

WIRES: Final[tuple[Wire, ...]] = (
    mcp.WIRE,
    promptkit.WIRE,
    atomicmemory.WIRE,
    gateway.WIRE,
    mem0.WIRE,
    langgraph.WIRE,
    anthropic.WIRE,
)
