"""References on a clean stop: what a recall returned is counted before the end."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
from django.db import DatabaseError

from episodic.index import sweep as index
from episodic.index.reference_counts import ReferenceCounts
from tests.project.test_up import Installation, agent, appends_and_recalls
from tests.waiting import LIMIT_SECONDS
from tests.world import World


def test_the_last_flush_waits_for_the_one_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the end of the process would cut the first one off."""
    started, let_go, flushed = threading.Event(), threading.Event(), []

    def slow(counts: dict[str, int], _when: object) -> None:
        started.set()
        let_go.wait(LIMIT_SECONDS)
        flushed.append(counts)

    monkeypatch.setattr(index, "mark_referenced", slow)
    marks = ReferenceCounts()
    marks._thread = threading.main_thread()
    marks.add(["a"])
    first = threading.Thread(target=marks.flush)
    first.start()
    assert started.wait(LIMIT_SECONDS)
    threading.Timer(0.1, let_go.set).start()
    assert marks.drain()
    assert flushed == [{"a": 1}]
    first.join()


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_draining_tries_again_and_gives_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def locked(_counts: object, _when: object) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise DatabaseError("database is locked")

    monkeypatch.setattr(index, "mark_referenced", locked)
    marks = ReferenceCounts()
    marks._thread = threading.main_thread()
    marks.add(["a"])
    assert marks.drain()
    assert len(tries) == 3
    monkeypatch.setattr(index, "mark_referenced", always_locked)
    marks.add(["b"])
    clock = Clock()
    monkeypatch.setattr("episodic.index.reference_counts.time", clock)
    assert not marks.drain(3.0)
    assert 3.0 <= clock.now < 3.5
    assert marks._counts == {"b": 1}


def always_locked(_counts: object, _when: object) -> None:
    raise DatabaseError("database is locked")


def test_what_fails_otherwise_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    def wrong(_counts: object, _when: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(index, "mark_referenced", wrong)
    marks = ReferenceCounts()
    marks._thread = threading.main_thread()
    marks.add(["a"])
    with pytest.raises(RuntimeError):
        marks.flush()
    assert marks._counts == {"a": 1}


@pytest.mark.slow
def test_up_counts_every_reference_before_it_ends(
    tmp_path: Path, migrated_database: Path
) -> None:
    installation = Installation(tmp_path, migrated_database)
    try:
        installation.start()
        entry_id, key = appends_and_recalls(installation, "main")
        before = references(installation, entry_id)
        with agent(installation, key) as client:
            for _ in range(5):
                body = {"query": "lighthouse ladder", "k": 5}
                hits = client.post("/api/v1/episodic/recall", json=body).json()["hits"]
                assert entry_id in [hit["entry_id"] for hit in hits]
        # At once: the buffer is flushed each second, and once more at the end.
        assert installation.end(signal.SIGTERM) == 0
        assert references(installation, entry_id) >= before + 5
    finally:
        if installation.process is not None and installation.process.poll() is None:
            installation.process.kill()
            installation.process.wait()


def references(installation: Installation, entry_id: str) -> int:
    """Return what the database of an installation says."""
    output = installation.manage(
        "shell",
        "-v0",
        "-c",
        "from episodic.models import Embedding as E;"
        f"print(E.objects.get(pk='{entry_id}').reference_count)",
    )
    return int(output.splitlines()[-1])
