"""Erasures are repeated after a restore, and ``doctor`` fails until then."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import connection

from crewship_memory import doctor
from gdpr import audit_log
from gdpr.erasure import replay, tombstones
from gdpr.erasure.tombstones import Record
from gdpr.models import (
    ActionKind,
    Alias,
    CaseState,
    Subject,
    SubjectLink,
    Suppression,
)
from gdpr.subjects import registry as subjects
from gdpr.suppression import Digest
from memory.models import JournalEntry
from tests.gdpr import erasing, kit
from tests.gdpr.erasing import MAIL, NAME, WORD
from tests.world import World


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
    replay.run()
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
