"""Memory given back after a large load."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest
from django.conf import settings

from episodic.index import engine
from episodic.vectors import cache as vector_cache
from episodic.vectors.base import VectorScope
from episodic.vectors.scan import ScanIndex
from memory import freed_memory
from memory.word_index import cache as word_cache
from tests.world import World


def test_a_c_library_that_can_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    monkeypatch.setattr("sys.platform", "linux")

    def note(*numbers: int) -> None:
        calls.append(numbers)

    library = SimpleNamespace(malloc_trim=note, mallopt=note)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    freed_memory.give_back()
    freed_memory.share()
    assert calls == [(0,), (-8, 1)]


def test_a_c_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    freed_memory.give_back()
    freed_memory.share()
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delattr(ctypes, "CDLL")
    freed_memory.give_back()
    freed_memory.share()


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc",
    reason="only glibc keeps freed memory for each thread",
)
def test_threads_use_again_what_another_freed() -> None:
    """Eight threads take sixteen megabytes each, one after the other."""
    program = """
import sys, threading
import numpy as np
from memory import freed_memory
if sys.argv[1] == "shared":
    freed_memory.share()
def take():
    for _ in range(8):
        parts = [np.ones(2**18) for _ in range(8)]
gates = [threading.Event() for _ in range(8)]
done = threading.Event()
def work(number):
    gates[number].wait()
    take()
    (gates[number + 1] if number < 7 else done).set()
    done.wait()
threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
for thread in threads: thread.start()
gates[0].set()
done.wait()
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0])
"""
    most = {
        way: int(
            subprocess.run(
                [sys.executable, "-c", program, way],
                cwd=settings.BASE_DIR,
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        )
        for way in ("shared", "apart")
    }
    assert most["shared"] * 2 < most["apart"]


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
