"""Whether the remote provider can be used: asked now, with what is set.

Its health alone proves too little: a server that answers may know neither our workspace
nor our agents. So one recall follows, which changes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from memory.models import Agent, Workspace
from memory.providers import base, parity_runs, registry, remote
from memory.providers.base import Bound
from memory.rules import errors, permissions
from memory.rules.permissions import Actor

MAY: Final = "providers.manage"
PROBE: Final = "connection test"
WORKS: Final = "The remote provider answers and takes our key."
NO_AGENT: Final = "It answers; there is no agent yet for whom a recall could be tried."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test of the connection came to; ``message`` is a sentence."""

    ok: bool
    message: str
    milliseconds: float


def _recall(workspace: Workspace) -> str:
    """Ask for one recall as an agent; return what can be said of it."""
    agent = Agent.objects.filter(workspace=workspace).order_by("created_at").first()
    if agent is None:
        return NO_AGENT
    bound = Bound(
        by=permissions.system(workspace.id, "connection test"),
        workspace_id=workspace.id,
        agent_id=agent.id,
        crew_id=agent.crew_id,
    )
    request = base.Recall(workspace_id=workspace.id, query=PROBE, limit=1)
    registry.provider(workspace, bound, remote.NAME).recall(request)
    return WORKS


def test(*, by: Actor) -> Outcome:
    """Ask the remote provider for its health and for one recall, for an admin."""
    by.require(MAY)
    workspace = Workspace.objects.get(pk=by.workspace_id)
    start = time.perf_counter()
    ok = False
    pulse = parity_runs.take_pulse(workspace, registry.entry(remote.NAME))
    message = pulse.message
    if pulse.ok:
        try:
            message, ok = _recall(workspace), True
        except errors.HouseError as error:
            message = f"It answers, and refuses a recall for this workspace. {error}"
    spent = (time.perf_counter() - start) * 1000
    return Outcome(ok, message, round(spent, 1))
