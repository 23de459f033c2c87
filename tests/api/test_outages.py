"""Database gone, damaged, disk full: the same three answers through every way in."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connection,
)
from django.test import Client
from pytest_django import Settings

from memory import outages
from memory.files import versions
from memory.installation import identity, schema_version
from memory.jobs import registry as jobs
from memory.models import JobRun, JournalEntry
from memory.rules import errors
from tests.world import World

GOOD = {"entry_type": "peer.escalation", "summary": "fine"}
PROBLEM = "application/problem+json"


def native(kind: type[Exception], code: int, text: str) -> OperationalError:
    """Return Django's error with the driver's behind it."""
    behind = kind(text)
    behind.sqlite_errorcode = code  # type: ignore[attr-defined]
    error = OperationalError(text)
    error.__cause__ = behind
    return error


class _PostgresFull(Exception):
    sqlstate = "53100"


def postgres_full() -> OperationalError:
    error = OperationalError("could not extend file")
    error.__cause__ = _PostgresFull()
    return error


FAULTS: list[tuple[Exception, int, str]] = [
    (OperationalError("database or disk is full"), 507, "storage_full"),
    (native(sqlite3.OperationalError, 13, "x"), 507, "storage_full"),
    (postgres_full(), 507, "storage_full"),
    (OSError(errno.ENOSPC, "No space left on device"), 507, "storage_full"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), 507, "storage_full"),
    (DatabaseError("database disk image is malformed"), 503, "database_damaged"),
    (native(sqlite3.DatabaseError, 267, "x"), 503, "database_damaged"),
    (OperationalError("connection refused: hunter2"), 503, "database_unavailable"),
    (native(sqlite3.OperationalError, 5, "locked"), 503, "database_unavailable"),
    (InterfaceError("connection already closed"), 503, "database_unavailable"),
]
NAMES = [f"{code} {type(error).__name__}" for error, _, code in FAULTS]
Failing = Callable[[Exception], AbstractContextManager[None]]


@pytest.fixture
def failing() -> Failing:
    """Return what lets every statement of this thread fail."""

    def fail(error: Exception) -> AbstractContextManager[None]:
        def refuse(*_: Any) -> Any:
            raise error

        return connection.execute_wrapper(refuse)

    return fail


@pytest.fixture
def full() -> Iterator[None]:
    """Let everything be read and nothing be written to the journal."""

    def refuse(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("INSERT INTO") and "journal_entries" in sql:
            raise OperationalError("database or disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse):
        yield


# ── What an exception means ──────────────────────────────────────────────────
@pytest.mark.parametrize(("error", "status", "code"), FAULTS, ids=NAMES)
def test_a_failure_has_one_of_three_meanings(
    error: Exception, status: int, code: str
) -> None:
    error_class = outages.meaning(error)
    assert error_class is not None
    assert (error_class.status, error_class.problem_code) == (status, code)
    assert "hunter2" not in error_class.detail
    assert outages.damage.is_noted is (code == "database_damaged")


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError("UNIQUE constraint failed"),
        ProgrammingError("syntax error"),
        OperationalError("no such table: x"),
        native(sqlite3.OperationalError, 1, "no such column: y"),
        OSError(errno.ENOENT, "No such file"),
        ValueError("database or disk is full"),
        errors.NotFound(),
    ],
)
def test_a_fault_of_ours_is_no_outage(error: Exception) -> None:
    assert outages.meaning(error) is None


@pytest.mark.parametrize(("free", "status"), [(0, 507), (10**9, 503)])
def test_an_input_output_error_is_a_full_disk_where_no_room_is_left(
    monkeypatch: pytest.MonkeyPatch, free: int, status: int
) -> None:
    class Usage:
        def __init__(self) -> None:
            self.free = free

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage())
    error_class = outages.meaning(
        native(sqlite3.OperationalError, 778, "disk I/O error")
    )
    assert error_class is not None and error_class.status == status


# ── Every way in, with a database that refuses everything ────────────────────
def ask(world: World, way: str) -> Any:
    """Send one request by a way, with a credential that would be good."""
    client = Client(raise_request_exception=False)
    key = {"Authorization": f"Bearer {world.tokens['ada']}"}
    body = json.dumps(GOOD)
    kind = "application/json"
    paths = {
        "api": "/api/v1/journal",
        "mcp": "/mcp",
        "mem0": "/compat/mem0/v3/memories/add",
        "langgraph": "/compat/langgraph/store/items/search",
        "anthropic": "/compat/anthropic/memory",
        "atomicmemory": "/compat/atomicmemory/v1/memories/ingest",
    }
    if way == "gateway":
        body = json.dumps({"user_id": "mia", "user_key": "uk_" + "x" * 43})
        return client.post("/gateway/memories/search", body, kind)
    if way == "session":
        client.cookies["crewship_session"] = "x" * 32
        return client.post(paths["api"], body, kind)
    return client.post(paths[way], body, kind, headers=key)


WAYS = ("api", "session", "mcp", "gateway")
WIRES = ("mem0", "langgraph", "anthropic", "atomicmemory")


@pytest.mark.parametrize("way", [*WAYS, *WIRES])
@pytest.mark.parametrize(("error", "status", "code"), FAULTS[::4], ids=NAMES[::4])
def test_no_way_in_answers_html(
    world: World, failing: Failing, way: str, error: Exception, status: int, code: str
) -> None:
    with failing(error):
        reply = ask(world, way)
    problem = json.loads(reply.content)
    assert reply.status_code == status
    assert "hunter2" not in reply.content.decode()
    if way in ("api", "session", "mcp"):
        assert (reply["Content-Type"], problem["code"]) == (PROBLEM, code)


@pytest.mark.parametrize("way", ["api", "anthropic"])
def test_a_full_disk_says_nothing_about_the_keys(
    world: World, failing: Failing, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys are checked again while the disk is full."""
    monkeypatch.setattr(identity, "CHECK_SECONDS", 0.0)
    with failing(OSError(errno.EDQUOT, "Disk quota exceeded")):
        assert ask(world, way).status_code == 507


