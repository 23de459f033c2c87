"""Going on after a disaster: what is lost is said, journaled, and nothing is hidden."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from gdpr.certificates import keys as signing_keys
from gdpr.erasure import tombstones
from memory import data_folder_adoption
from memory.files import reconcile, versions
from memory.installation import identity as installation
from memory.journal import compaction, erasure, verify
from memory.models import ChainHead, JournalEntry
from memory.rules import errors
from memory.stored_files import trees
from tests import factories
from tests.memory.files import kit
from tests.world import World

REASON = "the disk with the keys burnt"


def _verified(world: World) -> verify.Report:
    return verify.verify(world.acme.id, by=world.system())


def _command(*args: str) -> str:
    out = io.StringIO()
    call_command("adopt_data_folder", *args, stdout=out)
    return out.getvalue()


def _lose_the_journal_key(settings: Settings) -> None:
    settings.JOURNAL_KEY = ""


def test_without_a_reason_nothing_changes(
    world: World, data_dir: Path, settings: Settings
) -> None:
    factories.append(world.actor("ada"))
    _lose_the_journal_key(settings)
    output = _command()
    assert "cannot be reproduced any more" in output
    assert "Nothing was changed" in output
    assert installation.problem() is not None
    assert not (data_dir / "keys" / "journal.key").exists()
    with pytest.raises(errors.Invalid):
        data_folder_adoption.adopt(" ")


def test_where_nothing_is_wrong_nothing_is_done(world: World, data_dir: Path) -> None:
    head = ChainHead.objects.get(pk=world.acme.id).seq
    assert "belong to this database already" in _command("--reason", REASON)
    assert ChainHead.objects.get(pk=world.acme.id).seq == head


def test_a_chain_whose_key_is_lost_goes_on_and_says_so(
    world: World, data_dir: Path, settings: Settings
) -> None:
    factories.append(world.actor("ada"))
    before = ChainHead.objects.get(pk=world.acme.id).seq
    _lose_the_journal_key(settings)
    assert "Given up for good" in _command("--reason", REASON)
    assert installation.problem() is None
    factories.append(world.actor("ada"))
    for walk in (verify.verify, verify.verify_links):
        report = walk(world.acme.id, by=world.system())
        assert (report.breaks, report.unproved) == ([], before)
        assert report.count == before + 2
    entry = JournalEntry.objects.get(
        workspace_id=world.acme.id, entry_type="installation.adopted"
    )
    assert entry.payload["reason"] == REASON
    assert any("cannot be reproduced" in line for line in entry.payload["given_up"])
    response = world.api("operator").get("/journal/verify").data
    assert (response["ok"], response["unproved"]) == (True, before)


@pytest.mark.parametrize(
    "change",
    [
        {"summary": "forged"},
        {"entry_hash": "0" * 64},
        {"commitment": "0" * 64},
        {"seal": ""},
    ],
)
def test_a_change_after_the_adoption_shows(
    world: World, data_dir: Path, settings: Settings, change: dict[str, str]
) -> None:
    entry = factories.append(world.actor("ada"))
    factories.append(world.actor("ada"))
    _lose_the_journal_key(settings)
    data_folder_adoption.adopt(REASON)
    JournalEntry.objects.filter(pk=entry.pk).update(**change)
    assert not _verified(world).ok
    assert not verify.verify_links(world.acme.id, by=world.system()).ok or (
        change == {"summary": "forged"}
    )


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_is_missing_before_the_adoption_is_one_gap(
    world: World, data_dir: Path, settings: Settings, at: int
) -> None:
    rows = [factories.append(world.actor("ada")) for _ in range(3)]
    _lose_the_journal_key(settings)
    data_folder_adoption.adopt(REASON)
    factories.append(world.actor("ada"))
    JournalEntry.objects.filter(pk=rows[at].pk).delete()
    for walk in (verify.verify, verify.verify_links):
        report = walk(world.acme.id, by=world.system())
        breaks = [(fault.kind, fault.seq) for fault in report.breaks]
        assert breaks == [("gap", rows[at].seq)]
        assert report.unproved == rows[2].seq - 1


def test_a_forged_segment_excuses_nothing(world: World, data_dir: Path) -> None:
    from memory.models import ChainSegment

    entry = factories.append(world.actor("ada"))
    ChainSegment.objects.create(
        workspace_id=world.acme.id, last_seq=entry.seq, last_hash="", mac="0" * 64
    )
    JournalEntry.objects.filter(pk=entry.pk).update(commitment="0" * 64)
    assert not _verified(world).ok


def test_erased_and_compacted_entries_survive_the_loss_of_the_key(
    world: World, data_dir: Path, settings: Settings
) -> None:
    first = factories.append(world.actor("ada"))
    erasure.erase(world.acme.id, [first.pk])
    _lose_the_journal_key(settings)
    data_folder_adoption.adopt(REASON)
    report = _verified(world)
    assert (report.ok, report.erased) == (True, 1)
    second = JournalEntry.objects.exclude(pk=first.pk).filter(
        workspace_id=world.acme.id
    )[0]
    erasure.erase(world.acme.id, [second.pk])
    assert _verified(world).ok
    assert compaction.run(world.acme.id).refused == []


def test_a_lost_folder_gives_back_what_its_blobs_know(
    world: World, data_dir: Path
) -> None:
    kit.write(world, "kept")
    kit.write(world, "lost", by="lena")
    blob = trees.folder("blobs").root / "/".join(
        versions.blob_parts(world.acme.id, kit.row(world, of="lena").sha256)
    )
    blob.unlink()
    shutil.rmtree(data_dir / "files")
    output = _command()
    assert "2 memory files are not in the folder: 1 come back" in output
    data_folder_adoption.adopt(REASON)
    assert installation.problem() is None
    assert kit.on_disk(world).read_text() == "kept"
    assert reconcile.sweep().removed == 1


def test_an_empty_folder_can_be_taken_over(
    world: World, data_dir: Path, settings: Settings, tmp_path: Path
) -> None:
    factories.append(world.actor("ada"))
    signing_keys.current()
    shutil.rmtree(data_dir)
    data_dir.mkdir()
    assert installation.problem() is not None
    with pytest.raises(installation.NotReady):
        factories.append(world.actor("ada"))
    data_folder_adoption.adopt(REASON)
    assert installation.problem() is None
    factories.append(world.actor("ada"))
    assert _verified(world).ok
    assert signing_keys.problem() is None


def test_a_rotated_key_is_taken_over(
    world: World, data_dir: Path, settings: Settings
) -> None:
    settings.EXPORT_KEY = settings.GATEWAY_KEY = "chosen-by-the-operator"
    assert installation.problem() is not None
    data_folder_adoption.adopt("rotated")
    assert installation.problem() is None
    assert _verified(world).unproved == 0


def test_records_of_erasures_are_signed_again(
    world: World, data_dir: Path, settings: Settings
) -> None:
    record = tombstones.Record(
        workspace_id=world.acme.id, case_id="case_1", subject_id="sub_1", run=1,
        at=tombstones.now(), aliases=(), rows={"journal": [["j_1", "delete"]]},
    )  # fmt: skip
    tombstones.announce(record)
    _lose_the_journal_key(settings)
    data_folder_adoption.adopt(REASON)
    (tombstone,) = tombstones.read(world.acme.id)
    assert tombstone.rows == record.rows


def test_a_command_that_cannot_end_ready_says_so(
    world: World, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(data_dir / "files")
    monkeypatch.setattr(data_folder_adoption, "adopt", lambda _reason: [])
    with pytest.raises(CommandError, match="Still not ready"):
        _command("--reason", REASON)
