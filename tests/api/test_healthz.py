"""Probes and metrics: open to whom they should be, and honest."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from crewship_memory import bootstrap, healthz, issue_key
from crewship_memory.shared_cache import SharedCache
from memory import outages
from memory.accounts import api_keys

PATHS = ("/livez", "/readyz", "/metrics")


def local_client() -> Client:
    """Return somebody on this machine, who types its name."""
    return Client(SERVER_NAME="localhost")


def key_of(role: str) -> str:
    key_request = issue_key.KeyRequest(
        workspace="probe-shop", email=f"{role}@probe.example", role=role, create=True
    )
    return issue_key.issue(key_request).token


@pytest.mark.parametrize("path", PATHS)
def test_nobody_needs_to_sign_in(db: None, path: str) -> None:
    assert local_client().get(path).status_code == 200
    assert local_client().post(path).status_code == 405


def test_livez_asks_nobody() -> None:
    # Without the db fixture a query would raise.
    assert Client().get("/livez").json() == {"alive": True}


def test_readyz_tells_what_it_looked_at(db: None) -> None:
    body = Client().get("/readyz").json()
    assert body["ready"] is True
    assert body["reasons"] == []
    assert body["degraded"] == []
    assert set(body["checks"]) >= {
        *("database", "schema", "migrations", "integrity"),
        *("data_directory", "installation", "disk", "redis"),
    }
    assert body["embedder"]["name"].startswith("hashing")


def test_a_silent_database_makes_it_unready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> None:
        raise OperationalError("password=hunter2")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", silent)
        patch.setitem(healthz.CHECKS, "migrations", healthz._Migrations())
        answer = Client().get("/readyz")
    assert answer.status_code == 503
    reasons = answer.json()["reasons"]
    assert reasons[0] == "The database does not answer."
    assert len(reasons) == len(set(reasons))
    assert b"hunter2" not in answer.content


def test_a_waiting_migration_makes_it_unready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(healthz.CHECKS, "migrations", healthz._Migrations())
    monkeypatch.setattr(healthz, "waiting_migrations", lambda: ["memory.0099_more"])
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["1 migrations are not applied."]


def test_a_lost_data_folder_makes_it_unready(
    db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "gone")
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert "The data folder cannot be written to." in answer.json()["reasons"]


def test_a_newer_schema_makes_it_unready(db: None) -> None:
    MigrationRecorder(connection).record_applied("memory", "9999_from_later")
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    (reason,) = answer.json()["reasons"]
    assert "memory.9999_from_later" in reason
    assert "Start the newer version" in reason


def test_another_apps_migration_is_none_of_ours(db: None) -> None:
    MigrationRecorder(connection).record_applied("shop", "9999_from_later")
    assert Client().get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [
        (healthz.FULL_BYTES - 1, 503, "is full"),
        (healthz.FULL_BYTES, 200, "nearly full"),
        (healthz.LOW_BYTES, 200, ""),
    ],
)
def test_room_runs_out_in_two_steps(
    db: None, monkeypatch: pytest.MonkeyPatch, free: int, status: int, words: str
) -> None:
    monkeypatch.setattr(healthz, "free_bytes", lambda: free)
    answer = Client().get("/readyz")
    body = answer.json()
    assert (answer.status_code, body["ready"]) == (status, status == 200)
    assert words in " ".join([*body["reasons"], *body["degraded"]])
    assert bool(body["degraded"]) is (status == 200 and bool(words))


def test_a_write_refused_for_want_of_room_is_named_for_a_while(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outages.meaning(OSError(errno.ENOSPC, "No space left on device"))
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["degraded"]) == (200, [outages.REFUSED])
    monkeypatch.setattr(outages, "REFUSED_SECONDS", 0.0)
    assert Client().get("/readyz").json()["degraded"] == []


def test_noted_damage_makes_it_unready(db: None) -> None:
    outages.damage.note()
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert "restore the last backup" in answer.json()["reasons"][0]


def test_without_redis_it_is_degraded_and_ready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(healthz, "cache", SharedCache("redis://127.0.0.1:1/0", {}))
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert answer.json()["degraded"] == [healthz.NO_REDIS]


def test_metrics_count_without_naming_a_tenant(db: None) -> None:
    bootstrap.bootstrap("secret-tenant", "boss@secret.example")
    body = local_client().get("/metrics").content.decode()
    for name in (
        "crewship_journal_entries_total",
        "crewship_index_pending",
        "crewship_index_failed",
        "crewship_embedder_up",
        "crewship_embedder_last_ms",
        "crewship_query_cache_hits_total",
        "crewship_word_index_bytes",
    ):
        assert f"\n{name} " in body
    assert "secret" not in body


@pytest.mark.parametrize(
    ("caller", "status"),
    [("operator", 200), ("admin", 200), ("viewer", 403), ("compliance", 403)],
)
def test_from_elsewhere_metrics_need_a_key(db: None, caller: str, status: int) -> None:
    token = f"Bearer {key_of(caller)}"
    answer = Client(REMOTE_ADDR="192.0.2.7").get(
        "/metrics", headers={"Authorization": token}
    )
    assert answer.status_code == status


def test_from_elsewhere_a_revoked_or_missing_key_is_not_enough(db: None) -> None:
    far = Client(REMOTE_ADDR="192.0.2.7")
    assert far.get("/metrics").status_code == 401
    assert far.get("/metrics", headers={"X-API-Key": "cmk_no"}).status_code == 401
    assert api_keys.authenticate("cmk_no") is None


def test_a_proxy_on_this_machine_does_not_make_the_world_local(db: None) -> None:
    for header in ("X-Forwarded-For", "Forwarded"):
        answer = local_client().get("/metrics", headers={header: "198.51.100.1"})
        assert answer.status_code == 401
