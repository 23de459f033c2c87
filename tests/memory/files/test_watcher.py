"""The watcher, the sweep's task and retention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from crewship_memory import file_watcher, stoppable_thread
from crewship_memory.celery import app
from crewship_memory.file_watcher import Watcher
from memory import tasks, workspace_settings
from memory.files import reconcile, versions
from memory.jobs import registry as jobs
from memory.models import HeldFile, MemoryFile, MemoryVersion, WorkspaceSetting
from memory.workspace_settings import declarations
from tests import waiting
from tests.memory.files import kit
from tests.world import World


@pytest.fixture
def watching(shared_world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world whose files are watched: the watcher saw a first change."""
    kit.write(shared_world, "ours")
    counts: list[int] = []
    look = file_watcher.look

    def noted(root: Path, paths: Iterable[str]) -> reconcile.Report:
        counts.append(1)
        return look(root, paths)

    def seen_now() -> bool:
        # Names that begin with a dot are nobody's memory.
        (Path(settings.DATA_DIR) / "files" / ".probe").touch()
        return bool(counts)

    monkeypatch.setattr(file_watcher, "look", noted)
    monkeypatch.setattr(stoppable_thread, "STOP_SECONDS", waiting.LIMIT_SECONDS)
    thread = Watcher()
    thread.start()
    waiting.until(seen_now, interval=0.05)
    yield shared_world
    assert thread.stop()


def _bodies(world: World, label: str = "AGENT.md", of: str = "ada") -> list[bytes]:
    rows = MemoryFile.objects.filter(label=label, agent=world.agents[of])
    return [versions.read(v) for row in rows for v in versions.log(row)]


@pytest.mark.slow
def test_an_edit_is_versioned_soon(watching: World) -> None:
    kit.put(kit.on_disk(watching), "theirs")
    waiting.until(lambda: _bodies(watching) == [b"theirs", b"ours"])


@pytest.mark.slow
def test_a_file_in_new_nested_folders_is_found(watching: World) -> None:
    kit.put(kit.on_disk(watching, "daily/2026-05-21.md", "bob"), "new and nested")
    label = "daily/2026-05-21.md"
    waiting.until(lambda: bool(_bodies(watching, label, "bob")))


@pytest.mark.slow
def test_a_folder_moved_in_is_looked_through(watching: World, tmp_path: Path) -> None:
    kit.put(tmp_path / "elsewhere" / "peers" / "jane.md", "Likes tea.")
    kit.on_disk(watching, of="bob").parent.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").rename(kit.on_disk(watching, of="bob").parent)
    waiting.until(lambda: bool(_bodies(watching, "peers/jane.md", "bob")))


@pytest.mark.slow
def test_poison_is_taken_off_the_disk_soon(watching: World) -> None:
    kit.put(kit.on_disk(watching), kit.POISON)
    waiting.until(HeldFile.objects.exists)
    waiting.until(lambda: kit.on_disk(watching).read_text() == "ours")


@pytest.mark.slow
def test_it_finds_at_its_start_what_changed_before(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stoppable_thread, "STOP_SECONDS", waiting.LIMIT_SECONDS)
    kit.write(shared_world, "ours")
    kit.put(kit.on_disk(shared_world), "while nobody looked")
    thread = Watcher()
    thread.start()
    waiting.until(lambda: len(_bodies(shared_world)) == 2)
    assert thread.stop()


def test_one_that_never_started_stops(world: World) -> None:
    assert Watcher().stop()


def test_a_visit_that_fails_keeps_no_other_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = []

    def visit(parts: tuple[str, ...], report: reconcile.Report) -> None:
        visits.append(parts)
        raise OSError("the disk is gone")

    monkeypatch.setattr("memory.files.reconcile.visit", visit)
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)
    root = Path(settings.DATA_DIR) / "files"
    file_watcher.look(
        root, [str(root / "a"), str(root / "b"), "/etc/passwd", str(root / ".x")]
    )
    assert visits == [("a",), ("b",)]


# ── The clock's jobs ─────────────────────────────────────────────────────────
def test_the_sweep_runs_by_the_clock(world: World) -> None:
    kit.put(kit.on_disk(world), "theirs")
    tasks.files_sweep()
    assert kit.row(world).sha256
    planned = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert {"memory.files_sweep", "memory.nightly"} <= planned


@pytest.mark.parametrize(
    ("value", "days"),
    [(0, 0), (7, 7), (-1, 30), ("7", 30), (0.5, 30), (True, 30), (99_999, 30)],
)
def test_a_window_that_makes_no_sense_is_the_default(
    world: World, value: object, days: int
) -> None:
    """A window that cannot be read must not be read as a short one."""
    setting = declarations.VERSIONS_RETENTION_DAYS
    assert workspace_settings.value(world.acme.id, setting) == 30
    WorkspaceSetting.objects.create(
        workspace=world.acme, name="versions_retention_days", value=value
    )
    assert workspace_settings.value(world.acme.id, setting) == days


def test_each_workspace_has_its_own_window(world: World) -> None:
    for actor in ("ada", "olga"):
        for number in range(5):
            kit.write(world, f"State {number}", by=actor)
    then = timezone.now() - timedelta(days=60)
    MemoryVersion.objects.update(written_at=then)
    world.set("other", versions_retention_days=90)
    for workspace in (world.acme, world.other):
        jobs.get("retention").act(workspace.id)
    assert len(versions.log(kit.row(world))) == 3
    assert len(versions.log(kit.row(world, of="olga"))) == 5


def test_the_nightly_job_keeps_to_the_window_and_never_drops_the_current(
    world: World,
) -> None:
    for number in range(6):
        kit.write(world, f"State {number}")
    file = kit.row(world)
    days = {version.number: 10 * version.number for version in versions.log(file)}
    for number, age in days.items():
        old = timezone.now() - timedelta(days=65 - age)
        file.versions.filter(number=number).update(written_at=old)
    # Writes that never finished do not count as versions.
    for number in range(7, 11):
        file.versions.create(
            workspace_id=file.workspace_id, number=number, sha256="", committed=False
        )
    current = versions.latest(file)
    world.set(versions_retention_days=5)
    jobs.get("retention").act(world.acme.id)
    numbers = [version.number for version in versions.log(file)]
    assert numbers == [6, 5, 4]
    assert versions.latest(file) == current
    world.set(versions_retention_days=0)
    jobs.get("retention").act(world.acme.id)
    assert [version.number for version in versions.log(file)] == numbers
