"""The records of erasures outside the database: order, damage, and what they miss."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from gdpr import audit_log
from gdpr.erasure import readiness, replay, tombstones
from gdpr.erasure.tombstones import Damaged, Record
from gdpr.models import ActionKind, ActionStatus, GdprAction
from gdpr.suppression import Digest
from memory.journal import append as journal
from memory.rules import permissions
from tests.world import World

pytestmark = pytest.mark.django_db
HOME: Final = "ws_1"
ROWS: Final = {"journal": [["j_1", "delete"]]}


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Give each test a folder of its own, which does not exist yet."""
    settings.DATA_DIR = tmp_path
    return tmp_path / tombstones.FOLDER


def record(case: str = "c_1", run: int = 1, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "workspace_id": HOME,
        "case_id": case,
        "subject_id": "sub_1",
        "run": run,
        "at": tombstones.now(),
        "aliases": (Digest("d" * 64, "email", 1), Digest("e" * 64, "name", 2)),
        "rows": ROWS,
    }
    return Record(**{**values, **fields})


def announced(*cases: str) -> Path:
    """Announce a run of each case; return the file."""
    for case in cases:
        tombstones.announce(record(case))
    return tombstones.path_of(HOME)


def cases_in(workspace_id: str = HOME) -> list[str]:
    return [entry.case_id for entry in tombstones.read(workspace_id)]


# ── Announcing ───────────────────────────────────────────────────────────────
def test_what_is_announced_is_what_is_read(folder: Path) -> None:
    assert (tombstones.read(HOME), tombstones.workspaces()) == ([], [])
    first, second = (tombstones.announce(record(case)) for case in ("c_1", "c_2"))
    assert (first.number, second.number) == (1, 2)
    assert tombstones.read(HOME) == [first, second]
    tombstones.announce(record(workspace_id="ws_0"))
    assert tombstones.workspaces() == ["ws_0", "ws_1"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_a_run_announces_the_same_rows_once_and_others_again() -> None:
    other = {"journal": [["j_2", "delete"]]}
    first = tombstones.announce(record())
    numbers = [
        tombstones.announce(second_answer).number
        for second_answer in (
            record(at="later"),
            record(run=2),
            record("c_2"),
            record(rows=other),
            record(rows=other),
            record(),
        )
    ]
    assert numbers == [1, 2, 3, 4, 4, 1]
    assert tombstones.read(HOME)[0] == first


def test_it_is_on_the_disk_before_anything_is_erased(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, int]] = []

    def fsync(handle: int) -> None:
        state = os.fstat(handle)
        synced.append((state.st_ino, state.st_size))

    monkeypatch.setattr(os, "fsync", fsync)
    file = announced("c_1").stat()
    assert (file.st_ino, file.st_size) in synced
    assert folder.stat().st_ino in {inode for inode, _ in synced}


def test_wherever_a_crash_cuts_the_file_its_beginning_holds_and_goes_on() -> None:
    path = announced("c_1", "c_2")
    data = path.read_bytes()
    end_of_first = data.index(b"\n") + 1
    for size in (0, 1, end_of_first - 1, end_of_first, end_of_first + 1, len(data) - 1):
        path.write_bytes(data[:size])
        full_text = ["c_1"][: data[:size].count(b"\n")]
        assert cases_in() == full_text
        tombstones.announce(record("c_3"))
        assert cases_in() == [*full_text, "c_3"]
        assert path.read_bytes().startswith(data[: end_of_first * len(full_text)])


# ── Damage ───────────────────────────────────────────────────────────────────
def _without(field: str) -> Callable[[str], str]:
    def change(line: str) -> str:
        outer = json.loads(line)
        del outer[field]
        return json.dumps(outer)

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: "nonsense", "is not a record"),
        (lambda _: "", "is not a record"),
        (lambda _: "[]", "is not a record"),
        (lambda _: '{"body": "x", "mac": "y"}', "is not a record"),
        (_without("body"), "is not a record"),
        (_without("mac"), "is not a record"),
        (lambda line: line.replace("j_1", "j_9"), "changed, moved or forged"),
        (lambda line: line.replace("c_2", "c_9"), "changed, moved or forged"),
    ],
)
def test_a_line_that_was_changed_is_named_and_nothing_follows_it(
    change: Callable[[str], str], reason: str
) -> None:
    path = announced("c_1", "c_2", "c_3")
    lines = path.read_text().splitlines()
    lines[1] = change(lines[1])
    damaged = "\n".join(lines) + "\n"
    path.write_text(damaged)
    with pytest.raises(Damaged, match=f"^Line 2 of the erasures file.*{reason}"):
        tombstones.read(HOME)
    with pytest.raises(Damaged):
        tombstones.announce(record("c_4"))
    assert path.read_text() == damaged
    state = replay.state()
    assert (state["ok"], state["behind"]) == (False, 0)
    assert reason in state["fault"]


