"""The store at its edges: handles, sizes, modes, marks and locks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memory.installation import key_files
from memory.rules import errors
from memory.stored_files import folder
from memory.stored_files.folder import FileStore
from memory.stored_files.store import Busy, RootLost, Unsafe


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path) -> Path:
    """A bare folder: a store by itself knows no installation and no mark."""
    return tmp_path


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A store with one file and one link."""
    new_store = FileStore(tmp_path / "files", tmp_path / "locks")
    new_store.write(["a", "b", "AGENT.md"], b"mine")
    (tmp_path / "files" / "a" / "link").symlink_to(tmp_path / "files" / "a" / "b")
    return new_store


def _marked(root: Path, installation: str) -> FileStore:
    root.mkdir(exist_ok=True)
    (root / key_files.MARK).write_text(installation)
    return FileStore(root, root.parent / "locks", "ours")


def _handles() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208


# ── Handles ──────────────────────────────────────────────────────────────────
def test_no_handle_stays_open(store: FileStore, tmp_path: Path) -> None:
    foreign = _marked(tmp_path / "foreign", "theirs")
    ours = _marked(tmp_path / "ours", "ours")
    (tmp_path / "odd" / key_files.MARK).mkdir(parents=True)
    odd = FileStore(tmp_path / "odd", tmp_path / "locks", "ours")
    acts: list[Callable[[], Any]] = [
        lambda: store.write(["a", "c", "pins.md"], b"x"),
        lambda: store.read(["a", "b", "AGENT.md"]),
        lambda: store.read(["a", "no", "AGENT.md"]),
        lambda: store.read(["a", "link", "AGENT.md"]),
        lambda: store.read(["a", "b"]),
        lambda: list(store.walk()),
        lambda: store.has_folder(["a", "no"]),
        lambda: store.touch(["a", "b", "AGENT.md"]),
        lambda: store.age(["a", "b", "AGENT.md"]),
        lambda: store.remove(["a", "c", "pins.md"]),
        ours.check,
        foreign.check,
        odd.check,
    ]
    before = _handles()
    for act in acts:
        with suppress(errors.AppError):
            act()
    assert _handles() == before


# ── Whose root it is ─────────────────────────────────────────────────────────
def test_a_root_with_another_mark_is_lost_for_every_act(tmp_path: Path) -> None:
    store = _marked(tmp_path / "files", "ours")
    store.write(["a", "AGENT.md"], b"mine")
    assert list(store.walk()) == [("a", "AGENT.md"), (key_files.MARK,)]
    (tmp_path / "files" / key_files.MARK).write_text("theirs")
    acts: list[Callable[[], Any]] = [
        store.check,
        store.tidy,
        lambda: store.read(["a", "AGENT.md"]),
        lambda: store.write(["a", "AGENT.md"], b"again"),
        lambda: store.remove(["a", "AGENT.md"]),
        lambda: store.has_folder(["a"]),
        lambda: list(store.walk()),
    ]
    for act in acts:
        with pytest.raises(RootLost, match="files"):
            act()
    assert (tmp_path / "files" / "a" / "AGENT.md").read_bytes() == b"mine"


# ── Sizes and names ──────────────────────────────────────────────────────────
def test_exactly_the_limit_is_read_and_one_byte_more_is_not(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "READ_LIMIT", 100)
    store.write(["a", "fits"], b"x" * 100)
    store.write(["a", "large"], b"x" * 101)
    stored = store.read(["a", "fits"])
    assert stored is not None and len(stored.data) == 100
    with pytest.raises(errors.TooLarge) as caught:
        store.read(["a", "large"])
    assert (caught.value.fields["limit"], caught.value.fields["size"]) == (100, 101)


def test_a_refusal_names_the_end_of_the_path_alone(store: FileStore) -> None:
    with pytest.raises(Unsafe) as caught:
        store.read(["a", "link", "AGENT.md"])
    assert caught.value.detail.startswith("link/AGENT.md is not a plain file")


# ── For us alone ─────────────────────────────────────────────────────────────
def test_folders_and_locks_are_for_us_alone(store: FileStore, tmp_path: Path) -> None:
    with store.locked("a/AGENT.md"):
        [lock] = (tmp_path / "locks").iterdir()
        mine = [
            tmp_path / "locks",
            lock,
            tmp_path / "files",
            tmp_path / "files" / "a" / "b",
            tmp_path / "files" / "a" / "b" / "AGENT.md",
        ]
        assert {path.stat().st_mode & 0o077 for path in mine} == {0}


def test_a_lock_is_forgotten_with_its_file(store: FileStore, tmp_path: Path) -> None:
    with store.locked("acme/peers:jane"):
        with pytest.raises(Busy) as caught, store.locked("acme/peers:jane", 0.01):
            pass
        assert caught.value.detail.startswith("jane is being written")
    store.forget_lock("acme/peers:jane")
    assert list((tmp_path / "locks").iterdir()) == []
    store.forget_lock("acme/peers:jane")


# ── Age and folders ──────────────────────────────────────────────────────────
def test_a_touched_file_is_young_and_a_missing_one_has_no_age(
    store: FileStore, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "a" / "b" / "AGENT.md"
    os.utime(path, (1, 1))
    assert store.age(["a", "b", "AGENT.md"]) > 1_000_000_000
    store.touch(["a", "b", "AGENT.md"])
    assert store.age(["a", "b", "AGENT.md"]) < 3_600
    assert store.age(["a", "no"]) == store.age(["no", "AGENT.md"]) == 0.0


def test_a_file_is_no_folder(store: FileStore) -> None:
    assert store.has_folder(["a", "b"])
    assert not store.has_folder(["a", "b", "AGENT.md"])
    assert not store.has_folder(["a", "no"])


def test_only_a_write_makes_folders(store: FileStore, tmp_path: Path) -> None:
    parts = ["new", "AGENT.md"]
    acts: list[Callable[[], Any]] = [
        lambda: store.read(parts),
        lambda: store.remove(parts),
        lambda: store.age(parts),
        lambda: store.has_folder(parts[:1]),
        lambda: list(store.walk(parts[:1])),
        lambda: store.touch(parts),
    ]
    for act in acts:
        with suppress(FileNotFoundError):
            act()
        assert not (tmp_path / "files" / "new").exists()


def test_tidying_looks_behind_no_link(store: FileStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "files" / "linked").symlink_to(outside)
    torn, named = outside / ".crewship-tmp-1", tmp_path / "files" / "a" / "tmp"
    for path in (torn, named):
        path.write_bytes(b"torn")
        os.utime(path, (1, 1))
    assert store.tidy() == 0
    assert torn.exists() and named.exists()
