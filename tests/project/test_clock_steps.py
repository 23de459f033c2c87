"""The machine's clock is set forwards and back by an hour."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from celery.schedules import schedule
from django.utils import timezone

from crewship_memory.celery import app
from crewship_memory.clock import Clock
from episodic.index import sweep as index
from episodic.models import Embedding, State
from memory.journal import verify
from memory.rules.permissions import system
from tests.world import World

HOUR = timedelta(hours=1)


def test_the_scheduler_goes_on_when_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks: list[str] = []
    monkeypatch.setattr(Clock, "_beat", lambda _: None)
    monkeypatch.setattr(
        Clock, "apply_entry", lambda _, entry, **__: tasks.append(entry.task)
    )
    now = timezone.now()
    with time_machine.travel(now, tick=False) as machine:
        clock = Clock(app, lazy=True)
        entry = clock.Entry(
            name="x", task="gdpr.sweep", schedule=schedule(5.0), app=app
        )
        clock.schedule = {"x": entry}
        for moment in (now, now + HOUR, now + 2 * HOUR, now, now + HOUR / 2):
            machine.move_to(moment)
            count = len(tasks)
            clock.tick()
            # A set-back begins the interval again.
            machine.move_to(moment + timedelta(seconds=6))
            clock.tick()
            assert len(tasks) > count


def test_entries_are_taken_listed_found_and_embedded_once_each(world: World) -> None:
    now = timezone.now()
    ids = list[str]()
    with time_machine.travel(now, tick=False) as machine:
        for hours in (0, 1, 0, -1, 0):
            machine.move_to(now + hours * HOUR)
            ids.append(world.entry(f"The harbour at step {len(ids)}").id)
            index.sweep()
        client, rows, cursor = world.api("ada"), list[str](), ""
        for _ in range(4):
            position = {"cursor": cursor} if cursor else {}
            page = client.get("/journal", {"limit": 2, "q": "harbour"} | position).data
            rows += [row["id"] for row in page["entries"]]
            cursor = page["next_cursor"]
            if not cursor:
                break
        hits = client.post("/episodic/recall", {"query": "harbour", "k": 10}).data
    assert sorted(rows) == sorted(ids)
    assert {hit["entry_id"] for hit in hits["hits"]} == set(ids)
    assert Embedding.objects.filter(pk__in=ids, state=State.INDEXED).count() == 5
    by = system(world.acme.id, "test")
    assert verify.verify(world.acme.id, by=by).ok
