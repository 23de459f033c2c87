"""The demo's memory files and its held texts."""

from __future__ import annotations

import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from memory.files import paths, writer
from memory.files.paths import Owner
from memory.files.quarantine import HeldForReview
from memory.files.writer import Request
from memory.models import Agent, Crew, HeldFile, MemoryFile, Workspace
from memory.review import decide as review
from memory.review.decide import Decision
from memory.rules import errors, tiers
from memory.rules.permissions import Actor, AgentRole, Role
from memory.rules.tiers import Place, WriteMode

STORY: Final = Path(__file__).with_name("held.toml")
# Put together here, so that no scanner of repositories takes it for a key of ours.
KEY: Final = "_".join(("sk", "live", "51Q9fDemoNotARealKey0a4f2a7c"))


def load(workspace: Workspace, by: Actor) -> int:
    """Write the files and the held texts, once; return how many were held.

    ``by`` decides the two texts that the story has decided already.
    """
    data = tomllib.loads(STORY.read_text())
    today = timezone.now().date()
    if MemoryFile.objects.filter(workspace=workspace).exists():
        return 0
    for row in data["file"]:
        owner = _owner(workspace, row)
        request = _request(owner, row, today, "tool")
        writer.write(request, by=_writer(owner, by))
    return sum(_hold(workspace, row, today, by) for row in data["held"])


def _owner(workspace: Workspace, row: dict[str, Any]) -> Owner:
    if "agent" not in row:
        crews = Crew.objects.select_related("workspace")
        return Owner(crews.get(workspace=workspace, slug=row["crew"]))
    agents = Agent.objects.select_related("crew__workspace").filter(workspace=workspace)
    return paths.owner_of_agent(agents.get(crew__slug=row["crew"], slug=row["agent"]))


def _writer(owner: Owner, by: Actor) -> Actor:
    """Return the writing actor: the agent, or a person for a crew's file."""
    if owner.agent is None:
        return by
    return Actor(
        role=Role.AGENT,
        workspace_id=owner.workspace_id,
        id=owner.agent.id,
        label=owner.agent.slug,
        crew_id=owner.crew.id,
        agent_role=AgentRole(owner.agent.role),
    )


def _request(owner: Owner, row: dict[str, Any], today: date, source: str) -> Request:
    label = row["label"]
    if label == "daily":
        day = today - timedelta(days=row.get("day", 0))
        label = f"daily/{day.isoformat()}.md"
    place = tiers.split(label) or Place(tiers.Tier.AGENT)
    text = row["text"].lstrip("\n")
    hidden = "".join(chr(0xE0000 + ord(char)) for char in row.get("tags", ""))
    text = text.replace("{tags}", hidden).replace("{key}", KEY)
    return Request(owner, place, text, WriteMode.APPEND, source)


def _hold(workspace: Workspace, row: dict[str, Any], today: date, by: Actor) -> int:
    owner = _owner(workspace, row)
    request = _request(owner, row, today, row["source"])
    try:
        writer.write(request, by=_writer(owner, by))
    except HeldForReview as held_text:
        case = HeldFile.objects.get(pk=held_text.fields["held_id"])
        _backdate(case, row["minutes"])
        if "decision" in row:
            _decide(case, row, by)
        return 1
    except errors.AppError:
        return 0
    return 0


def _backdate(case: HeldFile, minutes: int) -> None:
    """Set when a held text arrived to the demo's moment."""
    at = timezone.now() - timedelta(minutes=minutes)
    HeldFile.objects.filter(pk=case.pk).update(received_at=at, last_seen_at=at)


def _decide(case: HeldFile, row: dict[str, Any], by: Actor) -> None:
    live = HeldFile.objects.get(pk=case.pk)
    review.decide(
        live,
        Decision(row["decision"]),
        version=live.version,
        reason=row["reason"],
        by=by,
    )
