"""AtomicMemory as a plugin of the Hermes agent: turns captured, four tools answered."""

from __future__ import annotations

import json
import os
import tempfile
import time
import uuid
from typing import Any

user = "h-" + uuid.uuid4().hex[:8]
os.environ |= {
    "ATOMICMEMORY_API_URL": os.environ["HOUSE_URL"] + "/compat/atomicmemory",
    "ATOMICMEMORY_API_KEY": os.environ["HOUSE_KEY"],
    "ATOMICMEMORY_SCOPE_USER": user,
}

from atomicmemory_hermes import AtomicMemoryMemoryProvider  # noqa: E402
from steps import Steps  # noqa: E402

steps = Steps("atomicmemory-hermes")
plugin = AtomicMemoryMemoryProvider()


def tool(name: str, **args: Any) -> Any:
    """Call a tool the way the agent does; an error is an exception here."""
    result = json.loads(plugin.handle_tool_call(name, args))
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


steps.expect("available", plugin.is_available())
with tempfile.TemporaryDirectory() as home:
    steps.run("initialize", lambda: plugin.initialize("s-1", hermes_home=home))
    steps.run(
        "sync_turn",
        lambda: plugin.sync_turn(
            "My sister Dana keeps bees in Olomouc.", "I will remember that."
        ),
    )
    context = ""
    for _ in range(1_500):
        recalled = json.loads(
            plugin.handle_tool_call("atomicmemory_search", {"query": "bees"})
        )
        context = json.dumps(recalled)
        if "Olomouc" in context:
            break
        time.sleep(0.2)
    steps.expect("the turn was captured", "Olomouc" in context, context)
    remembered = steps.run(
        "tool conclude",
        lambda: tool(
            "atomicmemory_conclude",
            conclusion="The user wants invoices as PDF.",
            content_class="summary",
        ),
    )
    recalled = steps.run(
        "tool search", lambda: tool("atomicmemory_search", query="invoices")
    )
    steps.expect("search finds the conclusion", "PDF" in json.dumps(recalled), recalled)
    recalled = steps.run(
        "tool context", lambda: tool("atomicmemory_context", query="invoices")
    )
    steps.expect("context holds it", "PDF" in json.dumps(recalled), recalled)
    recalled = steps.run("tool profile", lambda: tool("atomicmemory_profile"))
    steps.expect("profile lists it", "PDF" in json.dumps(recalled), recalled)
    plugin.queue_prefetch("which format for invoices?")
    ahead = steps.run("prefetch", lambda: plugin.prefetch("which format for invoices?"))
    steps.expect("prefetch holds it", ahead is not None and "PDF" in ahead, ahead)
    steps.run("shutdown", plugin.shutdown)
steps.finish()
