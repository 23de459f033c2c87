"""Entries around a run: calls, commands, cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from crewship_memory.demo import model, slots, source

if TYPE_CHECKING:
    import random

MODELS = ("small-sort-2", "large-write-4")
PRICES = {"small-sort-2": 0.0000004, "large-write-4": 0.000006}
HOSTS = (
    "psp.fairlead.example",
    "track.norrbotten-freight.example",
    "cdn.fairlead.example",
    "stock.bergen.example",
)
FAULTS = (
    "timeout after 30 s",
    "two identical failures in a row",
    "connection reset by the other side",
    "answer was not JSON",
)


@dataclass(slots=True)
class Scene:
    """One run while it is generated."""

    crew: str
    agent: str
    at: datetime
    rng: random.Random
    slots: slots.Slots
    mission: str | None
    label: str
    trace: str = ""
    cost: float = 0.0
    started_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.started_at = self.at
        self.trace = f"{self.rng.getrandbits(128):032x}"

    def wait(self, minutes: int) -> None:
        self.at += timedelta(minutes=minutes)

    def entry(  # noqa: PLR0913 - a journal entry has that many sides
        self,
        entry_type: str,
        summary: str,
        payload: dict[str, model.Json],
        *,
        agent: str | None = None,
        severity: str | None = None,
        refs: dict[str, model.Json] | None = None,
        is_personal: bool = False,
    ) -> model.DemoEntry:
        self.at += timedelta(milliseconds=self.rng.randint(900, 48_000))
        return model.DemoEntry(
            ts=self.at,
            crew=self.crew,
            agent=agent or self.agent,
            entry_type=entry_type,
            severity=severity or model.severity_of(entry_type),
            summary=summary,
            payload=payload,
            refs=refs or {},
            mission_id=self.mission,
            trace_id=self.trace,
            span_id=f"{self.rng.getrandbits(64):016x}",
            subjects=(str(self.slots["email"]),) if is_personal else (),
        )

    @property
    def run_id(self) -> str:
        return f"run_{self.trace[:8]}"


def opening(scene: Scene, kind: source.Table) -> list[model.DemoEntry]:
    story: list[model.DemoEntry] = []
    asks = source.texts(kind.get("asks"))
    if asks:
        say = slots.filled(scene.rng.choice(asks), scene.slots)
        payload: dict[str, model.Json] = {"message": say, "from": scene.slots["email"]}
        story.append(scene.entry("chat.user_message", say, payload, is_personal=True))
    story.append(_started(scene))
    story.append(_llm_call(scene, MODELS[0]))
    story.extend(_command(scene, kind))
    if scene.rng.random() < 0.12:
        story.append(_egress(scene))
    if scene.rng.random() < 0.5:
        story.append(_llm_call(scene, MODELS[1]))
    return story


def closing(scene: Scene) -> list[model.DemoEntry]:
    """Return the entries that end a run: completed, or occasionally failed."""
    seconds = int((scene.at - scene.started_at).total_seconds())
    payload: dict[str, model.Json] = {"run_id": scene.run_id, "duration_s": seconds}
    if scene.rng.random() < 0.05:
        fault = scene.rng.choice(FAULTS)
        say = f"{scene.run_id} failed on {scene.label}: {fault}"
        return [scene.entry("run.failed", say, payload | {"error": fault})]
    say = f"{scene.run_id} closed: {scene.label}, {seconds // 60} min"
    story = [scene.entry("run.completed", say, payload)]
    if scene.rng.random() < 0.25:
        story.append(_cost(scene))
    return story


def _started(scene: Scene) -> model.DemoEntry:
    say = f"{scene.run_id} started: {scene.label}"
    payload: dict[str, model.Json] = {"run_id": scene.run_id, "trigger": "ticket"}
    return scene.entry("run.started", say, payload)


def _llm_call(scene: Scene, name: str) -> model.DemoEntry:
    tokens_in = scene.rng.randint(900, 9_000)
    tokens_out = scene.rng.randint(60, 900)
    cost = round((tokens_in + 4 * tokens_out) * PRICES[name], 5)
    scene.cost += cost
    payload: dict[str, model.Json] = {
        "model": name,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost_usd": cost,
    }
    say = f"{name}: {tokens_in:,} tokens in, {tokens_out} out, ${cost:.4f}"
    return scene.entry("llm.call", say, payload)


def _command(scene: Scene, kind: source.Table) -> list[model.DemoEntry]:
    if scene.rng.random() < 0.4:
        return []
    command = slots.filled(
        scene.rng.choice(source.texts(kind["commands"])), scene.slots
    )
    payload: dict[str, model.Json] = {"command": command, "exit_code": 0}
    story = [scene.entry("exec.command", command, payload)]
    if scene.rng.random() < 0.5:
        out = slots.filled(scene.rng.choice(source.texts(kind["outputs"])), scene.slots)
        chunk: dict[str, model.Json] = {"stream": "stdout", "bytes": len(out.encode())}
        story.append(scene.entry("exec.output_chunk", out, chunk))
    return story


def _egress(scene: Scene) -> model.DemoEntry:
    host = scene.rng.choice(HOSTS)
    size = scene.rng.randint(800, 64_000)
    payload: dict[str, model.Json] = {"host": host, "bytes": size, "port": 443}
    return scene.entry("network.egress", f"{host}:443, {size:,} bytes", payload)


def _cost(scene: Scene) -> model.DemoEntry:
    cost = round(scene.cost, 4)
    say = f"{scene.run_id} cost ${cost:.4f}"
    payload: dict[str, model.Json] = {"run_id": scene.run_id, "cost_usd": cost}
    return scene.entry("cost.incurred", say, payload)
