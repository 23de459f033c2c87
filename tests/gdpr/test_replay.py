"""Erasures are repeated after a restore, and ``doctor`` fails until then."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import connection

from crewship_memory import doctor
from gdpr import audit_log, suppression
from gdpr.erasure import process_caches, replay, tombstones
from gdpr.erasure.tombstones import Record
from gdpr.matching.matcher import Name
from gdpr.models import (
    ActionKind,
    ActionStatus,
    Alias,
    CaseState,
    GdprAction,
    Subject,
    SubjectLink,
    Suppression,
)
from gdpr.subjects import registry as subjects
from gdpr.suppression import Digest
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr.erasing import MAIL, NAME, OTHER, WORD
from tests.world import World

Rows = dict[str, list[list[str]]]


def _record(number: int = 0, **fields: object) -> Record:
    values = {
        "workspace_id": "ws_1",
        "case_id": f"c_{number}",
        "subject_id": "sub_1",
        "run": 1,
        "at": "2026-01-01T00:00:00.000Z",
        "aliases": (Digest("d" * 64, "email", 1),),
        "rows": {"journal": [["j_1", "delete"]]},
    }
    return Record(**{**values, **fields})  # type: ignore[arg-type]


# ── A restore ────────────────────────────────────────────────────────────────
@contextmanager
def _restored_afterwards(tmp_path: Path) -> Iterator[None]:
    """Copy the database, and restore it at the end."""
    name = str(connection.settings_dict["NAME"])
    copy = tmp_path / "backup.sqlite3"
    with closing(sqlite3.connect(name)) as live, closing(sqlite3.connect(copy)) as to:
        live.backup(to)
    yield
    connection.close()
    with (
        closing(sqlite3.connect(copy)) as backup,
        closing(sqlite3.connect(name)) as live,
    ):
        live.execute("PRAGMA secure_delete = ON")
        backup.backup(live)


def _doctor() -> str:
    return str(doctor.erasures()[0].level)


@pytest.mark.slow
@pytest.mark.sqlite
def test_a_restored_backup_is_noticed_and_made_up_for(
    shared_world: World, tmp_path: Path
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.maria(world)
    erasing.otto(world)
    with _restored_afterwards(tmp_path):
        assert erasing.erased(world, subject).state == CaseState.COMPLETE
        assert _doctor() == "ok"
    assert JournalEntry.objects.get(pk=rows["mine"].pk).erased_at is None
    assert _doctor() == "fail"
    assert replay.state()["behind"] > 0
    replays = replay.run()
    assert [replayed.remaining for replayed in replays] == [[]]
    _is_gone_again(world, subject.pk, rows)
    assert _doctor() == "ok"
    assert replay.run() == []


def _is_gone_again(world: World, subject_id: str, rows: dict[str, object]) -> None:
    own_entry = JournalEntry.objects.get(pk=rows["mine"].pk)  # type: ignore[attr-defined]
    assert own_entry.erased_at is not None
    for entry in JournalEntry.objects.filter(workspace=world.acme):
        for text in (MAIL, NAME):
            assert text not in entry.summary + entry.payload_text
    assert not Alias.objects.filter(subject_id=subject_id).exists()
    assert not SubjectLink.objects.filter(subject_id=subject_id).exists()
    assert Suppression.objects.filter(subject_ref=subject_id).exists()


@pytest.mark.slow
@pytest.mark.sqlite
def test_a_backup_from_before_the_person_was_known(
    shared_world: World, tmp_path: Path
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    with _restored_afterwards(tmp_path):
        subject = erasing.maria(world)
        erasing.otto(world)
        assert erasing.erased(world, subject).state == CaseState.COMPLETE
    assert not Subject.objects.filter(pk=subject.pk).exists()
    assert _doctor() == "fail"
    (replayed,) = replay.run()
    assert replayed.remaining == []
    _is_gone_again(world, subject.pk, rows)
    shared_entry = JournalEntry.objects.get(pk=rows["both"].pk)
    assert shared_entry.redacted_at is not None or shared_entry.erased_at is not None
    assert _doctor() == "ok"


@pytest.mark.slow
@pytest.mark.sqlite
def test_a_name_that_was_added_after_the_backup_goes_as_well(
    shared_world: World, tmp_path: Path
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.subject(world, ("email", MAIL), display_name=NAME)
    erasing.otto(world)
    with _restored_afterwards(tmp_path):
        subjects.add_alias(
            subject.pk, subjects.NewAlias("name", NAME), by=world.actor("compliance")
        )
        assert erasing.erased(world, subject).state == CaseState.COMPLETE
    assert Alias.objects.filter(subject_id=subject.pk).count() == 1
    replays = replay.run()
    assert [replayed.remaining for replayed in replays] == [[]]
    _is_gone_again(world, subject.pk, rows)
    for text in (MAIL, NAME, WORD):
        assert kit.in_files(text) == {}, text


def test_a_file_of_a_workspace_that_is_gone_waits_for_nobody(db: None) -> None:
    tombstones.announce(_record(1))
    assert replay.state() == {"ok": True, "behind": 0, "fault": ""}
    assert replay.run() == []


def test_a_backup_from_before_a_waiting_run_is_noticed(world: World) -> None:
    home, by = world.acme.id, world.actor("compliance")
    scope = {audit_log.WAITS: 1}
    audit_log.begin(
        "sub_1", ActionKind.DELETE, by=by, case_ref="c_1", reason="Asked", scope=scope
    )
    tombstones.announce(_record(1, workspace_id=home))
    assert [record.case_id for record in tombstones.unreplayed(home)] == ["c_1"]


def test_an_entry_that_stays_stays_wherever_the_backup_has_it(world: World) -> None:
    record = _record(1, workspace_id=world.acme.id, rows={"archive": [["j_1", "keep"]]})
    person = replay._person([record])
    assert person.is_kept("journal", "j_1")


# ── What a record alone can tell ─────────────────────────────────────────────
def _announced(world: World, rows: Rows, run: int = 1) -> None:
    """Announce an erasure of Maria, of whom this database has no subject."""
    home = world.acme.id
    names = [Name("", "email", MAIL), Name("", "name", NAME)]
    digests = tuple(suppression.digests_of(home, names))
    tombstones.announce(
        _record(1, workspace_id=home, aliases=digests, rows=rows, run=run)
    )


def _fates(*rows: JournalEntry) -> list[str]:
    """Return what became of entries."""
    fates = []
    for row in rows:
        row.refresh_from_db()
        is_masked = row.redacted_at is not None
        fates.append("gone" if row.erased_at else "masked" if is_masked else "there")
    return fates


@pytest.mark.slow
def test_a_record_finds_the_rows_and_the_names_again(shared_world: World) -> None:
    world, home = shared_world, shared_world.acme.id
    erasing.otto(world)
    named_rows = world.entry("No name is in this")
    mailed = world.entry(f"From {MAIL}")
    kept_rows = world.entry(f"A contract with {NAME}")
    masked = world.entry(f"{NAME} met {OTHER}")
    apart = world.entry(f"{OTHER} likes harbours")
    foreign = world.entry(f"From {MAIL}", by="olga")
    _announced(
        world,
        {
            "journal": [
                [named_rows.id, "delete"],
                [kept_rows.id, "keep"],
                [masked.id, "redact"],
            ]
        },
    )
    _announced(world, {"archive": []})
    lines: list[str] = []
    (replayed,) = replay.run(lines.append)
    rows = (named_rows, mailed, kept_rows, masked, apart, foreign)
    assert _fates(*rows) == ["gone", "gone", "there", "masked", "there", "there"]
    assert OTHER in masked.summary
    assert NAME not in masked.summary
    assert (replayed.case_id, replayed.subject_id) == ("c_1", "sub_1")
    assert (replayed.erased, replayed.redacted) == (2, 1)
    assert (replayed.remaining, replayed.todo) == ([], [])
    assert lines[0] == "Case c_1"
    assert "Journal entries: 2 erased, 1 masked" in lines
    action = GdprAction.objects.get(workspace_id=home, case_ref="c_1")
    assert (action.status, action.scope) == (
        ActionStatus.COMPLETED,
        {"run": 1, "replayed": True, "erased": 2, "redacted": 1},
    )
    entry = JournalEntry.objects.get(entry_type="gdpr.replayed")
    assert (entry.workspace_id, entry.payload) == (
        home,
        {"case_id": "c_1", "subject_id": "sub_1", "erased": 2, "redacted": 1},
    )
    with pytest.raises(errors.Conflict):
        world.entry(f"From {MAIL} again")
    assert replay.run() == []


@pytest.mark.slow
def test_names_that_came_back_go_and_those_of_others_stay(shared_world: World) -> None:
    world = shared_world
    subject, otto = erasing.maria(world), erasing.otto(world)
    Subject.objects.filter(pk=subject.pk).update(consent_note=f"Asked by {MAIL}")
    row = world.entry(f"From {MAIL}")
    record = _record(1, workspace_id=world.acme.id, subject_id=subject.pk, aliases=())
    tombstones.announce(record)
    (replayed,) = replay.run()
    assert (_fates(row), replayed.remaining) == (["gone"], [])
    subject.refresh_from_db()
    assert (subject.display_name, subject.consent_note) == ("", "")
    assert subject.erased_at is not None
    assert subject.erased_at == subject.opted_out_at
    assert not subject.aliases.exists()
    otto.refresh_from_db()
    assert (otto.display_name, otto.erased_at) == ("Otto Sommer", None)
    assert otto.aliases.count() == 1


@pytest.mark.slow
def test_a_server_that_did_not_forget_leaves_something_to_do(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _announced(shared_world, {"journal": []})
    answers = {"processes": 2, "unconfirmed": 1}
    monkeypatch.setattr(process_caches, "flush_everywhere", lambda *_: answers)
    (replayed,) = replay.run()
    assert replayed.todo == ["A running server did not forget in time: restart it."]
    action = GdprAction.objects.get(case_ref="c_1")
    assert action.status == ActionStatus.PARTIAL
    assert replay.run() == [], "a replay is done once, whatever is left to do"


def test_each_run_is_repeated_by_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run, row_id in ((1, "j_1"), (2, "j_2"), (1, "j_3")):
        _announced(world, {"journal": [[row_id, "delete"]]}, run)
    repeated: list[list[int]] = []
    monkeypatch.setattr(
        replay,
        "_run",
        lambda records, *_, **__: repeated.append([row.number for row in records]),
    )
    replay.run()
    assert repeated == [[1, 3], [2]]
