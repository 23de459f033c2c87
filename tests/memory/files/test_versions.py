"""Snapshots: whole, chained, compared, pruned."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from memory.files import versions, writer
from memory.files.versions import BlobDamaged
from memory.models import MemoryVersion
from tests.memory.files import kit
from tests.world import World


def _blob(version: MemoryVersion) -> Path:
    parts = (version.workspace_id, version.sha256[:2], version.sha256)
    return Path(settings.DATA_DIR).joinpath("blobs", *parts)


def _age(world: World, days: float) -> None:
    then = timezone.now() - timedelta(days=days)
    MemoryVersion.objects.filter(workspace=world.acme).update(written_at=then)


def _write(world: World, count: int, label: str = "AGENT.md") -> None:
    for number in range(count):
        kit.write(world, f"State {number} of {label}", label)


def test_every_write_is_a_version_with_its_parent(world: World) -> None:
    _write(world, 3)
    log = versions.log(kit.row(world))
    assert [v.number for v in log] == [3, 2, 1]
    assert log[0].parent == log[1]
    assert log[1].parent == log[2]
    assert log[2].parent is None
    assert all(v.committed for v in log)
    assert (log[0].written_by, log[0].source) == (world.actor("ada").label, "tool")
    assert versions.read(log[2]) == b"State 0 of AGENT.md"


def test_equal_bytes_are_two_versions_and_one_blob(world: World) -> None:
    kit.write(world, "same")
    kit.write(world, "same")
    log = versions.log(kit.row(world))
    assert len(log) == 2
    assert log[0].sha256 == log[1].sha256
    assert len(list(versions.blobs().walk((world.acme.id,)))) == 1


def test_back_and_forth_keeps_all_three(world: World) -> None:
    for text in ("A", "B", "A"):
        kit.write(world, text)
    log = versions.log(kit.row(world))
    assert [versions.read(v) for v in log] == [b"A", b"B", b"A"]


def test_the_log_is_limited_newest_first(world: World) -> None:
    _write(world, 4)
    assert [v.number for v in versions.log(kit.row(world), 2)] == [4, 3]


def test_a_damaged_blob_is_never_shown(world: World) -> None:
    version = kit.write(world, "mine").version
    _blob(version).write_bytes(b"forged")
    with pytest.raises(BlobDamaged) as caught:
        versions.read(version)
    assert "changed" in caught.value.detail


def test_a_missing_blob_says_so(world: World) -> None:
    version = kit.write(world, "mine").version
    _blob(version).unlink()
    with pytest.raises(BlobDamaged) as caught:
        versions.read(version)
    assert "missing" in caught.value.detail


def test_a_damaged_blob_is_written_anew_with_the_next_equal_write(world: World) -> None:
    version = kit.write(world, "mine").version
    _blob(version).write_bytes(b"forged")
    kit.write(world, "mine")
    assert versions.read(version) == b"mine"


def test_a_blob_that_became_a_link_is_refused_and_replaced(
    world: World, tmp_path: Path
) -> None:
    version = kit.write(world, "mine").version
    (tmp_path / "twin").write_bytes(b"mine")
    _blob(version).unlink()
    _blob(version).symlink_to(tmp_path / "twin")
    with pytest.raises(Exception, match="plain file"):
        versions.read(version)


def test_a_removed_file_reads_as_nothing(world: World) -> None:
    kit.write(world, "mine")
    owner, place = kit.owner(world), kit.place("AGENT.md")
    assert writer.remove(owner, place, source="tool", by=world.actor("ada"))
    newest = versions.latest(kit.row(world))
    assert newest is not None
    assert newest.sha256 == ""
    assert versions.read(newest) == b""
    assert not writer.remove(owner, place, source="tool", by=world.actor("ada"))


# ── Comparing and restoring ──────────────────────────────────────────────────
def test_a_diff_names_lines_with_minus_and_plus() -> None:
    lines = versions.diff(b"a\nb\nc\n", b"a\nB\nc\n")
    pairs = [(line.kind, line.text) for line in lines]
    assert ("removed", "-b") in pairs
    assert ("added", "+B") in pairs
    assert ("same", " a") in pairs
    assert pairs[0][0] == "place"
    assert versions.diff(b"a", b"a") == []


def test_a_line_of_dashes_is_no_header() -> None:
    lines = versions.diff(b"--- x\n+++ y\n", b"")
    assert [(line.kind, line.text) for line in lines][1:] == [
        ("removed", "---- x"),
        ("removed", "-+++ y"),
    ]


def test_restoring_is_a_new_version_of_the_old_bytes(world: World) -> None:
    _write(world, 2)
    row = kit.row(world)
    first = versions.log(row)[1]
    write = writer.restore(row, first, by=world.actor("operator"))
    log = versions.log(row)
    assert [v.number for v in log] == [3, 2, 1]
    assert log[0].sha256 == first.sha256
    assert log[0].parent == log[1]
    assert (log[0].source, log[0].note) == ("restore", "version 1 restored")
    assert write.body == "State 0 of AGENT.md"
    assert kit.on_disk(world).read_text() == "State 0 of AGENT.md"


# ── Retention ────────────────────────────────────────────────────────────────
def test_the_newest_three_always_stay(world: World) -> None:
    _write(world, 6)
    _age(world, 400)
    pruned = versions.prune(world.acme.id, days=30)
    assert pruned.versions == 3
    assert [v.number for v in versions.log(kit.row(world))] == [6, 5, 4]
    assert versions.prune(world.acme.id, days=30).versions == 0


def test_young_versions_always_stay(world: World) -> None:
    _write(world, 6)
    _age(world, 29)
    assert versions.prune(world.acme.id, days=30).versions == 0


def test_zero_days_keep_for_ever(world: World) -> None:
    _write(world, 6)
    _age(world, 4_000)
    assert versions.prune(world.acme.id, days=0).versions == 0


def test_each_file_keeps_its_own_newest(world: World) -> None:
    _write(world, 5)
    _write(world, 2, "pins.md")
    _age(world, 400)
    assert versions.prune(world.acme.id, days=30, newest=2).versions == 3
    assert len(versions.log(kit.row(world, "pins.md"))) == 2


def test_no_version_of_another_workspace_is_touched(world: World) -> None:
    _write(world, 6)
    _age(world, 400)
    assert versions.prune(world.other.id, days=1).versions == 0


def test_asking_to_keep_none_still_keeps_the_newest(world: World) -> None:
    _write(world, 3)
    _age(world, 400)
    versions.prune(world.acme.id, days=1, newest=0)
    assert [v.number for v in versions.log(kit.row(world))] == [3]


def test_orphans_go_when_they_are_old_and_nobodys(world: World) -> None:
    version = kit.write(world, "mine").version
    orphan, young = (versions.keep(world.acme.id, b) for b in (b"old", b"young"))
    odd = _blob(version).parent / "README"
    odd.write_bytes(b"not ours")
    for sha256 in (orphan, version.sha256):
        path = Path(settings.DATA_DIR) / "blobs" / world.acme.id / sha256[:2] / sha256
        os.utime(path, (1, 1))
    os.utime(odd, (1, 1))
    assert versions.collect_orphans(world.acme.id) == 1
    assert versions.read(version) == b"mine"
    assert odd.exists()
    assert versions.blobs().read((world.acme.id, young[:2], young)) is not None


def test_a_blob_used_again_is_young_again(world: World) -> None:
    sha256 = versions.keep(world.acme.id, b"old")
    path = Path(settings.DATA_DIR) / "blobs" / world.acme.id / sha256[:2] / sha256
    os.utime(path, (1, 1))
    versions.keep(world.acme.id, b"old")
    assert versions.collect_orphans(world.acme.id) == 0


def test_collecting_where_nothing_is_is_fine(world: World) -> None:
    assert versions.collect_orphans(world.acme.id) == 0


def test_a_blob_of_another_workspace_keeps_none_here(world: World) -> None:
    kit.write(world, "same words", by="olga")
    sha256 = versions.keep(world.acme.id, b"same words")
    folder = Path(settings.DATA_DIR) / "blobs"
    for workspace in (world.acme, world.other):
        os.utime(folder / workspace.id / sha256[:2] / sha256, (1, 1))
    assert versions.collect_orphans(world.acme.id) == 1
    assert versions.collect_orphans(world.other.id) == 0


def test_a_write_that_was_cut_off_is_not_the_newest_version(world: World) -> None:
    _write(world, 2)
    row = kit.row(world)
    intention = versions.begin(row, b"cut", by=world.actor("ada"), source="tool")
    newest = versions.latest(row)
    assert newest is not None
    assert (newest.number, intention.number) == (2, 3)
    assert intention.parent == newest
    _age(world, 400)
    assert versions.prune(world.acme.id, days=30, newest=1).versions == 1
    assert [v.number for v in versions.log(row)] == [2]
    assert row.versions.filter(pk=intention.pk).exists()


def test_a_diff_shows_three_lines_around_a_change() -> None:
    before = "".join(f"{number}\n" for number in range(20))
    after = before.replace("10\n", "ten\n")
    lines = versions.diff(before.encode(), after.encode())
    assert [line.text for line in lines[1:]] == [
        " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"
    ]  # fmt: skip
