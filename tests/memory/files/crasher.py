"""A process that writes memory files and is killed; run by the crash tests.

``python -m tests.memory.files.crasher DATA_DIR AGENT_ID ACT STEP TEXT`` does one act
and dies at a step; with ACT ``load`` it appends numbered lines until somebody kills it,
and prints each number once the write was acknowledged.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import django


def _die(*_args: Any, **_kwargs: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(step: str) -> None:
    from memory.files import commit

    if step == "temporary":
        os.replace = _die
    else:
        commit.step = lambda name: _die() if name == step else None


def main() -> None:
    """Write as told."""
    django.setup()
    from django.conf import settings

    from memory.files import paths, writer
    from memory.files.writer import Request
    from memory.models import Agent
    from memory.rules import tiers
    from memory.rules.permissions import Actor, Role
    from memory.rules.tiers import WriteMode

    folder, agent_id, act, step, text = sys.argv[1:]
    settings.DATA_DIR = Path(folder)
    agent = Agent.objects.select_related("crew__workspace").get(pk=agent_id)
    by = Actor(
        role=Role.AGENT,
        workspace_id=agent.workspace_id,
        id=agent.id,
        label=agent.slug,
        crew_id=agent.crew_id,
    )
    owner, place = paths.owner_of_agent(agent), tiers.split("daily/2026-05-21.md")
    assert place is not None
    if act == "load":
        number = int(text)
        while True:
            line = f"line {number} " + "x" * 60 + " end"
            request = Request(owner, place, line, WriteMode.APPEND, "tool")
            try:
                writer.write(request, by=by)
            except writer.TierFull:
                mode = WriteMode.REPLACE
                writer.write(Request(owner, place, line, mode, "tool"), by=by)
            print(number, flush=True)  # noqa: T201
            number += 1
    # The blob of the new text is on disk before the step: only live files are torn.
    if step == "temporary":
        from memory.files import versions

        versions.keep(agent.workspace_id, text.encode())
        versions.keep(agent.workspace_id, f"old words\n{text}".encode())
    _arm(step)
    if act == "remove":
        if step == "temporary":
            os.unlink = _die
        writer.remove(owner, place, source="tool", by=by)
    else:
        writer.write(Request(owner, place, text, WriteMode(act), "tool"), by=by)
    print("acknowledged", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
