"""Every process flushes its caches, and the run knows whether it did."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from episodic.index import engine
from episodic.recall import name_index
from episodic.scopes import Reach
from episodic.vectors.base import VectorScope
from episodic.vectors.scan import ScanIndex
from gdpr import linking
from gdpr.erasure import finish, process_caches
from gdpr.models import CaseState, ForgetOrder, LiveProcess
from memory.scanner import ciphers, normalise, respelled
from tests.episodic import matrices
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL, WORD
from tests.processes import database_url
from tests.world import World


class _Other:
    """Another process that caches a query about Maria."""

    def __init__(self, world: World) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.gdpr.listener", world.acme.id,
             f"{WORD} {MAIL}"],
            env={
                **os.environ,
                "DATABASE_URL": database_url(),
                "DJANGO_SETTINGS_MODULE": "crewship_memory.settings",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.kept = self._line()

    def _line(self) -> str:
        out = self.child.stdout
        assert out is not None
        return out.readline().strip()

    def keeps(self) -> str:
        """Return what it caches now: queries, workspaces with names, words."""
        stdin: IO[str] | None = self.child.stdin
        assert stdin is not None
        stdin.write("?\n")
        stdin.flush()
        return self._line()


@contextmanager
def _other_process(world: World) -> Iterator[_Other]:
    other = _Other(world)
    try:
        yield other
    finally:
        other.child.send_signal(signal.SIGCONT)
        other.child.kill()
        other.child.communicate()


@pytest.mark.slow
def test_another_process_flushes_its_caches_before_the_search(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    with _other_process(world) as other:
        # On PostgreSQL the counts of words are in the database alone.
        held = "1 1 1" if connection.vendor == "sqlite" else "1 1 0"
        assert other.kept == held
        case = erasing.erased(world, subject)
        assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
        assert other.keeps() == "0 0 0"
    step = case.steps.get(name="processes")
    assert step.counts == {"processes": 1, "unconfirmed": 0}
    assert finish.unconfirmed(step) == []


@pytest.mark.slow
def test_a_process_that_does_not_confirm_is_reported(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    monkeypatch.setattr(process_caches, "MAX_WAIT_SECONDS", 0.5)
    erasing.lived_in(world)
    subject = erasing.maria(world)
    with _other_process(world) as other:
        other.child.send_signal(signal.SIGSTOP)
        case = erasing.erased(world, subject)
        step = case.steps.get(name="processes")
        assert step.counts == {"processes": 1, "unconfirmed": 1}
        (sentence,) = finish.unconfirmed(step)
        assert "1 of 1" in sentence
        other.child.send_signal(signal.SIGCONT)


@pytest.mark.django_db
def test_a_dead_process_is_not_waited_for(world: World) -> None:
    long_ago = Now() - 2 * process_caches.DEAD_AFTER
    LiveProcess.objects.create(pk="1:dead", seen_at=long_ago)
    LiveProcess.objects.create(pk="2:alive", seen_at=Now())
    number = process_caches.order_flush(world.acme.id)
    assert process_caches.pending(number) == 1
    assert not LiveProcess.objects.filter(pk="1:dead").exists()
    LiveProcess.objects.filter(pk="2:alive").update(obeyed=number)
    assert process_caches.wait_for_all(number, lambda: None, max_seconds=0) == 0


@pytest.mark.django_db
def test_a_listener_carries_out_each_order_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces: list[str] = []
    monkeypatch.setattr(process_caches, "flush", workspaces.append)
    listener = process_caches.Listener()
    ForgetOrder.objects.create(workspace_id="ws_a")
    last = ForgetOrder.objects.create(workspace_id="ws_b")
    listener.poll()
    assert sorted(workspaces) == ["ws_a", "ws_b"]
    assert LiveProcess.objects.get(pk=listener.name).obeyed == last.pk
    listener.poll()
    assert len(workspaces) == 2


@pytest.mark.django_db
def test_forgetting_leaves_nothing_of_names_and_questions(world: World) -> None:
    erasing.maria(world)
    engine.embedder().embed_query(f"where is {MAIL}?")
    linking.people_index(world.acme.id)
    name_index.of(Reach(world.acme.id, "workspace"))
    process_caches.flush(world.acme.id)
    assert engine.embedder().count(lambda _: True) == 0
    assert linking.clear_cache() == 0
    assert name_index.clear() == 0


@pytest.mark.sqlite
@pytest.mark.django_db
def test_a_matrix_nobody_asks_is_wiped_as_well(world: World) -> None:
    entry = world.indexed(f"{MAIL} asked about {WORD}")
    index, using = engine.vectors(), engine.embedder()
    assert isinstance(index, ScanIndex)
    scope = VectorScope(workspace_id=world.acme.id, model=using.model)
    vector = using.embed_query(WORD)
    matrix, view = index.view(scope, len(vector))
    at = matrix.position(entry.id)
    assert at is not None
    assert not matrices.is_wiped(view, at)
    entry.embedding.delete()
    process_caches.flush(world.acme.id)
    assert matrix.position(entry.id) is None
    assert matrices.is_wiped(view, at)


@pytest.mark.django_db
def test_words_and_expressions_kept_in_memory_are_dropped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[bool] = []
    monkeypatch.setattr(re, "purge", lambda: purged.append(True))
    ciphers.unleet("m4ria")
    normalise._unmask_word("Mаria")
    respelled._unturned("ariamay")
    respelled._settled.add("maria")
    process_caches.flush(world.acme.id)
    for words in (ciphers.unleet, normalise._unmask_word, respelled._unturned):
        assert words.cache_info().currsize == 0
    assert respelled._settled == set()
    assert purged == [True]


@pytest.mark.sqlite
@pytest.mark.django_db
def test_a_thread_drops_its_pages_once_after_each_flush(
    world: World, django_assert_num_queries: Any
) -> None:
    process_caches.flush(world.acme.id)
    with django_assert_num_queries(0):
        process_caches.shrink_pages()
    process_caches._flushes += 1
    with django_assert_num_queries(1) as queries:
        process_caches.shrink_pages()
    assert queries.captured_queries[0]["sql"] == "PRAGMA shrink_memory"
