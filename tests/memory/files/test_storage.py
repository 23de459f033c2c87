"""The store: nothing leads outside, nothing tears, nothing hangs."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory.rules import errors, tiers
from memory.stored_files.folder import FileStore
from memory.stored_files.store import Busy, Unsafe

SECRET = b"outside the tree"

# Labels as an attacker would spell them. None may name a place.
ODD_LABELS = [
    "", ".", "..", "/", "//", "\\", "~", "~/AGENT.md", "-", "CON",
    "../AGENT.md", "..\\AGENT.md", "./AGENT.md", "AGENT.md/", "/AGENT.md",
    "//AGENT.md", "AGENT.md/..", "daily/../AGENT.md", "daily/../../etc/passwd",
    "daily/..", "daily/.", "daily/", "daily/.md", "daily", "peers/", "peers/.md",
    "peers/..md", "peers/../AGENT.md", "peers/..%2fAGENT.md", "peers/%2e%2e.md",
    "%2e%2e/AGENT.md", "..%c0%afAGENT.md", "..%252fAGENT.md", "AGENT%2emd",
    "AGENT.md\x00", "AGENT.md\x00.txt", "daily/2026-05-21\x00.md", "peers/a\x00b.md",
    "agent.md", "Agent.md", "AGENT.MD", "AGENT.Md", "crew.md", "Pins.md", "PINS.md",
    "Daily/2026-05-21.md", "PEERS/ada.md", "peers/Ada.md", "peers/ADA.md",
    "AGENT\uff0emd", "AGENT\u2024md", "\uff21GENT.md", "\u0410GENT.md",
    "AGE\u200bNT.md", "AGENT.md\u202e", "daily\u22152026-05-21.md",
    "daily\uff0f2026-05-21.md", "peers/a\u0308da.md", "peers/ädа.md", "peers/ſ.md",
    "daily/2026-02-30.md", "daily/2026-13-01.md", "daily/26-05-21.md",
    "daily/2026-5-1.md", "daily/20260521.md", "daily/２０２６-05-21.md",
    "daily/2026-05-21.md.md", "daily/2026-05-21 .md", " daily/2026-05-21.md",
    "daily/2026-05-21.md\n", "AGENT.md\n", "AGENT.md ", " AGENT.md", "peers/-a.md",
    "peers/a-.md", "peers/a b.md", "peers/a_b.md", "peers/a.b.md", "peers/a/b.md",
    "peers/" + "a" * 65 + ".md", ".AGENT.md", ".memory/AGENT.md",
    "AGENT.md.crewship-tmp-1", "lessons.md/x", "index.sqlite", ".quarantine/a.md",
]  # fmt: skip
ODD_PARTS = ["", ".", "..", "a/b", "a\\b", "a\x00b", "/etc", "../x"]


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path) -> Path:
    """A bare folder: a store by itself knows no installation and no mark."""
    return tmp_path


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A store with a secret lying beside it."""
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "files-twin").mkdir()
    (tmp_path / "files-twin" / "AGENT.md").write_bytes(SECRET)
    return FileStore(tmp_path / "files", tmp_path / "locks")


# ── Names ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("label", ODD_LABELS)
def test_an_odd_label_names_no_place(label: str) -> None:
    assert tiers.split(label) is None


@pytest.mark.parametrize("part", ODD_PARTS)
@pytest.mark.parametrize("where", [0, 1])
def test_an_odd_segment_is_refused_everywhere(
    store: FileStore, part: str, where: int
) -> None:
    parts = ["a", "b"]
    parts[where] = part
    acts: list[Callable[[], Any]] = [
        lambda: store.read(parts),
        lambda: store.write(parts, b"x"),
        lambda: store.remove(parts),
    ]
    store.write(["a", "there"], b"x")
    for act in acts:
        with pytest.raises(Unsafe):
            act()


def test_a_sibling_with_the_same_prefix_is_not_below_the_root(store: FileStore) -> None:
    with pytest.raises(Unsafe):
        store.read(["..", "files-twin", "AGENT.md"])


def test_a_name_that_is_too_long_is_refused_not_a_crash(store: FileStore) -> None:
    with pytest.raises(Unsafe):
        store.write(["a" * 300], b"x")
    with pytest.raises(Unsafe):
        store.read(["a", "b" * 300]) or store.read(["b" * 300])


# ── Links and devices ────────────────────────────────────────────────────────
def test_a_linked_file_is_neither_read_nor_written_nor_removed(
    store: FileStore, tmp_path: Path
) -> None:
    store.write(["a", "real"], b"x")
    (tmp_path / "files" / "a" / "AGENT.md").symlink_to(tmp_path / "secret")
    parts = ["a", "AGENT.md"]
    for act in (store.read, store.remove):
        with pytest.raises(Unsafe):
            act(parts)
    with pytest.raises(Unsafe):
        store.write(parts, b"mine")
    assert (tmp_path / "secret").read_bytes() == SECRET
    assert list(store.walk()) == [("a", "real")]


