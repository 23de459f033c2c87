"""What ``up`` loads before anybody asks, and in which order."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import pytest
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from crewship_memory import background, data_folder, sqlite_integrity, warm_up
from crewship_memory.management.commands import up
from episodic.index import engine
from episodic.vectors import rows as vector_rows
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import bytes_of
from episodic.vectors.scan import ScanIndex
from gdpr.erasure import process_caches
from memory.journal import erasure
from memory.models import AgentKey, ChainHead, JournalEntry, OperatorKey
from memory.scanner import word_forms
from memory.word_index import cache as word_cache
from memory.word_index import rows as word_rows
from memory.word_index.cache import indexes
from tests.episodic import doubles
from tests.world import World

MODEL, DIM = "hashing-512-v1", 512


@pytest.fixture
def two_workspaces(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Workspaces of which any number of entries is enough; nothing is loaded."""
    monkeypatch.setattr(warm_up, "MIN_ENTRIES", 1)
    world.indexed("one", by="ada")
    world.indexed("two", by="olga")
    for keys in (AgentKey.objects, OperatorKey.objects):
        keys.update(last_used_at=None)
    indexes.clear()
    index = engine.vectors()
    if isinstance(index, ScanIndex):
        index.clear()
    return world


def _scope(workspace_id: str) -> VectorScope:
    return VectorScope(workspace_id=workspace_id, model=MODEL)


def test_the_workspace_used_last_comes_first_and_then_the_larger(
    two_workspaces: World,
) -> None:
    acme, other = two_workspaces.acme.id, two_workspaces.other.id
    for small, large in ((acme, other), (other, acme)):
        ChainHead.objects.filter(pk=small).update(seq=100)
        ChainHead.objects.filter(pk=large).update(seq=200)
        assert warm_up.in_order() == [(large, 200), (small, 100)]
    key = AgentKey.objects.filter(workspace_id=other)
    key.update(last_used_at=timezone.now() - timedelta(days=1))
    assert [name for name, _ in warm_up.in_order()] == [other, acme]
    person = OperatorKey.objects.filter(workspace_id=acme)
    person.update(last_used_at=timezone.now())
    assert [name for name, _ in warm_up.in_order()] == [acme, other]


def test_a_small_workspace_is_left_to_its_first_question(
    two_workspaces: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "MIN_ENTRIES", 1_000)
    ChainHead.objects.filter(pk=two_workspaces.acme.id).update(seq=1_000)
    assert warm_up.in_order() == [(two_workspaces.acme.id, 1_000)]


