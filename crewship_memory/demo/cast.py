"""The crews, agents and missions of the demo."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from crewship_memory.demo import clock, model, source

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

_CAST = source.document("cast.toml")

CREWS = tuple(
    model.DemoCrew(
        slug=source.text(row, "slug"),
        name=source.text(row, "name"),
        purpose=source.text(row, "purpose"),
    )
    for row in source.tables(_CAST["crew"])
)
AGENTS = tuple(
    model.DemoAgent(
        slug=source.text(row, "slug"),
        name=source.text(row, "name"),
        role=source.text(row, "role"),
        crew=source.text(row, "crew"),
        walk_depth=int(source.number(row, "walk_depth", 0)),
    )
    for row in source.tables(_CAST["agent"])
)
MISSIONS = tuple(
    model.DemoMission(
        id=source.text(row, "id"),
        title=source.text(row, "title"),
        crew=source.text(row, "crew"),
        lead=source.text(row, "lead"),
        opened=source.text(row, "opened"),
        closed=source.optional_text(row, "closed"),
    )
    for row in source.tables(_CAST["mission"])
)
AGENT_BY_SLUG = {agent.slug: agent for agent in AGENTS}
MISSION_BY_ID = {mission.id: mission for mission in MISSIONS}


def lead_of(crew: str) -> str:
    """Return the slug of a crew's lead."""
    return next(a.slug for a in AGENTS if a.crew == crew and a.role == "LEAD")


def workers_of(crew: str) -> list[str]:
    """Return the slugs of a crew's agents without the lead."""
    return [a.slug for a in AGENTS if a.crew == crew and a.role == "AGENT"]


def span(mission: model.DemoMission, time: clock.Clock) -> tuple[datetime, datetime]:
    """Return when a mission began and when it ended, or now."""
    end = time.moment(mission.closed) if mission.closed else time.now
    return time.moment(mission.opened), end


def open_mission(mission_id: str | None, at: datetime, time: clock.Clock) -> str | None:
    """Return the mission when it is open at that moment."""
    if mission_id is None:
        return None
    first, last = span(MISSION_BY_ID[mission_id], time)
    return mission_id if first <= at <= last else None


def mission_entries(time: clock.Clock, rng: random.Random) -> Iterator[model.DemoEntry]:
    """Yield the status entries of the missions."""
    for mission in MISSIONS:
        first, last = span(mission, time)
        yield _note(mission, first, "mission.created", f"Opened: {mission.title}")
        yield from _progress(mission, first, last, rng)
        if mission.closed:
            transition = {"from": "IN_PROGRESS", "to": "DONE"}
            say = f"Done: {mission.title}"
            yield _note(mission, last, "mission.status_change", say, **transition)


def _progress(
    mission: model.DemoMission, first: datetime, last: datetime, rng: random.Random
) -> Iterator[model.DemoEntry]:
    steps = rng.randint(14, 40)
    at = first
    while True:
        at = (at + timedelta(days=rng.randint(3, 5))).replace(
            hour=rng.randint(9, 16), minute=rng.randint(0, 59)
        )
        if at >= last:
            return
        completed = max(1, int(steps * ((at - first) / (last - first)) * 0.9))
        say = f"{completed} of {steps} steps done: {mission.title}"
        yield _note(mission, at, "mission.comment", say, done=completed, steps=steps)


def _note(
    mission: model.DemoMission,
    at: datetime,
    entry_type: str,
    say: str,
    **payload: model.Json,
) -> model.DemoEntry:
    return model.DemoEntry(
        ts=at,
        crew=mission.crew,
        agent=mission.lead,
        entry_type=entry_type,
        severity=model.severity_of(entry_type),
        summary=say,
        payload={"mission": mission.title, **payload},
        mission_id=mission.id,
    )