def test_a_linked_folder_is_not_entered(store: FileStore, tmp_path: Path) -> None:
    store.write(["a", "real"], b"x")
    (tmp_path / "files" / "b").symlink_to(tmp_path / "files-twin")
    with pytest.raises(Unsafe):
        store.read(["b", "AGENT.md"])
    with pytest.raises(Unsafe):
        store.write(["b", "AGENT.md"], b"mine")
    with pytest.raises(Unsafe):
        store.remove(["b", "AGENT.md"])
    assert list(store.walk()) == [("a", "real")]
    assert list(store.walk(["b"])) == []


def test_a_link_to_nowhere_is_not_an_empty_file(
    store: FileStore, tmp_path: Path
) -> None:
    store.write(["a", "real"], b"x")
    (tmp_path / "files" / "a" / "AGENT.md").symlink_to(tmp_path / "gone")
    with pytest.raises(Unsafe):
        store.read(["a", "AGENT.md"])
    with pytest.raises(Unsafe):
        store.write(["a", "AGENT.md"], b"mine")
    assert not (tmp_path / "gone").exists()


def test_the_root_itself_may_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "files").symlink_to(tmp_path / "elsewhere")
    store = FileStore(tmp_path / "files", tmp_path / "locks")
    with pytest.raises(Unsafe):
        store.write(["AGENT.md"], b"x")


def test_a_second_name_for_the_bytes_is_refused(
    store: FileStore, tmp_path: Path
) -> None:
    store.write(["a", "real"], b"x")
    os.link(tmp_path / "secret", tmp_path / "files" / "a" / "AGENT.md")
    with pytest.raises(Unsafe):
        store.read(["a", "AGENT.md"])
    with pytest.raises(Unsafe):
        store.write(["a", "AGENT.md"], b"mine")
    assert (tmp_path / "secret").read_bytes() == SECRET


def test_a_pipe_is_refused_and_does_not_hang(store: FileStore, tmp_path: Path) -> None:
    store.write(["a", "real"], b"x")
    os.mkfifo(tmp_path / "files" / "a" / "AGENT.md")
    with pytest.raises(Unsafe):
        store.read(["a", "AGENT.md"])
    with pytest.raises(Unsafe):
        store.write(["a", "AGENT.md"], b"mine")


