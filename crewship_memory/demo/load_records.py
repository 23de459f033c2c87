"""The demo's records: some as first said, one revised by a person, one superseded."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.models import Agent, Record, Workspace
from memory.records import Amendment, Provenance
from memory.records.drafts import Draft, Scope
from memory.rules.permissions import Actor, AgentRole, Role

STORY: Final = Path(__file__).with_name("records.toml")


def load(workspace: Workspace, by: Actor) -> int:
    """Save the records once; return how many. ``by`` curates what a person curated."""
    if Record.objects.filter(workspace=workspace).exists():
        return 0
    rows = tomllib.loads(STORY.read_text())["record"]
    saved: dict[str, Record] = {}
    for row in rows:
        saved[row["name"]] = _save(workspace, row, saved, by)
    return len(saved)


def _writer(agent: Agent) -> Actor:
    return Actor(
        role=Role.AGENT,
        workspace_id=agent.workspace_id,
        id=agent.id,
        label=agent.slug,
        crew_id=agent.crew_id,
        agent_role=AgentRole(agent.role),
    )


def _draft(row: dict[str, Any], owner: Owner) -> Draft:
    days = row.get("days")
    return Draft(
        content=row.get("then", row["text"]),
        owner=owner,
        kind=row["kind"],
        scope=Scope(
            user=row.get("user", ""),
            namespace=row.get("namespace", ""),
            thread=row.get("thread", ""),
        ),
        session_id=row.get("thread", ""),
        confidence=row["confidence"],
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        external_id=row["name"],
        subjects=tuple(row.get("people", ())),
    )


def _save(
    workspace: Workspace, row: dict[str, Any], saved: dict[str, Record], by: Actor
) -> Record:
    agents = Agent.objects.select_related("crew__workspace")
    agent = agents.get(workspace=workspace, crew__slug=row["crew"], slug=row["agent"])
    writer = _writer(agent)
    owner = Owner(agent.crew, None if row.get("shared") else agent)
    draft = _draft(row, owner)
    provenance = (
        Provenance.USER_REQUESTED if row.get("asked") else Provenance.AGENT_EXTRACTED
    )
    if "instead" in row:
        sources, reason = [saved[row["instead"]]], row["why"]
        return records.supersede(
            sources, draft, provenance=provenance, reason=reason, by=writer
        ).record
    record = records.save(draft, provenance=provenance, by=writer).record
    if "then" not in row:
        return record
    curated = bool(row.get("curated"))
    return records.amend(
        record,
        Amendment(content=row["text"]),
        provenance=Provenance.OPERATOR_CURATED if curated else provenance,
        reason=row["why"],
        by=by if curated else writer,
    )
