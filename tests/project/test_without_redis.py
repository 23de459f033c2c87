"""Redis is gone: counters are each process's own, messages are not waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from crewship_memory import shared_cache
from crewship_memory.celery import app
from crewship_memory.shared_cache import RedisState, SharedCache
from memory.jobs import dispatch
from memory.jobs import registry as jobs
from memory.models import JobRun, RunState
from tests.project import source
from tests.world import World


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def cache(server: fakeredis.FakeServer, monkeypatch: pytest.MonkeyPatch) -> SharedCache:
    """Return a cache over a Redis that can be switched off."""
    monkeypatch.setattr(shared_cache, "link", RedisState())
    options = {"connection_class": fakeredis.FakeRedisConnection, "server": server}
    shared = SharedCache("redis://127.0.0.1:1/0", {"OPTIONS": options})
    shared.clear()
    return shared


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: now)


def use(cache: SharedCache, prefix: str) -> list[Any]:
    """Call everything that a cache can do."""
    name = f"{prefix}:a"
    before = [
        cache.add(name, 1),
        cache.add(name, 2),
        cache.incr(name),
        cache.get(name),
        cache.touch(name, 60),
        cache.has_key(name),
    ]
    cache.set(name, 7)
    return [
        *before,
        cache.get_many([name]),
        cache.delete(name),
        cache.get(name, "none"),
    ]


def test_it_does_the_same_with_redis_and_without(
    cache: SharedCache, server: fakeredis.FakeServer
) -> None:
    expected = [True, False, 2, 2, True, True, {"x:a": 7}, True, "none"]
    assert use(cache, "x") == expected
    assert not shared_cache.link.is_down
    server.connected = False
    assert use(cache, "x") == expected
    assert shared_cache.link.is_down


def test_a_count_that_is_none_is_refused_either_way(
    cache: SharedCache, server: fakeredis.FakeServer
) -> None:
    for connected in (True, False):
        server.connected = connected
        with pytest.raises(ValueError, match="not found"):
            cache.incr("nothing")


def test_redis_is_asked_again_after_a_while_and_not_before(
    cache: SharedCache,
    server: fakeredis.FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache.set("a", "shared")
    server.connected = False
    assert cache.get("a") is None
    server.connected = True
    assert cache.get("a") is None
    later(monkeypatch, shared_cache.RETRY_SECONDS + 1)
    assert cache.get("a") == "shared"
    assert not shared_cache.link.is_down
    lines = [record.getMessage() for record in caplog.records]
    assert sum("redis_does_not_answer" in line for line in lines) == 1
    assert sum("redis_answers_again" in line for line in lines) == 1


@pytest.mark.parametrize(
    "error", [ResponseError("OOM"), RedisConnectionError(), OSError()]
)
def test_any_fault_of_redis_counts(
    cache: SharedCache, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(cache._shared, "get", fail)
    assert cache.get("a", "none") == "none"
    assert shared_cache.link.is_down


def test_a_real_closed_port_is_no_fault_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_cache, "link", RedisState())
    cache = SharedCache("redis://127.0.0.1:1/0", {})
    assert cache.add("a", 1) is True
    assert shared_cache.link.is_down


def test_an_address_in_a_file_is_one(tmp_path: Path) -> None:
    address = tmp_path / "redis"
    address.write_text("redis://127.0.0.1:1/0")
    script = "from crewship_memory.celery import app; print(app.conf.crewship_delivers)"
    env = os.environ | {"REDIS_URL": "", "REDIS_URL_FILE": str(address)}
    process = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=source.ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout == "True\n"


# ── Messages ─────────────────────────────────────────────────────────────────
def test_a_message_that_cannot_be_sent_costs_one_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts: list[str] = []

    def fail(task: str, **_: Any) -> None:
        attempts.append(task)
        raise OperationalError("gone")

    monkeypatch.setattr(app, "send_task", fail)
    assert [dispatch.send("memory.tick") for _ in range(3)] == [False] * 3
    assert attempts == ["memory.tick"]
    dispatch.broker.reset()
    monkeypatch.setattr(app, "send_task", lambda *_, **__: None)
    assert dispatch.send("memory.tick") is True


def test_what_was_asked_for_waits_in_the_database(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(app, "send_task", fail)
    app.conf.crewship_delivers = True
    with django_capture_on_commit_callbacks(execute=True):
        run = jobs.run_now("compaction", by=world.actor("owner"))
    assert JobRun.objects.get(pk=run.pk).state == RunState.WAITING


def test_an_append_is_acknowledged_without_a_broker(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    attempts: list[int] = []

    def fail(*_: Any, **__: Any) -> None:
        attempts.append(1)
        raise OperationalError("gone")

    monkeypatch.setattr(app, "send_task", fail)
    app.conf.crewship_delivers = True
    with django_capture_on_commit_callbacks(execute=True):
        reply = world.api("ada").post(
            "/journal", {"entry_type": "peer.escalation", "summary": "fine"}
        )
    assert (reply.status, attempts) == (201, [1])