def test_a_socket_and_a_folder_are_refused(store: FileStore, tmp_path: Path) -> None:
    store.write(["a", "real"], b"x")
    (tmp_path / "files" / "a" / "pins.md").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(tmp_path / "files" / "a", os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{folder}/AGENT.md")
    for name in ("AGENT.md", "pins.md"):
        with pytest.raises(Unsafe):
            store.read(["a", name])
        with pytest.raises(Unsafe):
            store.write(["a", name], b"mine")
    os.close(folder)
    listener.close()


def test_a_device_is_refused(store: FileStore, tmp_path: Path) -> None:
    store.write(["a", "real"], b"x")
    try:
        os.mknod(tmp_path / "files" / "a" / "AGENT.md", 0o20600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this system lets nobody make devices")
    with pytest.raises(Unsafe):
        store.read(["a", "AGENT.md"])


# ── Swapped between a check and an open ──────────────────────────────────────
def test_a_folder_swapped_for_a_link_on_the_way_leads_nowhere(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(["a", "b", "AGENT.md"], b"mine")
    folder, real = tmp_path / "files" / "a" / "b", os.open

    def swap(name: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if name == "b" and folder.is_dir() and not folder.is_symlink():
            folder.rename(tmp_path / "moved")
            folder.symlink_to(tmp_path / "files-twin")
        return real(name, flags, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", swap)
        with pytest.raises(Unsafe):
            store.read(["a", "b", "AGENT.md"])
    with pytest.raises(Unsafe):
        store.write(["a", "b", "AGENT.md"], b"again")
    assert (tmp_path / "files-twin" / "AGENT.md").read_bytes() == SECRET


def test_a_folder_swapped_after_it_was_opened_changes_nothing_outside(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(["a", "AGENT.md"], b"mine")
    folder, real = tmp_path / "files" / "a", os.replace

    def swap(*args: Any, **kwargs: Any) -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "files-twin")
        real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", swap)
        store.write(["a", "AGENT.md"], b"again")
    assert (tmp_path / "files-twin" / "AGENT.md").read_bytes() == SECRET
    assert (tmp_path / "moved" / "AGENT.md").read_bytes() == b"again"


def test_a_file_swapped_for_a_link_after_the_check_is_replaced_not_followed(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(["a", "AGENT.md"], b"mine")
    path, real = tmp_path / "files" / "a" / "AGENT.md", os.stat

    def swap(name: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        facts = real(name, *args, **kwargs)
        if name == "AGENT.md" and not path.is_symlink():
            path.unlink()
            path.symlink_to(tmp_path / "secret")
        return facts

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", swap)
        store.write(["a", "AGENT.md"], b"again")
    assert (tmp_path / "secret").read_bytes() == SECRET
    assert path.read_bytes() == b"again"


# ── Whole or not at all ──────────────────────────────────────────────────────
def test_a_write_comes_back_and_leaves_nothing_beside(store: FileStore) -> None:
    sha256 = store.write(["a", "AGENT.md"], b"mine")
    stored = store.read(["a", "AGENT.md"])
    assert stored is not None
    assert (stored.data, stored.sha256) == (b"mine", sha256)
    assert os.listdir(store.root / "a") == ["AGENT.md"]  # noqa: PTH208


def test_files_are_for_us_alone(store: FileStore) -> None:
    store.write(["a", "AGENT.md"], b"mine")
    assert (store.root / "a" / "AGENT.md").stat().st_mode & 0o077 == 0
    assert (store.root / "a").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file_and_no_temporary(
    store: FileStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store.write(["a", "AGENT.md"], b"old")

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, full)
    with pytest.raises(errors.AppError):
        store.write(["a", "AGENT.md"], b"new")
    monkeypatch.undo()
    stored = store.read(["a", "AGENT.md"])
    assert stored is not None
    assert stored.data == b"old"
    assert os.listdir(store.root / "a") == ["AGENT.md"]  # noqa: PTH208


def test_the_bytes_and_the_folder_reach_the_disk_before_it_returns(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(handle: int) -> None:
        order.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")  # noqa: PTH112
        real_sync(handle)

    def replace(*args: Any, **kwargs: Any) -> None:
        order.append("rename")
        real_replace(*args, **kwargs)

    store.write(["a", "other"], b"x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        patch.setattr(os, "replace", replace)
        store.write(["a", "AGENT.md"], b"mine")
    assert order == ["file", "rename", "folder"]


def test_a_new_folder_reaches_the_disk_with_its_name(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def sync(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        store.write(["a", "b", "AGENT.md"], b"mine")
    assert {str(store.root), str(store.root / "a")} <= set(synced)


def test_readers_see_the_old_or_the_new_and_nothing_between(store: FileStore) -> None:
    bodies = {bytes([65 + n]) * 50_000 for n in range(4)}
    store.write(["AGENT.md"], min(bodies))
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            for body in bodies:
                store.write(["AGENT.md"], body)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            stored = store.read(["AGENT.md"])
            assert stored is not None
            assert stored.data in bodies
    finally:
        is_over.set()
        writer.join()


def test_a_huge_file_is_refused_before_it_is_read(store: FileStore) -> None:
    store.write(["a"], b"x")
    with (store.root / "big").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    with pytest.raises(errors.TooLarge):
        store.read(["big"])


def test_what_is_not_there_is_none_and_removing_it_is_nothing(store: FileStore) -> None:
    assert store.read(["no", "AGENT.md"]) is None
    assert store.remove(["no", "AGENT.md"]) is False
    store.write(["a", "AGENT.md"], b"x")
    assert store.remove(["a", "AGENT.md"]) is True
    assert store.read(["a", "AGENT.md"]) is None


def test_a_file_where_a_folder_should_be_is_refused(store: FileStore) -> None:
    store.write(["a"], b"x")
    with pytest.raises(Unsafe):
        store.read(["a", "AGENT.md"])
    assert list(store.walk(["a"])) == []


# ── Walking, tidying, locking ────────────────────────────────────────────────
def test_walking_leaves_out_hidden_names_and_finds_nested_folders(
    store: FileStore,
) -> None:
    for parts in (["a", "b", "c", "d"], [".hidden", "x"], ["a", ".crewship-tmp-1"]):
        store.write(parts, b"x")
    assert list(store.walk()) == [("a", "b", "c", "d")]


def test_tidying_takes_old_temporaries_only(store: FileStore) -> None:
    store.write(["a", "AGENT.md"], b"x")
    old, young = (store.root / "a" / f".crewship-tmp-{n}" for n in (1, 2))
    for path in (old, young):
        path.write_bytes(b"torn")
    os.utime(old, (1, 1))
    assert store.tidy() == 1
    assert not old.exists()
    assert young.exists()
    assert (store.root / "a" / "AGENT.md").exists()


def test_a_lock_waits_and_then_says_busy(store: FileStore) -> None:
    with store.locked("a/AGENT.md"):
        with pytest.raises(Busy) as caught, store.locked("a/AGENT.md", seconds=0.05):
            pass
        with store.locked("a/pins.md", seconds=0.05):
            pass
    assert caught.value.status == 503
    with store.locked("a/AGENT.md", seconds=0.05):
        pass


def test_the_name_of_a_lock_does_not_tell_whose_it_is(store: FileStore) -> None:
    with store.locked("acme/support/agents/ada/peers/jane.md"):
        names = os.listdir(store.root.parent / "locks")  # noqa: PTH208
    assert len(names) == 1
    assert "jane" not in names[0]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_odd_file_and_leaves_the_old_bytes(
    store: FileStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store.write(("a", "b.md"), b"old")

    def full(_handle: int) -> None:
        raise OSError(code, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(errors.StorageFull):
            store.write(("a", "b.md"), b"new")
    stored = store.read(("a", "b.md"))
    assert stored is not None and stored.data == b"old"
