"""What a crash left between an intention and a version that counts."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from memory.files import commit, paths, reconcile, versions, writer
from memory.journal import append as journal
from memory.models import Installation, JournalEntry, MemoryFile
from memory.stored_files.store import RootLost
from tests.memory.files import kit
from tests.world import World


class Crash(BaseException):
    """Stands for the end of a process in these tests."""


@pytest.fixture
def die_after(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the next write end after a step."""

    def arm(name: str) -> None:
        def step(reached: str) -> None:
            if reached == name:
                monkeypatch.setattr(commit, "step", commit._no_step)
                raise Crash

        monkeypatch.setattr(commit, "step", step)

    return arm


def _crash(world: World, text: str) -> None:
    with pytest.raises(Crash):
        kit.write(world, text)


def test_before_the_bytes_are_in_place_nothing_happened(
    world: World, die_after: Any
) -> None:
    kit.write(world, "old")
    die_after("intention")
    _crash(world, "new")
    row = kit.row(world)
    assert row.versions.filter(committed=False).count() == 1
    commit.recover(row)
    assert [versions.read(v) for v in versions.log(row)] == [b"old"]
    assert not row.versions.filter(committed=False).exists()
    assert kit.on_disk(world).read_text() == "old"


def test_once_the_bytes_are_in_place_the_write_is_finished_as_its_authors(
    world: World, die_after: Any
) -> None:
    kit.write(world, "old words")
    die_after("rename")
    _crash(world, "new words")
    row = kit.row(world)
    commit.recover(row)
    newest = versions.log(row)[0]
    assert versions.read(newest) == b"new words"
    assert (newest.written_by, newest.source) == (world.actor("ada").label, "tool")
    assert row.chunks.get().text == "new words"
    entry = JournalEntry.objects.filter(entry_type="memory.updated").latest("seq")
    assert entry.agent_id == world.agents["ada"].id
    assert entry.refs["version_id"] == newest.id


def test_recovering_twice_is_nothing(world: World, die_after: Any) -> None:
    kit.write(world, "old")
    die_after("rename")
    _crash(world, "new")
    commit.recover(kit.row(world))
    count = JournalEntry.objects.count()
    commit.recover(kit.row(world))
    assert JournalEntry.objects.count() == count


def test_the_next_write_recovers_first(world: World, die_after: Any) -> None:
    kit.write(world, "one")
    die_after("rename")
    _crash(world, "two")
    kit.append(world, "three")
    log = versions.log(kit.row(world))
    assert [v.number for v in log] == [3, 2, 1]
    assert versions.read(log[0]) == b"two\nthree"
    assert log[0].parent == log[1]


@pytest.mark.parametrize("bodies", ["folder", "database"])
def test_a_write_that_fails_changes_nothing(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, bodies: str
) -> None:
    """As with a full disk: the caller repeats what was answered with an error."""
    settings.BODIES = bodies
    Installation.objects.update(bodies=bodies)
    kit.write(world, "one")

    def full(*_: Any) -> None:
        raise OperationalError("could not extend file")

    with monkeypatch.context() as patch:
        patch.setattr(commit, "_record", full)
        for act in (
            partial(kit.append, world, "two"),
            partial(kit.write, world, "one"),
            partial(_remove, world),
        ):
            with pytest.raises(OperationalError):
                act()
    reconcile.sweep()
    kit.append(world, "two")
    texts = [versions.read(version) for version in versions.log(kit.row(world))]
    assert texts == [b"one\ntwo", b"one"]


def test_what_fails_after_the_commit_takes_nothing_back(shared_world: World) -> None:
    kit.write(shared_world, "one")

    def failing(**_: Any) -> None:
        message = "a listener failed"
        raise RuntimeError(message)

    journal.entry_appended.connect(failing)
    try:
        with pytest.raises(RuntimeError):
            kit.append(shared_world, "two")
    finally:
        journal.entry_appended.disconnect(failing)
    assert kit.on_disk(shared_world).read_text() == "one\ntwo"


def _remove(world: World) -> None:
    by = world.actor("ada")
    writer.remove(kit.owner(world), kit.place("AGENT.md"), source="tool", by=by)


def test_a_removal_that_was_cut_off_is_finished(world: World, die_after: Any) -> None:
    kit.write(world, "old")
    die_after("rename")
    with pytest.raises(Crash):
        _remove(world)
    row = kit.row(world)
    commit.recover(row)
    assert row.sha256 == ""
    assert not row.chunks.exists()
    assert versions.log(row)[0].written_by == world.actor("ada").label


def test_a_row_is_made_once(world: World) -> None:
    owner, place = kit.owner(world), kit.place("pins.md")
    assert commit.file_of(owner, place) == commit.file_of(owner, place)
    assert paths.owner_of(commit.file_of(owner, place)).agent == owner.agent


def test_a_removal_is_not_finished_because_the_folder_is_lost(
    world: World, die_after: Any
) -> None:
    kit.write(world, "old")
    die_after("intention")
    with pytest.raises(Crash):
        writer.remove(
            kit.owner(world),
            kit.place("AGENT.md"),
            source="tool",
            by=world.actor("ada"),
        )
    files = Path(settings.DATA_DIR) / "files"
    (files / "acme").rename(files.parent / "away")
    row = kit.row(world)
    with pytest.raises(RootLost):
        commit.recover(row)
    (files.parent / "away").rename(files / "acme")
    commit.recover(row)
    assert [versions.read(v) for v in versions.log(row)] == [b"old"]
    assert row.sha256


def test_a_version_is_journaled_with_what_it_is(world: World) -> None:
    write = kit.write(world, "€" * 400, "peers/jane.md")
    MemoryFile.objects.update(updated_at=write.version.written_at - timedelta(days=1))
    write = kit.write(world, "€" * 500, "peers/jane.md")
    file = kit.row(world, "peers/jane.md")
    assert (file.sha256, file.bytes) == (write.sha256, 1_500)
    assert file.updated_at >= write.version.written_at
    entry = JournalEntry.objects.filter(entry_type="memory.updated").latest("seq")
    assert entry.summary == "peers/jane.md updated, 1,500 bytes"
    assert entry.payload == {
        "file": "peers/jane.md",
        "tier": "peers",
        "sha256": write.sha256,
        "bytes": 1_500,
        "version": 2,
        "source": "tool",
    }
    assert entry.refs == {"file_id": file.id, "version_id": write.version.id}
    assert (entry.crew_id, entry.agent_id) == (file.crew_id, file.agent_id)
