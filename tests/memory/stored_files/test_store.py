"""What readers rely on in a tree of files, in a folder and in the database alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection, connections
from django.utils import timezone

from memory.installation import identity as installation
from memory.installation import key_files
from memory.models import StoredFile
from memory.rules import errors
from memory.stored_files import (
    advisory_locks,
    database,
    folder,
    pieces,
    store,
    trees,
)
from memory.stored_files.store import Busy, Store, Unsafe
from tests.waiting import LIMIT_SECONDS
from tests.world import World

pytestmark = pytest.mark.django_db
ODD_PARTS = ["", ".", "..", "a/b", "a\\b", "a\x00b", "../x", "a\udc80", "x" * 256]
PLACES = ["folder", "database"]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> str:
    """Where the bodies are, in a data folder of the test's own."""
    settings.DATA_DIR = tmp_path
    settings.BODIES = str(request.param)
    return str(request.param)


@pytest.fixture
def tree(place: str, world: World) -> Store:
    """The tree of memory files, marked as ours where it is a folder."""
    make: Callable[[str], Store] = getattr(trees, place)
    return make(trees.FILES)


def test_a_write_comes_back_with_its_digest(tree: Store) -> None:
    path = ("acme", "support", "AGENT.md")
    assert tree.read(path) is None
    for data in (b"first", b"", b"\x00\xff second"):
        assert tree.write(path, data) == store.digest(data)
        assert tree.read(path) == store.Stored(data, store.digest(data))


@pytest.mark.parametrize("part", ODD_PARTS)
@pytest.mark.parametrize("at", [1, 2])
def test_an_odd_segment_is_refused(tree: Store, part: str, at: int) -> None:
    path = ["acme", "support", "AGENT.md"]
    tree.write(path, b"words")
    path[at] = part
    for act in (tree.read, tree.remove, lambda path: tree.write(path, b"x")):
        if part == "a\udc80" and isinstance(tree, folder.FileStore):
            continue
        with pytest.raises(Unsafe):
            act(path)
    assert len(list(tree.raw(("acme",)))) == 1


def test_a_removed_file_is_gone_and_its_workspace_is_not(tree: Store) -> None:
    path = ("acme", "support", "AGENT.md")
    tree.write(path, b"words")
    assert tree.has_folder(("acme", "support"))
    assert (tree.remove(path), tree.remove(path)) == (True, False)
    assert (tree.read(path), list(tree.walk(("acme",)))) == (None, [])
    assert tree.has_folder(("acme",))
    assert not tree.has_folder(("acme", "sales"))
    assert not tree.has_folder(("nowhere",))


def test_a_walk_goes_by_name_below_one_folder(tree: Store) -> None:
    names = ["a.md", "a/z.md", "a-b/c.md", "a/.hidden", ".x/y.md", "B.md", "ab.md"]
    for name in names:
        tree.write(("acme", *name.split("/")), b"x")
    tree.write(("other", "a.md"), b"x")
    below = ["/".join(parts[1:]) for parts in tree.walk(("acme",))]
    assert below == ["B.md", "a/z.md", "a-b/c.md", "a.md", "ab.md"]
    assert list(tree.walk(("acme", "a"))) == [("acme", "a", "z.md")]
    assert list(tree.walk(("acme", "a.md"))) == []
    assert ("other", "a.md") in set(tree.walk())
    raw = {file.path: file for file in tree.raw(("acme",))}
    assert set(raw) == {f"acme/{name}" for name in names}
    assert raw["acme/a/.hidden"].read() == b"x"
    assert raw["acme/a/.hidden"].tree == "files"
    assert (raw["acme/a.md"].remove(), raw["acme/a.md"].remove()) == (True, False)
    with pytest.raises(FileNotFoundError):
        raw["acme/a.md"].read()


def test_a_wildcard_in_a_name_is_a_letter(tree: Store) -> None:
    tree.write(("acme", "a_b", "x.md"), b"x")
    tree.write(("acme", "a%", "x.md"), b"x")
    tree.write(("acme", "axb", "x.md"), b"x")
    assert list(tree.walk(("acme", "a_b"))) == [("acme", "a_b", "x.md")]
    assert list(tree.walk(("acme", "a%"))) == [("acme", "a%", "x.md")]


