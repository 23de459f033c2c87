"""Entries by time of day: cases by hour, evening summaries, nightly lessons."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from crewship_memory.demo import cases, cast, clock, model, source

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

FIRST_DAY = -35
CASES = {"checkout": 122, "web": 88}
DAY_WEIGHTS = (1.1, 1.05, 1.0, 1.0, 0.95, 0.35, 0.25)
HOURS = range(7, 21)
HOUR_WEIGHTS = (2, 5, 9, 10, 9, 5, 8, 10, 9, 7, 4, 2, 2, 1)


def played_cases(
    crew: str, time: clock.Clock, rng: random.Random
) -> Iterator[cases.Case]:
    """Yield the routine cases of a crew, day by day."""
    kinds = cases.kinds(crew)
    for day, count in _cases_per_day(crew, kinds, time).items():
        weights = [kind.weight(day) for kind in kinds]
        for kind in rng.choices(kinds, weights, k=count):
            hour = rng.choices(HOURS, HOUR_WEIGHTS)[0]
            seconds = hour * 3600 + rng.randrange(3600)
            start = time.midnight(day) + timedelta(seconds=seconds)
            yield cases.played(kind, start, time, rng)


def _cases_per_day(
    crew: str, kinds: list[cases.Kind], time: clock.Clock
) -> dict[int, int]:
    """Fewer at weekends, more during incidents, always the same total."""
    base = sum(source.number(kind.row, "weight", 1) for kind in kinds)
    loads = {
        day: DAY_WEIGHTS[time.midnight(day).weekday()]
        * (1 + sum(kind.weight(day) for kind in kinds) / base)
        for day in range(FIRST_DAY, 1)
    }
    total, carried = sum(loads.values()), 0.0
    counts: dict[int, int] = {}
    for day, load in loads.items():
        carried += CASES[crew] * load / total
        counts[day] = round(carried) - sum(counts.values())
    return counts


def evenings(
    crew: str, played: Iterable[cases.Case], time: clock.Clock, rng: random.Random
) -> Iterator[model.DemoEntry]:
    """One summary per crew and finished day with at least three cases."""
    by_day: dict[int, list[cases.Case]] = {}
    for case in played:
        by_day.setdefault(case.day, []).append(case)
    for day, of_day in sorted(by_day.items()):
        if day < 0 and len(of_day) >= 3:
            yield _evening(crew, day, of_day, time, rng)


def _evening(
    crew: str, day: int, of_day: list[cases.Case], time: clock.Clock, rng: random.Random
) -> model.DemoEntry:
    types = Counter(e.entry_type for case in of_day for e in case.entries)
    topic, top = Counter(case.kind.label for case in of_day).most_common(1)[0]
    facts: dict[str, model.Json] = {
        "cases": len(of_day),
        "topic": topic,
        "top": top,
        "escalated": types["peer.escalation"],
        "denied": types["approval.denied"],
        "agent": Counter(case.agent for case in of_day).most_common(1)[0][0],
    }
    templates = source.texts(source.document("routine.toml")[f"day_{crew}"])
    say = rng.choice(templates).format(
        **facts, weekday=time.weekday(day), date=time.date(day)
    )
    telling = [
        e.summary
        for case in of_day
        for e in case.entries
        if e.entry_type in {"peer.escalation", "approval.denied", "memory.recorded"}
    ]
    return _by_lead(
        crew,
        time,
        (day, 18 * 60 + 30 + rng.randrange(90)),
        ("summary.generated", say),
        facts
        | {
            "summary": ". ".join(telling[:3]),
            "outcome": "partial" if types["run.failed"] else "goal_met",
            "entries_considered": sum(types.values()),
        },
    )


def nights(
    crew: str, time: clock.Clock, rng: random.Random
) -> Iterator[model.DemoEntry]:
    """A lesson every third night, metrics and notes every day."""
    rules = source.texts(source.document("routine.toml")[f"rules_{crew}"])
    rng.shuffle(rules)
    for day in range(FIRST_DAY, 1):
        yield from _metrics(crew, day, time, rng)
        yield from _daily_notes(crew, day, time, rng)
        if rules and day % 3 == 0:
            yield _lessons(crew, day, rules, time, rng)


def _lessons(
    crew: str, day: int, rules: list[str], time: clock.Clock, rng: random.Random
) -> model.DemoEntry:
    rule, scanned = rules.pop(), rng.randint(14, 61)
    payload: dict[str, model.Json] = {
        "rules_count": 1,
        "content": rule,
        "entries_scanned": scanned,
        "output_path": time.dated(f"topics/learned-{{iso{day:+d}}}.md"),
    }
    say = f"Lesson from {scanned} entries: {rule}"
    heading = ("memory.consolidated", say)
    return _by_lead(crew, time, (day, 182), heading, payload)


def _metrics(
    crew: str, day: int, time: clock.Clock, rng: random.Random
) -> Iterator[model.DemoEntry]:
    cpu, memory = rng.randint(4, 71) / 100, rng.randint(280, 690)
    payload: dict[str, model.Json] = {"cpu": cpu, "memory_mb": memory}
    heading = ("container.metrics", f"cpu {cpu:.2f}, memory {memory} MB")
    yield _by_lead(crew, time, (day, rng.randrange(1440)), heading, payload)


def _daily_notes(
    crew: str, day: int, time: clock.Clock, rng: random.Random
) -> Iterator[model.DemoEntry]:
    is_weekend = time.midnight(day).weekday() >= 5
    for agent in cast.workers_of(crew):
        if rng.random() < (0.2 if is_weekend else 0.8):
            size = rng.randint(420, 3900)
            path = time.dated(f"daily/{{iso{day:+d}}}.md")
            payload: dict[str, model.Json] = {"path": path, "bytes": size}
            heading = ("memory.updated", f"{path}, {size:,} bytes by {agent}")
            minute = 16 * 60 + rng.randrange(150)
            note = _by_lead(crew, time, (day, minute), heading, payload, agent=agent)
            yield note


def _by_lead(
    crew: str,
    time: clock.Clock,
    when: tuple[int, int],
    heading: tuple[str, str],
    payload: dict[str, model.Json],
    *,
    agent: str | None = None,
) -> model.DemoEntry:
    day, minute = when
    return model.DemoEntry(
        ts=time.midnight(day) + timedelta(minutes=minute),
        crew=crew,
        agent=agent or cast.lead_of(crew),
        entry_type=heading[0],
        severity=model.severity_of(heading[0]),
        summary=heading[1],
        payload=payload,
    )