@pytest.mark.parametrize(
    "path", ["/journal/", "/accounts/login/", "/certificates/check/"]
)
@pytest.mark.parametrize(("error", "status", "_code"), FAULTS[::4], ids=NAMES[::4])
def test_a_page_is_calm_and_asks_nothing_of_the_database(
    world: World, failing: Failing, path: str, error: Exception, status: int, _code: str
) -> None:
    client = world.page("owner")
    client.raise_request_exception = False
    with failing(error):
        reply = client.get(path)
    text = reply.content.decode()
    assert reply.status_code == status
    assert "<h1" in text and "hunter2" not in text


# ── A disk that is full: reading goes on ─────────────────────────────────────
@pytest.mark.usefixtures("full")
def test_an_append_to_a_full_disk_is_a_507_and_reading_goes_on(world: World) -> None:
    rows = JournalEntry.objects.count()
    reply = world.api("ada").post("/journal", GOOD)
    assert (reply.status, reply.code) == (507, "storage_full")
    assert reply.headers["Content-Type"] == PROBLEM
    batch = world.api("ada").post("/journal/batch", {"entries": [GOOD, GOOD]})
    assert batch.status == 507
    assert JournalEntry.objects.count() == rows
    assert world.api("ada").get("/journal").status == 200
    assert world.page("owner").get("/journal/").status_code == 200


@pytest.mark.usefixtures("full")
def test_a_tool_over_mcp_is_a_507_too(world: World) -> None:
    request_body = {"name": "journal.append", "arguments": GOOD}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request_body}
    key = {
        "Authorization": f"Bearer {world.tokens['ada']}",
        "MCP-Protocol-Version": "2025-11-25",
    }
    reply = Client().post("/mcp", json.dumps(call), "application/json", headers=key)
    assert (reply.status_code, reply["Content-Type"]) == (507, PROBLEM)
    assert json.loads(reply.content)["code"] == "storage_full"


def test_a_file_that_finds_no_room_is_a_507(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(versions, "blobs", no_room)
    body = {"tier": "AGENT", "content": "x", "mode": "replace"}
    reply = world.api("ada").post("/memory/tools/memory.write", body)
    assert (reply.status, reply.code) == (507, "storage_full")


# ── What Django refuses itself ───────────────────────────────────────────────
@pytest.mark.parametrize("path", ["/api/v1/me", "/gateway/health", "/mcp"])
def test_a_wrong_host_is_told_in_the_callers_shape(db: None, path: str) -> None:
    reply = Client(HTTP_HOST="evil.example").get(path)
    assert reply.status_code == 400
    assert json.loads(reply.content)


def test_a_bug_outside_of_a_view_is_a_problem_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("crewship_memory.mcp.api_keys.authenticate", bug)
    reply = ask(world, "mcp")
    assert (reply.status_code, reply["Content-Type"]) == (500, PROBLEM)
    assert "hunter2" not in reply.content.decode()


# ── A schema that is newer than the code ─────────────────────────────────────
@pytest.fixture
def newer(world: World) -> World:
    """Let a later version have migrated the database, and look for it now."""
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder(connection).record_applied("gdpr", "9999_from_later")
    schema_version.guard.look_again_at(0.0)
    return world


def test_a_newer_schema_is_read_and_never_written(newer: World) -> None:
    rows = JournalEntry.objects.count()
    reply = newer.api("ada").post("/journal", GOOD)
    assert (reply.status, reply.code) == (503, "schema_newer")
    assert "gdpr.9999_from_later" in reply.data["detail"]
    assert JournalEntry.objects.count() == rows
    assert newer.api("ada").get("/journal").status == 200
    page_reply = newer.page("owner").post(
        "/workspace/agents/crew/", {"slug": "later-crew"}
    )
    assert page_reply.status_code == 503


def test_no_job_runs_on_a_newer_schema(newer: World) -> None:
    by = newer.actor("operator")
    for start in (jobs.nightly, jobs.tick, lambda: jobs.run_now("word_index", by=by)):
        with pytest.raises(schema_version.Newer):
            start()
    assert not JobRun.objects.exists()


def test_the_web_alone_refuses_a_newer_schema(
    newer: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_address: object) -> None:
        pytest.fail("It went on to listen.")

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr("crewship_memory.server.bind", refuse)
    with pytest.raises(CommandError, match=r"gdpr\.9999_from_later"):
        call_command("web")


def test_a_known_schema_is_looked_at_once_in_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def look() -> list[str]:
        looked.append(1)
        return []

    monkeypatch.setattr(schema_version, "unknown", look)
    schema_version.guard.look_again_at(0.0)
    for _ in range(3):
        world.api("ada").post("/journal", GOOD)
    assert looked == [1]


def test_only_steps_that_the_code_has_no_more_are_missing(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db.migrations.recorder import MigrationRecorder

    first, second, both = (("other", name) for name in ("0001", "0002", "0001_both"))
    MigrationRecorder(connection).record_applied(*first)
    steps: dict[Any, list[Any]] = {both: [first, second]}
    monkeypatch.setattr(schema_version, "_code_migrations", lambda: steps)
    assert schema_version.missing_steps() == ["other.0002"]
    # A package that still comes with both can go on from the first.
    steps |= {first: [], second: []}
    assert schema_version.missing_steps() == []
