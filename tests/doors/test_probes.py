"""Probes and metrics: open to whom they should be, and honest."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client

from crewship_memory import founding, issuing, probes
from memory import keys

PATHS = ("/livez", "/readyz", "/metrics")


def key_of(role: str) -> str:
    wanted = issuing.Wanted(
        workspace="probe-shop", email=f"{role}@probe.example", role=role, create=True
    )
    return issuing.issue(wanted).token


@pytest.mark.parametrize("path", PATHS)
def test_nobody_needs_to_sign_in(db: None, path: str) -> None:
    assert Client().get(path).status_code == 200
    assert Client().post(path).status_code == 405


def test_livez_asks_nobody() -> None:
    # Without the db fixture a query would raise.
    assert Client().get("/livez").json() == {"alive": True}


def test_readyz_tells_what_it_looked_at(db: None) -> None:
    body = Client().get("/readyz").json()
    assert body["ready"] is True
    assert body["reasons"] == []
    looked_at = {"database", "migrations", "data_directory", "installation"}
    assert set(body["checks"]) == looked_at
    assert body["embedder"]["name"].startswith("hashing")


def test_a_silent_database_makes_it_unready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> None:
        raise OperationalError("password=hunter2")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", silent)
        answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert "The database does not answer." in answer.json()["reasons"]
    assert b"hunter2" not in answer.content


def test_a_waiting_migration_makes_it_unready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(probes.CHECKS, "migrations", probes._Migrations())
    monkeypatch.setattr(probes, "waiting_migrations", lambda: ["memory.0099_more"])
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


def test_metrics_count_without_naming_a_tenant(db: None) -> None:
    founding.found("secret-tenant", "boss@secret.example")
    body = Client().get("/metrics").content.decode()
    for name in (
        "crewship_journal_entries_total",
        "crewship_index_pending",
        "crewship_index_failed",
        "crewship_embedder_up",
        "crewship_embedder_last_ms",
        "crewship_query_cache_hits_total",
    ):
        assert f"\n{name} " in body
    assert "secret" not in body


@pytest.mark.parametrize(
    ("who", "status"),
    [("operator", 200), ("admin", 200), ("viewer", 403), ("compliance", 403)],
)
def test_from_elsewhere_metrics_need_a_key(db: None, who: str, status: int) -> None:
    token = f"Bearer {key_of(who)}"
    answer = Client(REMOTE_ADDR="192.0.2.7").get(
        "/metrics", headers={"Authorization": token}
    )
    assert answer.status_code == status


def test_from_elsewhere_a_revoked_or_missing_key_is_not_enough(db: None) -> None:
    far = Client(REMOTE_ADDR="192.0.2.7")
    assert far.get("/metrics").status_code == 401
    assert far.get("/metrics", headers={"X-API-Key": "cmk_no"}).status_code == 401
    assert keys.authenticate("cmk_no") is None


def test_a_proxy_on_this_machine_does_not_make_the_world_local(db: None) -> None:
    for header in ("X-Forwarded-For", "Forwarded"):
        answer = Client().get("/metrics", headers={header: "198.51.100.1"})
        assert answer.status_code == 401
