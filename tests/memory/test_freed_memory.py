"""Memory given back after a large load."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from episodic.index import engine
from episodic.vectors import cache as vector_cache
from episodic.vectors.base import VectorScope
from episodic.vectors.scan import ScanIndex
from memory import freed_memory
from memory.word_index import cache as word_cache
from tests.world import World


def test_a_c_library_that_can_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("sys.platform", "linux")
    library = SimpleNamespace(malloc_trim=asked.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    freed_memory.give_back()
    assert asked == [0]


def test_a_c_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    freed_memory.give_back()
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delattr(ctypes, "CDLL")
    freed_memory.give_back()


@pytest.mark.sqlite
@pytest.mark.parametrize(("many", "times"), [(1, 2), (10_000, 0)])
def test_it_follows_a_large_load_of_words_and_of_vectors(
    world: World, monkeypatch: pytest.MonkeyPatch, many: int, times: int
) -> None:
    world.indexed("one", by="ada")
    given_back: list[None] = []
    monkeypatch.setattr(freed_memory, "give_back", lambda: given_back.append(None))
    monkeypatch.setattr(vector_cache, "MANY", many)
    monkeypatch.setattr(word_cache, "MANY", many)
    word_cache.indexes.clear()
    scope = VectorScope(workspace_id=world.acme.id, model="hashing-512-v1")
    ScanIndex().search(engine.embedder().embed_query("one"), scope, 9)
    assert len(given_back) == times
