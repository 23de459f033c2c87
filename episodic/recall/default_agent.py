"""The agent that a recall is shown for before somebody names one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from memory.journal import queries
from memory.rules.permissions import Actor

# The newest entries that are looked at: a workspace of system entries is not scanned.
RECENT_ENTRIES: Final = 200


def choose(actor: Actor, agent_ids: Collection[str], previous: str) -> str:
    """Return the agent last asked as, else the most recently active one, else ""."""
    if previous in agent_ids:
        return previous
    rows = queries.visible_entries(actor).order_by("-ts", "-seq")
    recent = rows.values_list("agent_id", flat=True)[:RECENT_ENTRIES]
    return next((str(agent_id) for agent_id in recent if agent_id in agent_ids), "")
