"""A data folder that is gone or somebody else's removes nothing from memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from crewship_memory import file_watcher
from memory import tasks
from memory.files import erasure, reading, reconcile, versions
from memory.files.reconcile import Report
from memory.installation import identity as installation
from memory.jobs import registry as jobs
from memory.models import JobRun, JournalEntry, MemoryVersion
from memory.review import rescan
from memory.stored_files.store import RootLost
from tests.memory.files import kit
from tests.world import World

MARK = "installation.id"


def _removed_folder(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def _emptied(folder: Path) -> None:
    _removed_folder(folder)
    folder.mkdir()


def _foreign(folder: Path) -> None:
    (folder / MARK).write_text("inst_0123456789abcdef")


def _a_file(folder: Path) -> None:
    _removed_folder(folder)
    folder.write_text("not a folder")


def _without_trees(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.move(path, folder.with_name(f"away-{path.name}"))


DAMAGES = [_removed_folder, _emptied, _foreign, _a_file, _without_trees]
Damage = Callable[[Path], None]


def _entries(kind: str) -> int:
    return JournalEntry.objects.filter(entry_type=kind).count()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_sweep_stops_and_removes_nothing(
    world: World, data_dir: Path, damage: Damage
) -> None:
    kit.write(world, "Refunds end at $200.")
    damage(data_dir / "files")
    for slug in (None, "acme"):
        with pytest.raises(RootLost):
            reconcile.sweep(slug)
    assert _entries("memory.removed") == 0
    assert kit.row(world).sha256
    assert [version.number for version in versions.log(kit.row(world))] == [1]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_read_is_an_error_and_no_empty_text(
    world: World, data_dir: Path, damage: Damage
) -> None:
    kit.write(world, "Refunds end at $200.")
    damage(data_dir / "files")
    ada = world.actor("ada")
    with pytest.raises(RootLost):
        reading.read(kit.owner(world), kit.place("AGENT.md"), by=ada)
    with pytest.raises(RootLost):
        reading.search(kit.owner(world), "refunds", by=ada)
    for name, arguments in (
        ("memory.read", {"tier": "AGENT"}),
        ("memory.search", {"q": "refunds"}),
    ):
        reply = world.api("ada").post(f"/memory/tools/{name}", arguments)
        assert (reply.status, reply.code) == (503, "data_folder_lost")


def test_what_comes_back_is_what_it_was(world: World, data_dir: Path) -> None:
    kit.write(world, "Refunds end at $200.")
    _removed_folder(data_dir / "files")
    assert installation.problem() is not None
    (data_dir / "away").rename(data_dir / "files")
    assert installation.problem() is None
    assert reconcile.sweep().removed == 0
    text = reading.read(kit.owner(world), kit.place("AGENT.md"), by=world.actor("ada"))
    assert text.text == "Refunds end at $200."


def test_a_file_that_was_taken_away_by_hand_is_removed(
    world: World, data_dir: Path
) -> None:
    kit.write(world, "Refunds end at $200.")
    kit.on_disk(world).unlink()
    assert installation.problem() is None
    assert reconcile.sweep().removed == 1
    assert _entries("memory.removed") == 1


def test_an_unfinished_write_is_not_forgotten_for_a_lost_folder(
    world: World, data_dir: Path
) -> None:
    kit.write(world, "first")
    versions.begin(kit.row(world), b"second", by=world.actor("ada"), source="tool")
    _without_trees(data_dir / "files")
    with pytest.raises(RootLost):
        reconcile.notice(kit.owner(world), kit.place("AGENT.md"))
    assert MemoryVersion.objects.filter(file=kit.row(world)).count() == 2


@pytest.mark.parametrize("damage", [_removed_folder, _emptied, _foreign])
def test_lost_blobs_stop_retention_erasure_and_rescan(
    world: World, data_dir: Path, damage: Damage
) -> None:
    kit.write(world, "one")
    kit.write(world, "two")
    damage(data_dir / "blobs")
    with pytest.raises(RootLost):
        versions.prune(world.acme.id, days=1, newest=1)
    with pytest.raises(RootLost):
        jobs.get("retention").act(world.acme.id)
    with pytest.raises(RootLost):
        list(erasure.texts(kit.row(world)))
    with pytest.raises(RootLost):
        list(erasure.strays(world.acme.id, "acme"))
    with pytest.raises(RootLost):
        rescan.rescan(world.actor("operator"))
    assert MemoryVersion.objects.filter(file=kit.row(world)).count() == 2


def test_the_watcher_stops_at_a_lost_folder(world: World, data_dir: Path) -> None:
    kit.write(world, "ours")
    path = kit.on_disk(world)
    _without_trees(data_dir / "files")
    # Its own connection is closed at the end, which a test's may not be.
    with pytest.raises(RootLost):
        reconcile.visit(path.relative_to(data_dir / "files").parts, Report())
    assert file_watcher.look(data_dir / "files", []).removed == 0


def test_a_job_says_why_it_stopped(world: World, data_dir: Path) -> None:
    kit.write(world, "ours")
    _removed_folder(data_dir / "files")
    tasks.files_sweep()
    noted = JobRun.objects.filter(name="files_sweep").latest("pk")
    assert noted.state == "failed"
    assert "The folder files of the data folder is gone" in noted.error
    run = jobs.run_now("retention", by=world.actor("operator"))
    assert run.state == "failed"
    assert "The folder files of the data folder is gone" in run.error


@pytest.mark.parametrize("name", ["files", "blobs", "keys"])
@pytest.mark.parametrize("damage", [_removed_folder, _emptied, _foreign])
def test_readyz_says_it_at_the_next_request(
    world: World, data_dir: Path, name: str, damage: Damage
) -> None:
    assert Client().get("/readyz").status_code == 200
    damage(data_dir / name)
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    (reason,) = answer.json()["reasons"]
    assert reason.startswith(f"The folder {name} of the data folder ")
    assert "adopt_data_folder" in reason
    assert str(data_dir) not in reason


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/journal", {"entry_type": "a.b", "summary": "no"}),
    ("/api/v1/records", {"content": "no"}),
    ("/api/v1/memory/tools/memory.write", {"tier": "AGENT", "content": "no"}),
    ("/compat/mem0/v3/memories/add", {"messages": []}),
    ("/compat/anthropic/memory", {"command": "create"}),
    ("/gateway/memories/add", {}),
    (
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
         "params": {"name": "memory.write", "arguments": {}}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_writes_are_refused_in_one_shape(
    world: World, data_dir: Path, path: str, body: dict[str, Any]
) -> None:
    _removed_folder(data_dir / "files")
    before = JournalEntry.objects.count()
    answer = Client().post(
        path,
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {world.tokens['ada']}"},
    )
    assert answer.status_code == 503
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "installation_mismatch"
    assert JournalEntry.objects.count() == before


def test_recall_goes_on(world: World, data_dir: Path) -> None:
    world.indexed("Refunds above $200 need a manager")
    _removed_folder(data_dir / "files")
    body = {"query": "who approves refunds?"}
    reply = world.api("ada").post("/episodic/recall", body)
    assert (reply.status, len(reply.data["hits"])) == (200, 1)
    assert world.api("ada").get("/journal").status == 200


def test_a_page_says_it_calmly_and_signing_in_goes_on(
    world: World, data_dir: Path
) -> None:
    _removed_folder(data_dir / "files")
    answer = world.page("operator").post("/journal/verify/")
    assert answer.status_code == 503
    assert "The folder files of the data folder is gone" in answer.content.decode()
    form = {"login": "owner@acme.example", "password": "wrong"}
    assert world.page("nobody").post("/accounts/login/", form).status_code == 200