@given(st.lists(st.integers(1, 4_000_000)), st.integers(1, 900), st.integers(1, 900))
def test_what_is_loaded_fits_in_memory(sizes: list[int], words: int, room: int) -> None:
    named = [(str(number), size) for number, size in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(settings, "WORD_INDEX_MB", words)
        patched.setattr(settings, "VECTOR_MEMORY_MB", room)
        chosen = warm_up.fitting(named, 384)
    taken = [size for name, size in named if name in chosen]
    word_room = words * 2**20 - sum(taken) * warm_up.WORD_BYTES
    vector_room = room * 2**20 - sum(bytes_of(size, 384) for size in taken)
    assert word_room >= 0
    assert vector_room >= 0
    # Whatever is left out would not fit beside all of them.
    assert all(
        size * warm_up.WORD_BYTES > word_room or bytes_of(size, 384) > vector_room
        for name, size in named
        if name not in chosen
    )


@pytest.mark.sqlite
def test_words_and_vectors_are_there_before_anybody_asks(
    two_workspaces: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = engine.vectors()
    assert isinstance(index, ScanIndex)
    ids = [two_workspaces.acme.id, two_workspaces.other.id]
    monkeypatch.setattr(settings, "WORD_INDEX_MB", 0)
    assert warm_up.load_workspaces(DIM) == []
    monkeypatch.setattr(settings, "WORD_INDEX_MB", 1)
    assert sorted(warm_up.load_workspaces(DIM)) == sorted(ids)
    assert all(indexes.holds(name) and index.holds(_scope(name)) for name in ids)


@pytest.mark.sqlite
def test_longer_texts_than_expected_drop_no_better_workspace(
    two_workspaces: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, next_one = two_workspaces.acme.id, two_workspaces.other.id
    monkeypatch.setattr(warm_up, "in_order", lambda: [(best, 9), (next_one, 9)])
    monkeypatch.setattr(settings, "WORD_INDEX_MB", 1)
    # By the estimate there is room for both.
    room = indexes.view(best) and indexes.nbytes * 3 // 2
    indexes.clear()
    for module in (warm_up, word_cache):
        monkeypatch.setattr(module, "_MEGABYTE", room)
    assert warm_up.fitting(warm_up.in_order(), 0) == [best, next_one]
    assert warm_up.load_workspaces(DIM) == [best]
    assert indexes.holds(best)


@pytest.mark.sqlite
def test_without_an_embedder_the_words_are_there(two_workspaces: World) -> None:
    index, name = engine.vectors(), two_workspaces.acme.id
    assert isinstance(index, ScanIndex)
    engine.use(doubles.Down())
    word_forms.tables.cache_clear()
    warm_up.run()
    assert word_forms.tables.cache_info().currsize == 1
    assert indexes.holds(name)
    assert not index.holds(_scope(name))


@pytest.mark.sqlite
def test_a_question_meanwhile_waits_for_the_same_load(
    two_workspaces: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, is_loading, is_asked = list[str](), threading.Event(), threading.Event()
    count = vector_rows.count

    def counting(workspace_id: str, model: str) -> int:
        loads.append(workspace_id)
        is_loading.set()
        assert is_asked.wait(20)
        return count(workspace_id, model)

    monkeypatch.setattr(vector_rows, "count", counting)
    monkeypatch.setattr(warm_up, "in_order", lambda: [(two_workspaces.acme.id, 1)])
    thread = warm_up.start(then=connections.close_all)
    assert is_loading.wait(20)
    vector = engine.embedder().embed_query("one")
    is_asked.set()
    answer = engine.vectors().search(vector, _scope(two_workspaces.acme.id), 9)
    thread.join()
    assert len(answer.hits) == 1
    assert loads == [two_workspaces.acme.id]


@pytest.mark.sqlite
@pytest.mark.parametrize("source", [word_rows, vector_rows])
def test_what_is_erased_while_it_is_loaded_leaves_memory(
    shared_world: World, source: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, row = shared_world.acme.id, shared_world.indexed("one", by="ada")
    index = engine.vectors()
    assert isinstance(index, ScanIndex)
    indexes.clear()
    index.clear()
    is_read, is_erased, read_all = threading.Event(), threading.Event(), source.read_all

    def slow(*args: object) -> Iterator[object]:
        yield from list(read_all(*args))
        is_read.set()
        assert is_erased.wait(20)

    monkeypatch.setattr(source, "read_all", slow)
    monkeypatch.setattr(warm_up, "in_order", lambda: [(home, 1)])
    loading = warm_up.start(then=connections.close_all)
    assert is_read.wait(20)
    erasure.erase(home, [row.id])
    JournalEntry.objects.filter(pk=row.id).delete()
    is_erased.set()
    process_caches.flush(home)
    loading.join()
    monkeypatch.setattr(word_rows, "read_docids", _not_again)
    monkeypatch.setattr(vector_rows, "read_ids", _not_again)
    view = indexes.view(home)
    assert view.docids_with_words([row.docid]) == []
    assert view.find([row.id]).tolist() == [-1]
    matrix, rows = index.view(_scope(home), DIM)
    assert matrix.position(row.id) is None
    assert not rows.columns.vectors[np.flatnonzero(~rows.columns.alive)].any()


def _not_again(*_: object) -> None:
    raise AssertionError


def test_what_follows_follows_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_dim: int) -> None:
        raise OSError

    monkeypatch.setattr(warm_up, "load_workspaces", fail)
    is_over = threading.Event()
    warm_up.start(then=is_over.set).join()
    assert is_over.is_set()


def test_the_file_is_checked_though_nothing_was_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "LONGEST_LOAD", 0.0)
    is_checked = threading.Event()
    monkeypatch.setattr(sqlite_integrity, "watch", is_checked.set)
    parts = "_worker Service ProcessThreads IndexThread app task_prerun".split()
    for part in parts:
        monkeypatch.setattr(background, part, MagicMock())
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    threads = background.BackgroundThreads()
    # The server never answers, or the embedder never does.
    threads.start()
    assert is_checked.wait(20)
    assert threads.stop()


def test_up_collects_garbage_once_everything_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data_folder, "make_private", lambda: "Others can read it.")
    gc.disable()
    try:
        with pytest.raises(CommandError, match="Others can read it"):
            up.Command().handle(demo=False, host="127.0.0.1", port=0, threads=1)
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
