"""The access export: complete, readable, encrypted at rest, expiring."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from gdpr import bundle_files, encrypted_file
from gdpr.data_map import registry
from gdpr.data_map.base import Person, RowMatch
from gdpr.export import make as export
from gdpr.models import (
    ActionStatus,
    Alias,
    Export,
    ExportState,
    GdprAction,
    Subject,
)
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.permissions import Actor, Role
from memory.rules.tokenizer import fold
from tests.gdpr import kit
from tests.world import World

pytestmark = pytest.mark.django_db
MARIA = "maria.keller@example.org"
OTTO = "otto.brandt@example.org"


def _subject(world: World, email: str, name: str) -> Subject:
    subject = Subject.objects.create(
        workspace=world.acme, display_name=name, created_by="test"
    )
    Alias.objects.create(
        workspace=world.acme, subject=subject, kind="email", value=email,
        folded=fold(email), added_by="test",
    )  # fmt: skip
    return subject


def _officer(world: World) -> Actor:
    return Actor(Role.COMPLIANCE, world.acme.id, "u_officer", "officer@acme.example")


@pytest.fixture
def maria(world: World) -> Subject:
    """Return a person that two entries name, one of them together with Otto."""
    _subject(world, OTTO, "Otto Brandt")
    world.entry(f"{MARIA} likes tea", payload={"note": "a fact about Maria only"})
    world.entry(f"{MARIA} owes {OTTO} a call")
    world.entry(f"{OTTO} likes coffee")
    return _subject(world, MARIA, "Maria Keller")


def _files(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def _bundle(maria: Subject, by: Actor) -> tuple[Export, dict[str, str]]:
    export_row = export.make(export.request(maria, by=by))
    assert export_row.state == ExportState.READY, export_row.error
    return export_row, _files(b"".join(export.read(export_row, by=by)))


class _Faulty:
    """A holder that raises."""

    name, title, derived = "faulty", "Faulty", False
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def find(self, _person: Person) -> Iterator[RowMatch]:
        raise OSError("disk")


def test_the_document_holds_bodies_and_masks_other_people(
    world: World, maria: Subject
) -> None:
    document = export.export_document(maria, by=_officer(world))
    texts = json.dumps(document["places"]["journal"], ensure_ascii=False)
    assert "likes tea" in texts
    assert "a fact about Maria only" in texts
    assert "owes" in texts
    assert OTTO not in json.dumps(document, ensure_ascii=False)
    assert document["scope"]["journal"] == {
        "title": registry.by_name("journal").title,
        "rows": 2,
        "shared_with_others": 1,
    }


def test_every_place_is_in_the_scope_map(world: World, maria: Subject) -> None:
    document = export.export_document(maria, by=_officer(world))
    assert set(document["scope"]) == {
        holder.name for holder in registry.ALL if not holder.derived
    }
    assert document["data_subject_id"] == maria.id
    assert document["workspace_id"] == world.acme.id


def test_the_ledger_knows_of_it_before_and_after(world: World, maria: Subject) -> None:
    document = export.export_document(maria, reason="asked by mail", by=_officer(world))
    row = GdprAction.objects.get(pk=document["action_id"])
    assert (row.status, row.reason) == (ActionStatus.COMPLETED, "asked by mail")
    assert row.scope["journal"] == 2
    second = export.export_document(maria, by=_officer(world))
    assert document["action_id"] in {action["id"] for action in second["actions"]}


def test_a_failing_holder_fails_the_whole_export(
    world: World, maria: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, _Faulty()))
    with pytest.raises(OSError, match="disk"):
        export.export_document(maria, by=_officer(world))
    assert GdprAction.objects.get().status == ActionStatus.FAILED
    export_row = export.make(export.request(maria, by=_officer(world)))
    assert (export_row.state, export_row.error) == (ExportState.FAILED, "OSError")
    assert not list(bundle_files.folder().rglob("*.*"))
    with pytest.raises(export.NotReady):
        export.read(export_row, by=_officer(world))


def test_the_bundle_has_pages(world: World, maria: Subject) -> None:
    export_row, files = _bundle(maria, _officer(world))
    assert {"index.html", "actions.html", "data.json"} <= set(files)
    assert "places/journal-001.html" in files["index.html"]
    assert "likes tea" in files["places/journal-001.html"]
    assert json.loads(files["data.json"])["data_subject_id"] == maria.id
    assert export_row.counts["total"] >= 2
    assert not any(OTTO in text for text in files.values())


def test_hostile_text_stays_text_in_the_pages(world: World, maria: Subject) -> None:
    world.entry(f"{MARIA} <script>alert(1)</script>")
    _, files = _bundle(maria, _officer(world))
    pages = "".join(text for name, text in files.items() if name.endswith(".html"))
    assert "<script" not in pages
    assert "&lt;script&gt;" in pages


def test_a_long_story_gets_several_pages(world: World, maria: Subject) -> None:
    for number in range(120):
        world.entry(f"{MARIA} call {number}")
    _, files = _bundle(maria, _officer(world))
    assert "places/journal-002.html" in files
    assert "places/journal-002.html" in files["places/journal-001.html"]


def test_a_bundle_is_encrypted_at_rest(world: World, maria: Subject) -> None:
    export_row, _ = _bundle(maria, _officer(world))
    (path,) = bundle_files.folder().rglob("*.sealed")
    data = path.read_bytes()
    assert MARIA.encode() not in data
    assert b"PK\x03\x04" not in data[:64]
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(encrypted_file.Broken):
        b"".join(export.read(export_row, by=_officer(world)))


def test_reading_a_bundle_is_recorded(world: World, maria: Subject) -> None:
    export_row, _ = _bundle(maria, _officer(world))
    assert GdprAction.objects.filter(action="view", subject_ref=maria.id).count() == 1
    entry = JournalEntry.objects.get(entry_type="gdpr.export_read")
    assert entry.payload["export_id"] == export_row.id
    assert MARIA not in entry.payload_text + entry.summary


def test_an_expired_bundle_is_erased(world: World, maria: Subject) -> None:
    export_row, _ = _bundle(maria, _officer(world))
    Export.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    export_row.refresh_from_db()
    with pytest.raises(export.NotReady):
        export.read(export_row, by=_officer(world))
    assert export.sweep()["gone"] == 1
    assert not list(Path(settings.DATA_DIR, "exports").rglob("*.*"))
    assert export.sweep() == {"made": 0, "gone": 0}


def test_the_sweep_makes_what_was_asked_for(world: World, maria: Subject) -> None:
    requested = export.request(maria, by=_officer(world))
    assert export.sweep()["made"] == 1
    requested.refresh_from_db()
    assert requested.state == ExportState.READY


def test_two_makers_at_once_make_one(world: World, maria: Subject) -> None:
    requested = export.request(maria, by=_officer(world))
    Export.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    assert export.make(requested).state == ExportState.MAKING
    Export.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert export.make(requested).state == ExportState.READY


def test_an_erasure_takes_every_bundle_along(world: World, maria: Subject) -> None:
    _bundle(maria, _officer(world))
    _bundle(maria, _officer(world))
    assert len(kit.erase("exports", maria)) == 2
    assert not list(bundle_files.folder().rglob("*.*"))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AGENT])
def test_only_compliance_may(world: World, maria: Subject, role: Role) -> None:
    actor = Actor(role, world.acme.id, "x", "x")
    for call in (export.export_document, export.request):
        with pytest.raises(errors.Forbidden):
            call(maria, by=actor)


def test_another_workspace_sees_none(world: World, maria: Subject) -> None:
    export_row, _ = _bundle(maria, _officer(world))
    stranger = Actor(Role.ADMIN, world.other.id, "x", "x")
    calls: list[Any] = [
        lambda: export.get(export_row.id, by=stranger),
        lambda: export.read(export_row, by=stranger),
        lambda: export.export_document(maria, by=stranger),
    ]
    for call in calls:
        with pytest.raises(errors.NotFound):
            call()


def test_the_command_prints_json_or_makes_a_bundle(
    world: World, maria: Subject, tmp_path: Path
) -> None:
    out = io.StringIO()
    call_command("gdpr_export", MARIA, stdout=out)
    assert "likes tea" in out.getvalue()
    file = tmp_path / "maria.zip"
    call_command("gdpr_export", MARIA, workspace="acme", out=file, stdout=out)
    assert "likes tea" in _files(file.read_bytes())["data.json"]
    assert not list(bundle_files.folder().rglob("*.sealed"))
    for options in ({"out": file}, {"workspace": "other"}, {"workspace": "nowhere"}):
        with pytest.raises(CommandError):
            call_command("gdpr_export", MARIA, **options, stdout=out)


@pytest.mark.parametrize("path", ["/gdpr/exports", "/memory/export"])
def test_an_id_that_no_database_can_hold_is_nobodys(world: World, path: str) -> None:
    body = {"subject_id": "a\u0000b", "agent_id": "a\u0000b", "reason": "Asked for"}
    fields = {
        "/gdpr/exports": ("subject_id", "reason"),
        "/memory/export": ("agent_id",),
    }
    payload = {name: body[name] for name in fields[path]}
    assert world.api("owner").post(path, payload).status in (404, 422)
