"""Test the connection to the remote provider with the present settings.

Its health alone proves too little: a server that answers may know neither our workspace
nor our agents. So one recall follows, which changes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, gettext_noop

from memory.models import Agent, Workspace
from memory.providers import base, parity_runs, registry, remote
from memory.providers.base import Binding
from memory.rules import errors, permissions
from memory.rules.permissions import Actor

PERMISSION: Final = "providers.manage"
PROBE_QUERY: Final = "connection test"
WORKS: Final = gettext_noop("The remote provider answers and takes our key.")
NO_AGENT: Final = gettext_noop(
    "It answers; there is no agent yet for whom a recall could be tried."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test of the connection; ``message`` is a sentence."""

    ok: bool
    message: str
    milliseconds: float


def _recall(workspace: Workspace) -> str:
    """Run one recall as an agent; return a sentence about the result."""
    agent = Agent.objects.filter(workspace=workspace).order_by("created_at").first()
    if agent is None:
        return NO_AGENT
    binding = Binding(
        by=permissions.system(workspace.id, "connection test"),
        workspace_id=workspace.id,
        agent_id=agent.id,
        crew_id=agent.crew_id,
    )
    request = base.Recall(workspace_id=workspace.id, query=PROBE_QUERY, limit=1)
    registry.provider(workspace, binding, remote.NAME).recall(request)
    return WORKS


def test(*, by: Actor) -> Outcome:
    """Ask the remote provider for its health and for one recall, for an admin."""
    by.require(PERMISSION)
    workspace = Workspace.objects.get(pk=by.workspace_id)
    start = time.perf_counter()
    ok = False
    status = parity_runs.check_health(workspace, registry.entry(remote.NAME))
    message = status.message
    if status.ok:
        try:
            message, ok = _recall(workspace), True
        except errors.AppError as error:
            sentence = gettext("It answers, and refuses a recall for this workspace.")
            message = f"{sentence} {error}"
    milliseconds = (time.perf_counter() - start) * 1000
    return Outcome(ok, message, round(milliseconds, 1))
