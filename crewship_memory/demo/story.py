"""The demo journal: the same moment and seed give the same entries.

Hand-written threads (`script/threads`) carry the plot. Routine cases, missions, evening
summaries and nightly lessons are woven around them from templates.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from crewship_memory.demo import cast, clock, model, routine, threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

WORKSPACE = "fairlead"
CREWS = cast.CREWS
AGENTS = cast.AGENTS
MISSIONS = cast.MISSIONS
DemoEntry = model.DemoEntry


def entries(now: datetime, *, seed: int = 7) -> Iterator[model.DemoEntry]:
    """Five weeks of entries, oldest first, none later than `now`."""
    time = clock.Clock.starting(now)
    story = [*threads.entries(time, _chance(seed, "threads"))]
    story.extend(cast.mission_entries(time, _chance(seed, "missions")))
    for crew in cast.CREWS:
        story.extend(_daily_life(crew.slug, time, seed))
    past = (entry for entry in story if entry.ts <= time.now)
    yield from sorted(past, key=lambda entry: entry.ts)


def mission_dates(
    mission: model.DemoMission, now: datetime
) -> tuple[datetime, datetime | None]:
    """Return when a mission opened and when it was done, None while it is open."""
    first, last = cast.span(mission, clock.Clock.starting(now))
    return first, last if mission.closed else None


def _daily_life(crew: str, time: clock.Clock, seed: int) -> Iterator[model.DemoEntry]:
    chance = _chance(seed, crew)
    played = list(routine.played_cases(crew, time, chance))
    for case in played:
        yield from case.entries
    yield from routine.evenings(crew, played, time, chance)
    yield from routine.nights(crew, time, chance)


def _chance(seed: int, part: str) -> random.Random:
    """Return a generator of its own per part, so that editing one changes no other."""
    return random.Random(f"{seed}:{part}")  # noqa: S311 - a story, not a secret
