"""The hand-written entries: what happened, why, and what was learned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from crewship_memory.demo import cast, clock, model, source

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

WITH_CONTENT = "memory.recorded"
TRACED = {"exec", "run", "eval", "credential"}


def entries(time: clock.Clock, rng: random.Random) -> Iterator[model.DemoEntry]:
    """Yield the hand-written entries."""
    for name in source.thread_names():
        document = source.document(name)
        mission = source.optional_text(document, "mission")
        for row in source.tables(document["entry"]):
            yield _entry(row, mission, time, rng)


def _entry(
    row: source.Table, mission: str | None, time: clock.Clock, rng: random.Random
) -> model.DemoEntry:
    agent = cast.AGENT_BY_SLUG[source.text(row, "by")]
    entry_type = source.text(row, "type")
    jitter = timedelta(milliseconds=rng.randrange(60_000))
    is_traced = entry_type.partition(".")[0] in TRACED
    return model.DemoEntry(
        ts=time.moment(source.text(row, "when")) + jitter,
        crew=agent.crew,
        agent=agent.slug,
        entry_type=entry_type,
        severity=source.optional_text(row, "severity") or model.severity_of(entry_type),
        summary=time.dated(source.text(row, "say")),
        payload=_payload(row, time),
        refs={"episodic": True} if row.get("episodic") else {},
        mission_id=source.optional_text(row, "mission") or mission,
        trace_id=f"{rng.getrandbits(128):032x}" if is_traced else None,
        span_id=f"{rng.getrandbits(64):016x}" if is_traced else None,
        priority=source.optional_text(row, "priority") or "normal",
        subjects=tuple(source.texts(row.get("subjects"))),
    )


def _payload(row: source.Table, time: clock.Clock) -> dict[str, model.Json]:
    payload = time.dated_all(row.get("payload", {}))
    result = payload if isinstance(payload, dict) else {}
    if source.text(row, "type") == WITH_CONTENT:
        result.setdefault("content", time.dated(source.text(row, "say")))
    return result
