"""The demo's memory files, held texts and records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from crewship_memory.demo import story
from memory import records
from memory.files import writer
from memory.files.paths import Owner
from memory.files.quarantine import HeldForReview
from memory.files.writer import Request
from memory.models import Agent, Crew, HeldFile, MemoryFile, Record, Workspace
from memory.records import Amendment, Provenance
from memory.records.drafts import Draft, Scope
from memory.review import decide as review
from memory.review.decide import Decision
from memory.rules import tiers
from memory.rules.permissions import Actor, AgentRole, Role
from memory.rules.tiers import Place, Tier, WriteMode

# Put together here, so that no scanner of repositories takes it for a key of ours.
KEY: Final = "_".join(("sk", "live", "51Q9fDemoNotARealKey0a4f2a7c"))


def load_files(workspace: Workspace, by: Actor) -> None:
    """Write the files and the held texts, once.

    ``by`` writes the files of the crews, and decides the texts that have a decision.
    """
    if MemoryFile.objects.filter(workspace=workspace).exists():
        return
    data = story.document("held.toml", timezone.now().date())
    for row in data["file"]:
        _write(workspace, row, by)
    for row in data["held"]:
        try:
            _write(workspace, row, by)
        except HeldForReview as held_text:
            held_file = HeldFile.objects.get(pk=held_text.fields["held_id"])
            _backdate_and_decide(held_file, row, by)


def _write(workspace: Workspace, row: dict[str, Any], by: Actor) -> None:
    if "agent" in row:
        agent, by = _agent(workspace, row["agent"])
        owner = Owner(agent.crew, agent)
    else:
        crews = Crew.objects.select_related("workspace")
        owner = Owner(crews.get(workspace=workspace, slug=row["crew"]))
    place = tiers.split(row["label"]) or Place(Tier.AGENT)
    # Characters of the block of tags are invisible: readable here, hidden in the text.
    tags = "".join(chr(0xE0000 + ord(char)) for char in row.get("tags", ""))
    text = row["text"].lstrip("\n").replace("{tags}", tags).replace("{key}", KEY)
    source = row.get("source", "tool")
    writer.write(Request(owner, place, text, WriteMode.APPEND, source), by=by)


def _agent(workspace: Workspace, slug: str) -> tuple[Agent, Actor]:
    """Return an agent, and the same as an actor."""
    agents = Agent.objects.select_related("crew__workspace")
    agent = agents.get(workspace=workspace, slug=slug)
    return agent, Actor(
        role=Role.AGENT,
        workspace_id=agent.workspace_id,
        id=agent.id,
        label=agent.slug,
        crew_id=agent.crew_id,
        agent_role=AgentRole(agent.role),
    )


def actor_of(workspace: Workspace, slug: str) -> Actor:
    """Return an agent as the services know it."""
    return _agent(workspace, slug)[1]


def _backdate_and_decide(held_file: HeldFile, row: dict[str, Any], by: Actor) -> None:
    at = timezone.now() - timedelta(minutes=row["minutes"])
    HeldFile.objects.filter(pk=held_file.pk).update(received_at=at, last_seen_at=at)
    if "decision" in row:
        review.decide(
            held_file,
            Decision(row["decision"]),
            version=held_file.version,
            reason=row["reason"],
            by=by,
        )


def load_records(workspace: Workspace, by: Actor) -> None:
    """Save the records, once; ``by`` curates what a person curated."""
    if Record.objects.filter(workspace=workspace).exists():
        return
    rows = story.document("records.toml", timezone.now().date())["record"]
    saved: dict[str, Record] = {}
    for row in rows:
        saved[row["name"]] = _save(workspace, row, saved, by)


def _save(
    workspace: Workspace, row: dict[str, Any], saved: dict[str, Record], by: Actor
) -> Record:
    agent, by_agent = _agent(workspace, row["agent"])
    draft = _draft(row, Owner(agent.crew, None if row.get("shared") else agent))
    provenance = (
        Provenance.USER_REQUESTED if row.get("asked") else Provenance.AGENT_EXTRACTED
    )
    if "instead" in row:
        return records.supersede(
            [saved[row["instead"]]],
            draft,
            provenance=provenance,
            reason=row["why"],
            by=by_agent,
        ).record
    record = records.save(draft, provenance=provenance, by=by_agent).record
    if "then" not in row:
        return record
    is_curated = row.get("curated", False)
    return records.amend(
        record,
        Amendment(content=row["text"]),
        provenance=Provenance.OPERATOR_CURATED if is_curated else provenance,
        reason=row["why"],
        by=by if is_curated else by_agent,
    )


def _draft(row: dict[str, Any], owner: Owner) -> Draft:
    thread, days = row.get("thread", ""), row.get("days")
    return Draft(
        content=row.get("then", row["text"]),
        owner=owner,
        kind=row["kind"],
        scope=Scope(
            user=row.get("user", ""),
            namespace=row.get("namespace", ""),
            thread=thread,
        ),
        session_id=thread,
        confidence=row["confidence"],
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        external_id=row["name"],
        subjects=tuple(row.get("people", ())),
    )
