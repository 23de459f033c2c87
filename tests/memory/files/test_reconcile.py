"""Files changed behind our back: noticed, judged, versioned as what they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.conf import settings

from memory.files import reconcile, search_index, versions
from memory.models import HeldFile, JournalEntry, MemoryFile
from memory.stored_files.store import Unsafe
from tests.memory.files import kit
from tests.world import World


def _notice(world: World, label: str = "AGENT.md", of: str = "ada") -> str:
    return reconcile.notice(kit.owner(world, of), kit.place(label))


def test_what_we_wrote_is_not_news(world: World) -> None:
    kit.write(world, "ours")
    assert _notice(world) == "same"
    assert _notice(world, "pins.md") == "same"
    assert len(versions.log(kit.row(world))) == 1


def test_an_edit_is_a_version_from_the_disk(world: World) -> None:
    kit.write(world, "ours")
    kit.put(kit.on_disk(world), "theirs, about couriers")
    assert _notice(world) == "changed"
    newest, first = versions.log(kit.row(world))
    assert (newest.source, newest.written_by) == ("disk", "disk")
    assert newest.parent == first
    assert search_index.find([kit.row(world).id], "couriers", 5)
    entry = JournalEntry.objects.filter(entry_type="memory.updated").latest("seq")
    assert (entry.payload["source"], entry.actor_type) == ("disk", "system")
    assert _notice(world) == "same"


def test_a_new_file_is_found(world: World) -> None:
    kit.put(kit.on_disk(world, "daily/2026-05-21.md"), "Busy day.")
    assert _notice(world, "daily/2026-05-21.md") == "changed"
    assert kit.row(world, "daily/2026-05-21.md").key == "2026-05-21"


def test_a_deletion_is_noticed(world: World) -> None:
    kit.write(world, "ours")
    kit.on_disk(world).unlink()
    assert _notice(world) == "removed"
    row = kit.row(world)
    assert (row.sha256, row.bytes, row.chunks.count()) == ("", 0, 0)
    assert versions.log(row)[0].source == "disk"
    assert JournalEntry.objects.filter(entry_type="memory.removed").exists()


def test_poison_is_held_and_the_last_good_version_comes_back(world: World) -> None:
    kit.write(world, "ours")
    kit.put(kit.on_disk(world), kit.POISON)
    assert _notice(world) == "held"
    held_file = HeldFile.objects.get()
    assert (held_file.source, held_file.label, bytes(held_file.body).decode()) == (
        "disk",
        "AGENT.md",
        kit.POISON,
    )
    assert kit.on_disk(world).read_text() == "ours"
    assert len(versions.log(kit.row(world))) == 1
    assert _notice(world) == "same"


def test_a_new_file_of_poison_is_taken_away(world: World) -> None:
    kit.put(kit.on_disk(world), kit.POISON)
    assert _notice(world) == "held"
    assert not kit.on_disk(world).exists()
    assert HeldFile.objects.count() == 1


@pytest.mark.parametrize("data", [b"\xff\xfe\x00broken", b"a\x00b"])
def test_bytes_that_are_no_text_are_kept_for_a_person(
    world: World, data: bytes
) -> None:
    kit.write(world, "ours")
    kit.put(kit.on_disk(world), data)
    assert _notice(world) == "held"
    assert bytes(HeldFile.objects.get().body) == data
    assert kit.on_disk(world).read_text() == "ours"


def test_a_file_over_every_cap_is_held_whole(world: World) -> None:
    kit.write(world, "ours")
    kit.put(kit.on_disk(world), "x" * 1_200_000)
    assert _notice(world) == "held"
    assert HeldFile.objects.get().bytes == 1_200_000
    assert kit.on_disk(world).read_text() == "ours"


def test_the_same_poison_again_reopens_the_same_case(world: World) -> None:
    kit.write(world, "ours")
    for _ in range(3):
        kit.put(kit.on_disk(world), kit.POISON)
        assert _notice(world) == "held"
    assert HeldFile.objects.get().times_seen == 3


def test_poison_comes_off_the_disk_even_when_the_version_is_damaged(
    world: World,
) -> None:
    version = kit.write(world, "ours").version
    blob = Path(settings.DATA_DIR) / "blobs" / world.acme.id
    (blob / version.sha256[:2] / version.sha256).unlink()
    kit.put(kit.on_disk(world), kit.POISON)
    assert _notice(world) == "held"
    assert not kit.on_disk(world).exists()


def test_a_link_is_told_and_not_followed(world: World, tmp_path: Path) -> None:
    kit.write(world, "ours")
    (tmp_path / "secret").write_text("secret")
    kit.on_disk(world).unlink()
    kit.on_disk(world).symlink_to(tmp_path / "secret")
    with pytest.raises(Unsafe):
        _notice(world)
    report = reconcile.sweep()
    assert report.unsafe == 1


# ── The sweep ────────────────────────────────────────────────────────────────
def test_a_sweep_sees_everything_once(world: World) -> None:
    kit.write(world, "ours")
    kit.write(world, "gone soon", "pins.md")
    kit.put(kit.on_disk(world), "theirs")
    kit.on_disk(world, "pins.md").unlink()
    kit.put(kit.on_disk(world, "CREW.md", "billing"), kit.POISON)
    kit.put(kit.on_disk(world, "peers/jane.md", "olga"), "Likes tea.")
    report = reconcile.sweep()
    assert (report.changed, report.removed, report.held) == (2, 1, 1)
    second = reconcile.sweep()
    assert (second.changed, second.removed, second.held) == (0, 0, 0)


def test_a_sweep_finds_files_in_folders_that_are_new(world: World) -> None:
    assert reconcile.sweep().seen == 0
    kit.put(kit.on_disk(world, "daily/2026-05-21.md", "bob"), "Nested and new.")
    assert reconcile.sweep().changed == 1


def test_a_sweep_of_one_workspace_leaves_the_others(world: World) -> None:
    kit.put(kit.on_disk(world), "theirs")
    kit.put(kit.on_disk(world, of="olga"), "theirs")
    assert reconcile.sweep("other").changed == 1
    assert MemoryFile.objects.count() == 1


@pytest.mark.parametrize(
    "path",
    [
        "acme/support/agents/ada/notes.txt",
        "acme/support/agents/ada/topics/x.md",
        "acme/support/agents/nobody/AGENT.md",
        "elsewhere/support/agents/ada/AGENT.md",
        "acme/AGENT.md",
        "AGENT.md",
    ],
)
def test_what_is_no_file_of_ours_is_left_alone(world: World, path: str) -> None:
    kit.put(Path(settings.DATA_DIR) / "files" / path, kit.POISON)
    report = reconcile.sweep()
    assert (report.seen, report.changed, report.held) == (0, 0, 0)
    assert (Path(settings.DATA_DIR) / "files" / path).exists()


def test_a_hostile_name_does_not_stop_a_sweep(world: World) -> None:
    kit.put(kit.on_disk(world), "theirs")
    root = os.fsencode(Path(settings.DATA_DIR) / "files")
    folder = Path(os.fsdecode(root + b"/acme/\xff\xfe/agents/x"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "AGENT.md").write_bytes(b"x")
    assert reconcile.sweep().changed == 1