def test_a_large_file_is_refused_with_its_size(
    tree: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ("acme", "support", "AGENT.md")
    monkeypatch.setattr(store, "READ_LIMIT", 10)
    monkeypatch.setattr(folder, "READ_LIMIT", 10)
    tree.write(path, b"0123456789")
    assert tree.read(path) is not None
    tree.write(path, b"0123456789!")
    with pytest.raises(errors.TooLarge) as refusal:
        tree.read(path)
    assert refusal.value.fields["size"] == 11


def test_the_age_counts_from_the_last_write_or_touch(tree: Store) -> None:
    path = ("acme", "support", "AGENT.md")
    assert tree.age(path) == 0
    tree.write(path, b"words")
    with time_machine.travel(timezone.now() + timedelta(hours=3)):
        assert 10_000 < tree.age(path) < 11_000
        tree.write(path, b"words")
        # A folder's times are those of the disk, which no test moves.
        if not isinstance(tree, folder.FileStore):
            assert tree.age(path) < 60
    tree.touch(path)
    assert tree.age(path) < 60


def test_two_workspaces_do_not_see_each_others_files(tree: Store) -> None:
    tree.write(("acme", "x.md"), b"ours")
    assert list(tree.walk(("other",))) == []
    assert tree.read(("other", "x.md")) is None
    assert tree.remove(("other", "x.md")) is False
    assert tree.read(("acme", "x.md")) is not None


def test_nothing_is_left_half_written(tree: Store) -> None:
    tree.write(("acme", "x.md"), b"words")
    tree.check()
    assert tree.tidy() == 0
    assert [file.path for file in tree.raw()] == ["acme/x.md"]


# ── Locks ────────────────────────────────────────────────────────────────────
def _elsewhere(act: Callable[[], None]) -> None:
    """Run a function in a thread with a connection of its own, to its end."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT_SECONDS)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def _take(tree: Store, name: str) -> Callable[[], None]:
    def act() -> None:
        with tree.locked(name, 0):
            pass

    return act


@pytest.fixture
def held_tree(place: str, transactional_db: None) -> Iterator[Store]:
    make: Callable[[str], Store] = getattr(trees, place)
    yield make(trees.FILES)


def test_a_lock_excludes_others_until_its_end(held_tree: Store) -> None:
    name = "acme/support/AGENT.md"
    with held_tree.locked(name):
        with pytest.raises(Busy):
            _elsewhere(_take(held_tree, name))
        _elsewhere(_take(held_tree, f"{name}2"))
    _elsewhere(_take(held_tree, name))
    with pytest.raises(ValueError, match="within"), held_tree.locked(name):
        raise ValueError("within")
    _elsewhere(_take(held_tree, name))
    held_tree.forget_lock(name)


def test_a_lock_within_another_is_taken_too(held_tree: Store) -> None:
    with held_tree.locked("acme/a"), held_tree.locked("blobs:a"):
        for name in ("acme/a", "blobs:a"):
            with pytest.raises(Busy):
                _elsewhere(_take(held_tree, name))


@pytest.mark.postgres
def test_a_lock_in_a_transaction_is_held_until_others_see_what_was_written(
    shared_world: World, settings: Any
) -> None:
    from django.db import transaction

    settings.BODIES = "database"
    tree = trees.database(trees.FILES)
    with transaction.atomic():
        with tree.locked("acme/x"):
            tree.write(("acme", "x.md"), b"words")
        with pytest.raises(Busy):
            _elsewhere(_take(tree, "acme/x"))
    _elsewhere(_take(tree, "acme/x"))


@pytest.mark.postgres
def test_a_lock_goes_with_the_connection_of_a_process_that_died(
    shared_world: World, settings: Any
) -> None:
    settings.BODIES = "database"
    tree = trees.database(trees.FILES)

    def die() -> None:
        with tree.locked("acme/x"):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                pid = cursor.fetchone()[0]
            _elsewhere(lambda: _end(pid))

    _elsewhere(die)
    with tree.locked("acme/x", LIMIT_SECONDS):
        pass


def _end(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])


@pytest.mark.postgres
def test_a_lock_that_cannot_be_given_back_does_not_stay_in_the_pool(
    shared_world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BODIES = "database"
    tree = trees.database(trees.FILES)
    ask = advisory_locks._ask

    def fails(function: str, number: int) -> bool:
        if function == "pg_advisory_unlock":
            raise OperationalError
        return ask(function, number)

    def hold() -> None:
        with tree.locked("acme/x"):
            monkeypatch.setattr(advisory_locks, "_ask", fails)
        monkeypatch.setattr(advisory_locks, "_ask", ask)

    assert connection.settings_dict["OPTIONS"]["pool"]
    _elsewhere(hold)
    with tree.locked("acme/x", LIMIT_SECONDS):
        pass


# ── The database alone ───────────────────────────────────────────────────────
def test_equal_bytes_are_one_row_of_a_workspace(world: World, settings: Any) -> None:
    settings.BODIES = "database"
    tree = trees.database(trees.BLOBS)
    for _ in range(2):
        tree.write((world.acme.id, "ab", "abc"), b"once")
    tree.write((world.other.id, "ab", "abc"), b"once")
    assert StoredFile.objects.filter(workspace=world.acme).count() == 1
    row = StoredFile.objects.get(workspace=world.acme)
    assert (row.size, row.sha256) == (4, store.digest(b"once"))


def test_a_path_of_no_workspace_is_refused(world: World) -> None:
    for path in (("nowhere", "x.md"), ("acme",)):
        with pytest.raises(Unsafe):
            trees.database(trees.FILES).write(path, b"x")


@pytest.mark.parametrize("size", [0, 1, pieces.PIECE, 2 * pieces.PIECE + 1])
def test_a_file_in_pieces_comes_back_whole(
    world: World, size: int, tmp_path: Path
) -> None:
    tree, path = trees.database(trees.EXPORTS), (world.acme.id, "bundle")
    with pytest.raises(FileNotFoundError):
        pieces.opened(tree, path)
    for data in (b"x" * 3 * pieces.PIECE, bytes(i % 251 for i in range(size))):
        (tmp_path / "source").write_bytes(data)
        with (tmp_path / "source").open("rb") as source:
            pieces.put(tree, path, source)
        with pieces.opened(tree, path) as file:
            assert file.read() == data
    assert tree.bytes_below(path) == size


# ── Where the bodies are ─────────────────────────────────────────────────────
def test_a_tree_is_where_the_settings_say_and_the_database_has_on_record(
    world: World, settings: Any
) -> None:
    assert isinstance(trees.tree(trees.FILES), folder.FileStore)
    settings.BODIES = "database"
    installation.forget()
    with pytest.raises(installation.NotReady) as refusal:
        trees.tree(trees.FILES)
    assert "manage.py move_bodies --apply" in refusal.value.detail
    assert installation.problem() == refusal.value.detail.rstrip()
    from memory.models import Installation

    Installation.objects.update(bodies="database")
    installation.forget()
    assert installation.problem() is None
    assert isinstance(trees.tree(trees.FILES), database.DatabaseStore)


def test_a_machine_that_is_new_marks_its_own_folder_alone(
    world: World, settings: Any, tmp_path: Path
) -> None:
    from memory.models import Installation

    Installation.objects.update(bodies="database")
    settings.BODIES = "database"
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    for name in ("keys", "files", "blobs"):
        assert not (fresh / name).exists()
    from django.test import override_settings

    with override_settings(DATA_DIR=fresh):
        # The tests mark what they choose; this one starts as nobody's.
        for name in ("keys", "files", "blobs"):
            (fresh / name / key_files.MARK).unlink(missing_ok=True)
            (fresh / name).rmdir() if (fresh / name).exists() else None
        installation.forget()
        assert installation.problem() is None
        assert [path.name for path in fresh.iterdir()] == ["keys"]
        key_files.replace(fresh / "keys" / key_files.MARK, "inst_another")
        installation.forget()
        assert "belongs to another installation" in str(installation.problem())
