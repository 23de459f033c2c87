"""Routine cases: each is a short chain of causally linked entries in one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crewship_memory.demo import cast, clock, model, runs, slots, source

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from datetime import datetime

STEP_KEYS = {"type", "by", "chance", "say", "severity", "episodic"}
GENEROSITY = 2.1


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of case: its frequency, its hours, its possible steps."""

    crew: str
    row: source.Table

    @property
    def label(self) -> str:
        return source.text(self.row, "name")

    def weight(self, day: int) -> float:
        since = source.number(self.row, "since", -99)
        until = source.number(self.row, "until", 0)
        if not since <= day <= until:
            return 0.0
        return source.number(self.row, "weight", 1) * self._burst(day)

    def _burst(self, day: int) -> float:
        bursts = self.row.get("bursts", [])
        for burst in bursts if isinstance(bursts, list) else []:
            first, last, times = burst if isinstance(burst, list) else (0, 0, 1)
            numbers = [float(str(number)) for number in (first, last, times)]
            if numbers[0] <= day <= numbers[1]:
                return numbers[2]
        return 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """One generated case: its agent, its entries, its outcome."""

    kind: Kind
    day: int
    agent: str
    entries: tuple[model.DemoEntry, ...]


def kinds(crew: str) -> list[Kind]:
    """Return the kinds of routine cases of a crew."""
    document = source.document(f"cases_{crew}.toml")
    return [Kind(crew, row) for row in source.tables(document["kind"])]


def played(kind: Kind, start: datetime, time: clock.Clock, rng: random.Random) -> Case:
    """Generate one case from a moment on and return its entries."""
    day = time.day_of(start)
    scene = _scene(kind, start, time, rng)
    story = runs.opening(scene, kind.row)
    for step in _selected_steps(source.tables(kind.row["step"]), rng):
        scene.wait(rng.randint(2, 18))
        story.append(_step(scene, step))
    scene.wait(rng.randint(1, 6))
    story.extend(runs.closing(scene))
    return Case(kind, day, scene.agent, tuple(story))


def _scene(
    kind: Kind, start: datetime, time: clock.Clock, rng: random.Random
) -> runs.Scene:
    agent = rng.choice(cast.workers_of(kind.crew))
    if kind.crew == "web" and rng.random() < 0.3:
        agent = cast.lead_of(kind.crew)
    peer = rng.choice([a.slug for a in cast.AGENTS if a.slug != agent])
    mission = source.optional_text(kind.row, "mission")
    return runs.Scene(
        crew=kind.crew,
        agent=agent,
        at=start,
        rng=rng,
        slots=slots.random_slots(rng, time.day_of(start))
        | {"worker": agent, "peer": peer},
        mission=cast.open_mission(mission, start, time),
        label=kind.label,
    )


def _selected_steps(
    steps: list[source.Table], rng: random.Random
) -> Iterator[source.Table]:
    """Yield at least one step; a refund is not both granted and denied."""
    happened = [
        step
        for step in steps
        if rng.random() < source.number(step, "chance", 0.5) * GENEROSITY
    ] or [rng.choice(steps)]
    verdict_given = False
    for step in happened:
        is_verdict = source.text(step, "type").startswith("approval.")
        if not (is_verdict and verdict_given):
            yield step
        verdict_given = verdict_given or is_verdict


def _step(scene: runs.Scene, step: source.Table) -> model.DemoEntry:
    """Question, reason and answer use the slot values of their summary."""
    entry_type = source.text(step, "type")
    templates = source.texts(step["say"])
    variant = scene.rng.randrange(len(templates))
    template = templates[variant]
    summary = slots.filled(template, scene.slots)
    summary = summary[:1].upper() + summary[1:]
    payload = {
        key: slots.one_filled(value, scene.slots, variant)
        for key, value in step.items()
        if key not in STEP_KEYS
    }
    if entry_type == "memory.recorded":
        ticket = scene.slots["ticket"]
        payload["content"] = f"{summary} ({scene.label}, ticket {ticket})"
    agent = cast.lead_of(scene.crew) if step.get("by") == "lead" else scene.agent
    return scene.entry(
        entry_type,
        summary,
        payload,
        agent=agent,
        severity=source.optional_text(step, "severity"),
        refs={"episodic": True} if step.get("episodic") else {},
        is_personal="{first}" in template,
    )
