"""The wires in the order people read them."""

from __future__ import annotations

from typing import Final

from memory.integrations import mcp_selftest
from memory.integrations.anthropic import selftest as anthropic
from memory.integrations.atomicmemory import selftest as atomicmemory
from memory.integrations.gateway import selftest as gateway
from memory.integrations.langgraph import selftest as langgraph
from memory.integrations.mem0 import selftest as mem0
from memory.integrations.promptkit import selftest as promptkit
from memory.integrations.selftest_server import Wire

WIRES: Final[tuple[Wire, ...]] = (
    mcp_selftest.WIRE,
    promptkit.WIRE,
    atomicmemory.WIRE,
    gateway.WIRE,
    mem0.WIRE,
    langgraph.WIRE,
    anthropic.WIRE,
)
