"""When the worker is woken after an append, and who gets a row to embed."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crewship_memory.celery import app
from crewship_memory.index_thread import IndexThread
from episodic import tasks
from episodic.embedders import thread_priority
from episodic.index import sweep as index
from episodic.models import Embedding, State
from memory.jobs import dispatch
from tests import factories, waiting
from tests.world import World


def test_one_message_is_sent_per_half_gathering_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[int] = []
    monkeypatch.setattr(dispatch, "send", lambda *_, **__: messages.append(1))
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 1_000)
    app.conf.crewship_delivers = True
    nudge = tasks.Nudge()
    nudge._last = -1_000.0
    for _ in range(5):
        nudge(embeddable=1)
    assert messages == [1]
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 0)
    nudge(embeddable=1)
    assert messages == [1, 1]


def test_a_thread_of_this_process_is_woken_without_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[int] = []
    monkeypatch.setattr(dispatch, "send", lambda *_, **__: messages.append(1))
    app.conf.crewship_delivers = True
    nudge, calls = tasks.Nudge(), list[int]()
    nudge.wake = lambda: calls.append(1)
    nudge(embeddable=0)
    nudge(embeddable=2)
    assert (calls, messages) == ([1], [])


@pytest.mark.parametrize(("length", "pause"), [(0.0, 0.06), (0.1, 0.1), (9.0, 0.15)])
def test_a_long_sweep_is_followed_by_a_longer_pause(
    monkeypatch: pytest.MonkeyPatch, length: float, pause: float
) -> None:
    pacing = tasks.Pacing()
    pacing.swept(100.0, 100.0 + length)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + length)
    assert pacing.wait() == pytest.approx(pause)
    monkeypatch.setattr(time, "monotonic", lambda: 110.0)
    assert pacing.wait() == pytest.approx(tasks.GATHER_SECONDS)


@pytest.mark.django_db(transaction=True)
def test_the_index_thread_embeds_what_is_appended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 0)
    thread = IndexThread()
    thread.start()
    try:
        row = world.entry()
        rows = Embedding.objects.filter(pk=row.pk, state=State.INDEXED)
        waiting.until(rows.exists)
    finally:
        thread.stop()
    assert tasks.nudge.wake is None


def test_the_index_thread_ends_when_it_is_stopped_as_it_begins_to_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thread = IndexThread()
    thread._appended.set()
    forget = thread._appended.clear

    def stopped_and_forgotten() -> None:
        thread.ended.set()
        thread._appended.set()
        forget()

    monkeypatch.setattr(thread._appended, "clear", stopped_and_forgotten)
    monkeypatch.setattr(thread_priority, "lower", lambda: None)
    monkeypatch.setattr(tasks.pacing, "wait", lambda: 0.0)
    monkeypatch.setattr(tasks, "embed_soon", lambda: None)
    thread.start()
    thread.join(waiting.LIMIT_SECONDS)
    assert not thread.is_alive()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="about SQLite's planner")
def test_new_rows_are_looked_for_in_the_index_of_those_that_wait(world: World) -> None:
    world.indexed()
    with CaptureQueriesContext(connection) as queries:
        index.sweep(only_new=True)
    looks = [q["sql"] for q in queries if "DISTINCT" in q["sql"]]
    assert looks
    with connection.cursor() as cursor:
        for sql in looks:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            assert "embedding_waiting" in str(cursor.fetchall())


@pytest.mark.skipif(sys.platform != "linux", reason="niceness of a thread")
def test_a_background_thread_steps_back_and_never_forward() -> None:
    levels: list[int] = []

    def step_back() -> None:
        for own in (0, 15):
            thread_id = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread_id, own)
            thread_priority.lower()
            levels.append(os.getpriority(os.PRIO_PROCESS, thread_id))

    own = os.getpriority(os.PRIO_PROCESS, 0)
    if own > 0:
        pytest.skip("this process has stepped back itself")
    thread = threading.Thread(target=step_back)
    thread.start()
    thread.join()
    assert levels == [thread_priority.NICENESS, 15]


def test_a_claim_gives_a_row_to_one_alone(
    world: World,
) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(9)])
    index.discover(world.acme.id)
    ids = list(Embedding.objects.values_list("pk", flat=True))
    now = timezone.now()
    assert index.claim(ids[:4], now) == ids[:4]
    assert index.claim(ids, now) == ids[4:]
    assert index.claim(ids, now) == []
    later = now + index.LEASE + timedelta(seconds=1)
    assert index.claim(ids, later) == ids
