"""Moving an installation's files and keys into the database, and back."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as live_settings
from django.core.management import CommandError, call_command

from gdpr import bundle_files
from gdpr.cases import sealed_names
from gdpr.certificates import keys as signing_keys
from gdpr.erasure import shared_tombstones, tombstones
from gdpr.export import make as export
from gdpr.matching.matcher import Name
from gdpr.models import ErasureLine, ExportState
from memory import bodies_move
from memory.files import reading, versions, writer
from memory.installation import identity as installation
from memory.installation import keys
from memory.models import Installation, JournalEntry, SealedKey, StoredFile
from memory.stored_files import trees
from tests.gdpr import erasing
from tests.gdpr.test_shared_tombstones import record
from tests.memory.files import kit
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def lived_in(world: World, settings: Any, tmp_path: Path) -> dict[str, Any]:
    """Return what is in a data folder that an installation lived in."""
    text = {key.name: keys.value(key) for key in keys.KEYS}
    settings.DATA_DIR = tmp_path
    for key in keys.KEYS:
        keys.path_of(key).write_text(text[key.name])
    installation.forget()
    for note in ("- tea\n", f"- {erasing.NAME} likes tea\n"):
        kit.write(world, note)
    row, _ = signing_keys.current()
    maria = erasing.maria(world)
    bundle = export.make(export.request(maria, by=world.actor("compliance")))
    assert bundle.state == ExportState.READY
    case = erasing.opened(world, maria)
    sealed_names.put(case, [Name(maria.id, "name", erasing.NAME)])
    sealed_names.append_words(case, [b"rare"])
    tombstones.announce(record(world, "c_1"))
    return {"bundle": bundle, "case": case, "key": row.key_id, "keys": text}


def _turn_to(place: str, settings: Any) -> None:
    settings.BODIES = place
    installation.forget()


def _state(world: World, contents: dict[str, Any]) -> dict[str, Any]:
    """Return everything that a move has to keep."""
    bundle = export.read(contents["bundle"], by=world.actor("compliance"))
    owner, place = kit.owner(world), kit.place("AGENT.md")
    return {
        "text": reading.read(owner, place, by=world.actor("ada")).text,
        "versions": [versions.read(row) for row in versions.log(kit.row(world))],
        "bundle": b"".join(bundle),
        "names": sealed_names.get(contents["case"]),
        "words": sealed_names.words(contents["case"]).strings,
        "records": [row.case_id for row in tombstones.read(world.acme.id)],
        "signing": signing_keys.current()[0].key_id,
        "keys": {key.name: keys.value(key) for key in keys.KEYS},
    }


def _run_command() -> str:
    out = StringIO()
    call_command("move_bodies", apply=True, stdout=out)
    return out.getvalue()


def test_everything_is_moved_and_back_and_nothing_is_lost(
    world: World, lived_in: dict[str, Any], settings: Any
) -> None:
    before = _state(world, lived_in)
    assert before["text"] and before["bundle"] and before["words"]
    folder = Path(live_settings.DATA_DIR)
    _turn_to("database", settings)
    with pytest.raises(installation.NotReady, match="move_bodies --apply"):
        reading.read(kit.owner(world), kit.place("AGENT.md"), by=world.actor("ada"))
    out = _run_command()
    assert "memory files: 1 copied and compared" in out
    assert "versions: 2 copied and compared" in out
    assert _state(world, lived_in) == before
    for folder_name in ("files/acme", "blobs", "exports"):
        files = [path for path in (folder / folder_name).rglob("*") if path.is_file()]
        assert [path for path in files if path.name != "installation.id"] == []
    # Without the key files: another machine has none.
    for key in keys.KEYS:
        keys.path_of(key).unlink()
        if key.name != "secret":
            setattr(settings, key.setting, "")
    for path in (folder / "keys").glob("*.pem"):
        path.unlink()
    installation.forget()
    assert _state(world, lived_in) == before
    entries = JournalEntry.objects.filter(entry_type="installation.bodies_moved")
    assert entries.filter(workspace=world.acme).count() == 1

    _turn_to("folder", settings)
    assert "manage.py move_bodies --apply" in str(installation.problem())
    _run_command()
    assert not StoredFile.objects.exists()
    assert not SealedKey.objects.exists()
    assert _state(world, lived_in) == before
    kit.write(world, "- coffee\n")


def test_counting_changes_nothing(
    world: World, lived_in: dict[str, Any], settings: Any
) -> None:
    _turn_to("database", settings)
    out = StringIO()
    call_command("move_bodies", stdout=out)
    assert "memory files: 1" in out.getvalue()
    assert "Nothing was changed" in out.getvalue()
    assert not StoredFile.objects.exists()
    assert Installation.objects.get().bodies == "folder"


def test_a_move_that_was_cut_off_goes_on(
    world: World,
    lived_in: dict[str, Any],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _state(world, lived_in)
    _turn_to("database", settings)
    # In the middle of the copies, and then in the middle of the deletions.
    record_place = bodies_move._record

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bodies_move, "_record", cut_off)
    with pytest.raises(KeyboardInterrupt):
        bodies_move.move()
    assert StoredFile.objects.filter(tree=trees.BLOBS).count() == 2
    assert kit.on_disk(world).exists()

    def cut_off_later(to: str, report: bodies_move.Report) -> None:
        record_place(to, report)
        raise KeyboardInterrupt

    monkeypatch.setattr(bodies_move, "_record", cut_off_later)
    with pytest.raises(KeyboardInterrupt):
        bodies_move.move()
    monkeypatch.setattr(bodies_move, "_record", record_place)
    assert kit.on_disk(world).exists()
    installation.forget()
    report = bodies_move.move()
    assert (report.copied, report.dropped["memory files"]) == ({}, 1)
    assert not kit.on_disk(world).exists()
    assert _state(world, lived_in) == before


def test_what_was_written_since_the_move_is_never_replaced_by_what_was_left(
    world: World,
    lived_in: dict[str, Any],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _state(world, lived_in)
    _turn_to("database", settings)
    record_place = bodies_move._record

    def cut_off(to: str, report: bodies_move.Report) -> None:
        record_place(to, report)
        raise KeyboardInterrupt

    monkeypatch.setattr(bodies_move, "_record", cut_off)
    with pytest.raises(KeyboardInterrupt):
        bodies_move.move()
    # The servers are started.
    installation.forget()
    kit.write(world, "- coffee\n")
    bundle_files.erase_at(lived_in["bundle"], "database")
    sealed_names.drop(lived_in["case"])
    _run_command()
    text = writer.current_text(kit.owner(world), kit.place("AGENT.md"))
    assert before["text"] != text == "- coffee\n"
    assert not kit.on_disk(world).exists()
    assert not bundle_files.remains(lived_in["bundle"])
    assert sealed_names.get(lived_in["case"]) is None


def test_another_secret_moves_no_key_under_it(
    world: World, lived_in: dict[str, Any], settings: Any
) -> None:
    _turn_to("database", settings)
    settings.SECRET_KEY = "another secret than the one on record"
    installation.forget()
    with pytest.raises(CommandError, match="CREWSHIP_SECRET_KEY is not the one"):
        _run_command()
    assert not SealedKey.objects.exists()
    assert Installation.objects.get().bodies == "folder"


def test_a_machine_that_never_had_the_folders_has_nothing_to_move(
    world: World, lived_in: dict[str, Any], settings: Any, tmp_path: Path
) -> None:
    _turn_to("database", settings)
    lines = _run_command()
    assert "keys: 0 deleted" in lines and "versions: 2 deleted" in lines
    settings.DATA_DIR = tmp_path / "second machine"
    installation.forget()
    out = StringIO()
    call_command("move_bodies", stdout=out)
    assert "memory files: 0" in out.getvalue()


def test_what_arrives_with_other_bytes_stops_the_move(
    world: World,
    lived_in: dict[str, Any],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from memory.stored_files.database import DatabaseStore

    write = DatabaseStore.write
    monkeypatch.setattr(
        DatabaseStore,
        "write",
        lambda self, parts, data: write(self, parts, data + b"!"),
    )
    _turn_to("database", settings)
    with pytest.raises(CommandError, match="arrived with other bytes"):
        _run_command()
    assert Installation.objects.get().bodies == "folder"
    assert kit.on_disk(world).exists()


def test_a_file_that_belongs_to_no_workspace_is_named_and_nothing_is_deleted(
    world: World, lived_in: dict[str, Any], settings: Any
) -> None:
    stray = kit.put(Path(live_settings.DATA_DIR) / "files" / "gone" / "x.md", "x")
    _turn_to("database", settings)
    with pytest.raises(CommandError, match="1 files could not be moved"):
        _run_command()
    assert Installation.objects.get().bodies == "folder"
    assert kit.on_disk(world).exists() and stray.exists()


def test_a_move_brings_the_records_into_the_table(
    world: World, lived_in: dict[str, Any], settings: Any
) -> None:
    _turn_to("database", settings)
    _run_command()
    assert ErasureLine.objects.filter(workspace=world.acme).count() == 1
    assert shared_tombstones.mirror() == 0
    assert bundle_files.exists(lived_in["bundle"])
    assert writer.current_text(kit.owner(world), kit.place("AGENT.md"))
