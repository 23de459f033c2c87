"""Records of erasures in a table and in each machine's file: none is ever lost."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gdpr.erasure import readiness, record_copies, shared_tombstones, tombstones
from gdpr.erasure.tombstones import Damaged, Record
from gdpr.models import ErasureLine, ErasureMark
from gdpr.suppression import Digest
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.models import Installation
from memory.stored_files import trees
from tests.world import World

pytestmark = pytest.mark.django_db
Machine = Callable[[str], Path]


@pytest.fixture
def machine(world: World, settings: Any, tmp_path: Path) -> Machine:
    """Return what makes this process one of another machine, with its own folder."""
    Installation.objects.update(bodies="database")
    settings.BODIES = "database"

    def become(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        settings.DATA_DIR = folder
        installation.forget()
        shared_tombstones.forget()
        readiness.forget()
        return folder

    become("first")
    return become


def record(world: World, case: str, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "workspace_id": world.acme.id,
        "case_id": case,
        "subject_id": "sub_1",
        "run": 1,
        "at": tombstones.now(),
        "aliases": (Digest("d" * 64, "email", 1),),
        "rows": {"journal": [["j_1", "delete"]]},
    }
    return Record(**{**values, **fields})


def cases(world: World) -> list[str]:
    return [row.case_id for row in tombstones.read(world.acme.id)]


def test_a_record_is_in_the_table_and_on_every_machine_that_looks(
    world: World, machine: Machine
) -> None:
    assert shared_tombstones.announce(record(world, "c_1")).number == 1
    assert ErasureLine.objects.filter(workspace=world.acme).count() == 1
    machine("second")
    assert cases(world) == []
    record_copies.copy()
    assert cases(world) == ["c_1"]
    assert shared_tombstones.announce(record(world, "c_2")).number == 2
    machine("first")
    assert shared_tombstones.mirror() == 1
    assert shared_tombstones.mirror() == 0
    assert cases(world) == ["c_1", "c_2"]
    assert tombstones.lines(world.acme.id) == [
        line.encode() for line in ErasureLine.objects.values_list("line", flat=True)
    ]


def test_what_another_machine_adds_right_after_a_comparison_is_copied_too(
    world: World, machine: Machine, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    first = machine("first")
    second = machine("second")
    locks = type(trees.locks())
    locked = locks.locked

    @contextmanager
    def locked_and_then_added(*args: Any) -> Iterator[None]:
        with locked(*args):
            yield
        if second == settings.DATA_DIR:
            settings.DATA_DIR = first
            shared_tombstones.announce(record(world, "c_2"))
            settings.DATA_DIR = second

    with monkeypatch.context() as added:
        added.setattr(locks, "locked", locked_and_then_added)
        shared_tombstones.mirror()
    assert cases(world) == ["c_1"]
    shared_tombstones.mirror()
    assert cases(world) == ["c_1", "c_2"]


def test_a_look_without_a_change_costs_four_queries_and_counts_no_line(
    world: World, machine: Machine, django_assert_num_queries: Any
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    assert len(readiness.gaps()) == 1
    readiness._state.checked_at = None
    installation.problem()
    with django_assert_num_queries(4) as queries:
        readiness.gaps()
    assert not [q for q in queries if "COUNT" in q["sql"] or "GROUP BY" in q["sql"]]


def test_a_full_disk_keeps_no_machine_from_comparing(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    second = machine("second")
    with monkeypatch.context() as full:

        def no_room(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(tombstones, "add", no_room)
        assert readiness.refusal() is None
        with pytest.raises(OSError, match="No space"):
            shared_tombstones.announce(record(world, "c_2"))
    assert shared_tombstones.mirror() == 1
    assert cases(world) == ["c_1"] and second.exists()


def test_a_restored_database_gets_back_what_any_machine_has(
    world: World, machine: Machine
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    machine("second")
    shared_tombstones.announce(record(world, "c_2"))
    # The backup is older than both; each machine knows something of its own.
    ErasureLine.objects.all().delete()
    machine("first")
    assert [gap.count for gap in readiness.gaps().values()] == [1]
    machine("second")
    assert [gap.count for gap in readiness.gaps().values()] == [2]
    machine("first")
    assert [gap.count for gap in readiness.gaps().values()] == [2]
    assert sorted(cases(world)) == ["c_1", "c_2"]


def test_the_end_is_the_same_on_machines_with_another_order(
    world: World, machine: Machine
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    ErasureLine.objects.all().delete()
    machine("second")
    shared_tombstones.announce(record(world, "c_2"))
    machine("first")
    shared_tombstones.mirror()
    first, end = cases(world), shared_tombstones.end(world.acme.id)
    machine("second")
    shared_tombstones.mirror()
    assert (first, cases(world)) == (["c_1", "c_2"], ["c_2", "c_1"])
    assert shared_tombstones.end(world.acme.id) == end != ""
    assert ErasureMark.objects.count() == 0


def test_a_changed_row_is_noticed_and_closes_its_workspace(
    world: World, machine: Machine
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    line = ErasureLine.objects.get()
    line.line = line.line.replace("j_1", "j_9")
    line.save()
    machine("second")
    (gap,) = readiness.gaps().values()
    assert "changed, moved or forged" in gap.fault
    assert not gap.is_served
    assert cases(world) == []
    with pytest.raises(Damaged):
        shared_tombstones.announce(record(world, "c_2"))


def test_a_dump_is_merged_once_and_only_with_our_signature(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for case in ("c_1", "c_2"):
        shared_tombstones.announce(record(world, case))
    dump = json.loads(json.dumps(shared_tombstones.dump()))
    assert {home: len(lines) for home, lines in dump.items()} == {world.acme.id: 2}
    ErasureLine.objects.all().delete()
    machine("second")
    forged = {world.acme.id: [dump[world.acme.id][0].replace("c_1", "c_9")]}
    with pytest.raises(Damaged):
        shared_tombstones.merge(forged)
    assert cases(world) == []
    assert shared_tombstones.merge(dump) == 2
    assert shared_tombstones.merge(dump) == 0
    assert cases(world) == ["c_1", "c_2"]
    assert ErasureLine.objects.count() == 2


def test_a_dump_is_merged_into_files_where_there_is_no_table(
    world: World, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    shared_tombstones.announce(record(world, "c_1"))
    dump = shared_tombstones.dump()
    tombstones.path_of(world.acme.id).unlink()
    assert shared_tombstones.merge(dump) == 1
    assert cases(world) == ["c_1"]
    assert ErasureLine.objects.count() == 0


def test_records_are_signed_again_in_both_places(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    monkeypatch.setattr(journal, "key", lambda: b"another key")
    assert shared_tombstones.sign_again() == 1
    machine("second")
    assert shared_tombstones.mirror() == 1
    assert cases(world) == ["c_1"]


def test_nothing_is_copied_while_the_installation_is_not_ready(
    world: World, machine: Machine
) -> None:
    shared_tombstones.announce(record(world, "c_1"))
    machine("second")
    Installation.objects.update(bodies="folder")
    installation.forget()
    assert shared_tombstones.mirror() == 0
    assert tombstones.workspaces() == []