@pytest.mark.parametrize("order", [[1, 0, 2], [1, 2], [0, 2], [0, 0, 1, 2]])
def test_no_line_can_be_moved_left_out_or_repeated(order: list[int]) -> None:
    path = announced("c_1", "c_2", "c_3")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[place] for place in order))
    with pytest.raises(Damaged, match="changed, moved or forged"):
        tombstones.read(HOME)


def test_a_file_of_another_workspace_or_another_key_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    announced("c_1")
    monkeypatch.setattr(journal, "key", lambda: b"another key")
    with pytest.raises(Damaged):
        tombstones.read(HOME)


# ── Another key ──────────────────────────────────────────────────────────────
def test_every_record_is_signed_again_when_the_key_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = announced("c_1", "c_2")
    tombstones.announce(record("c_3", workspace_id="ws_2"))
    before = tombstones.read(HOME)
    path.write_bytes(path.read_bytes() + b'{"body": "half')
    monkeypatch.setattr(journal, "key", lambda: b"another key")
    assert tombstones.sign_again() == 3
    assert tombstones.read(HOME) == before
    assert cases_in("ws_2") == ["c_3"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tombstones.announce(record("c_4")).number == 3


def test_signing_again_does_not_hide_that_a_line_is_missing() -> None:
    path = announced("c_1", "c_2", "c_3")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    assert tombstones.sign_again() == 2
    with pytest.raises(Damaged, match="Line 2 of the erasures file has the number 3"):
        tombstones.read(HOME)


# ── Compared with the audit log ──────────────────────────────────────────────
def ledger(
    home: str,
    case: str = "c_1",
    *,
    action: ActionKind = ActionKind.DELETE,
    status: ActionStatus = ActionStatus.COMPLETED,
    **scope: Any,
) -> GdprAction:
    """Write a row of the audit log."""
    by = permissions.system(home, "gdpr")
    row = audit_log.begin(
        "sub_1", action, by=by, case_ref=case, reason="Asked", scope=scope
    )
    return row if status is audit_log.OPEN else audit_log.finish(row, status)


def test_a_record_waits_for_a_replay_until_its_run_is_in_the_audit_log(
    world: World,
) -> None:
    home, other = world.acme.id, world.other.id
    for case, run in (("c_1", 1), ("c_1", 2), ("c_2", 1)):
        tombstones.announce(record(case, run, workspace_id=home))
    tombstones.announce(record(workspace_id=other))

    def waiting() -> list[tuple[str, int]]:
        return [(row.case_id, row.run) for row in tombstones.unreplayed(home)]

    ledger(home, "c_1")
    assert waiting() == [("c_1", 1), ("c_1", 2), ("c_2", 1)]
    ledger(other, "c_1", run=1)
    assert len(waiting()) == 3
    assert tombstones.behind() == {home: 3}
    assert replay.state() == {"ok": False, "behind": 3, "fault": ""}
    ledger(home, "c_1", run=1, status=audit_log.OPEN)
    assert waiting() == [("c_1", 2), ("c_2", 1)]
    for case, run in (("c_1", 2), ("c_2", 1)):
        ledger(home, case, run=run)
    assert (waiting(), tombstones.behind()) == ([], {})
    assert replay.state() == {"ok": True, "behind": 0, "fault": ""}


@pytest.mark.parametrize(
    ("fields", "is_missed"),
    [
        ({"run": 1}, False),
        ({"run": 2}, True),
        ({"run": 2, "status": ActionStatus.PARTIAL}, True),
        ({"run": 1, "case": "c_2"}, True),
        # What erased nothing, or has not ended, needs no record.
        ({"run": 2, "status": audit_log.OPEN}, False),
        ({"run": 2, "status": ActionStatus.FAILED}, False),
        ({"run": 2, "action": ActionKind.RECTIFY}, False),
        ({}, False),
    ],
)
def test_a_run_that_was_carried_out_is_missed_in_a_file_without_its_end(
    world: World, fields: dict[str, Any], is_missed: bool
) -> None:
    home, other = world.acme.id, world.other.id
    for workspace_id in (home, other):
        tombstones.announce(record(workspace_id=workspace_id))
        ledger(workspace_id, run=1)
    ledger(home, **fields)
    assert tombstones.truncated() == ([home] if is_missed else [])
    fault = readiness.TAIL_LOST if is_missed else ""
    assert replay.state() == {"ok": not is_missed, "behind": 0, "fault": fault}
