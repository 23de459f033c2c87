"""The access export: all of it, readable, sealed at rest, gone in time."""

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

from gdpr import encrypted_file
from gdpr.data_map import registry
from gdpr.data_map.base import Found, Person
from gdpr.export import make as export
from gdpr.export import storage
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
    made = export.make(export.request(maria, by=by))
    assert made.state == ExportState.READY, made.error
    return made, _files(b"".join(export.read(made, by=by)))


class _Faulty:
    """A place that cannot be read."""

    name, title, derived = "faulty", "Faulty", False
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def find(self, _person: Person) -> Iterator[Found]:
        raise OSError("disk")


def test_the_document_holds_bodies_and_masks_other_people(
    world: World, maria: Subject
) -> None:
    told = export.export_document(maria, by=_officer(world))
    texts = json.dumps(told["places"]["journal"], ensure_ascii=False)
    assert "likes tea" in texts
    assert "a fact about Maria only" in texts
    assert "owes" in texts
    assert OTTO not in json.dumps(told, ensure_ascii=False)
    assert told["scope"]["journal"] == {
        "title": registry.named("journal").title,
        "rows": 2,
        "shared_with_others": 1,
    }


def test_every_place_is_in_the_scope_map(world: World, maria: Subject) -> None:
    told = export.export_document(maria, by=_officer(world))
    assert set(told["scope"]) == {one.name for one in registry.ALL if not one.derived}
    assert told["data_subject_id"] == maria.id
    assert told["workspace_id"] == world.acme.id


def test_the_ledger_knows_of_it_before_and_after(world: World, maria: Subject) -> None:
    told = export.export_document(maria, reason="asked by mail", by=_officer(world))
    row = GdprAction.objects.get(pk=told["action_id"])
    assert (row.status, row.reason) == (ActionStatus.COMPLETED, "asked by mail")
    assert row.scope["journal"] == 2
    again = export.export_document(maria, by=_officer(world))
    assert told["action_id"] in {one["id"] for one in again["actions"]}


def test_half_an_answer_is_no_answer(
    world: World, maria: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, _Faulty()))
    with pytest.raises(OSError, match="disk"):
        export.export_document(maria, by=_officer(world))
    assert GdprAction.objects.get().status == ActionStatus.FAILED
    made = export.make(export.request(maria, by=_officer(world)))
    assert (made.state, made.error) == (ExportState.FAILED, "OSError")
    assert not list(storage.folder().rglob("*.*"))
    with pytest.raises(export.NotReady):
        export.read(made, by=_officer(world))


def test_the_bundle_can_be_leafed_through(world: World, maria: Subject) -> None:
    made, files = _bundle(maria, _officer(world))
    assert {"index.html", "actions.html", "data.json"} <= set(files)
    assert "places/journal-001.html" in files["index.html"]
    assert "likes tea" in files["places/journal-001.html"]
    assert json.loads(files["data.json"])["data_subject_id"] == maria.id
    assert made.counts["total"] >= 2
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


def test_at_rest_it_is_sealed(world: World, maria: Subject) -> None:
    made, _ = _bundle(maria, _officer(world))
    (path,) = storage.folder().rglob("*.sealed")
    data = path.read_bytes()
    assert MARIA.encode() not in data
    assert b"PK\x03\x04" not in data[:64]
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(encrypted_file.Broken):
        b"".join(export.read(made, by=_officer(world)))


def test_reading_it_is_written_down(world: World, maria: Subject) -> None:
    made, _ = _bundle(maria, _officer(world))
    assert GdprAction.objects.filter(action="view", subject_ref=maria.id).count() == 1
    seen = JournalEntry.objects.get(entry_type="gdpr.export_read")
    assert seen.payload["export_id"] == made.id
    assert MARIA not in seen.payload_text + seen.summary


def test_after_its_day_it_is_gone(world: World, maria: Subject) -> None:
    made, _ = _bundle(maria, _officer(world))
    Export.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    made.refresh_from_db()
    with pytest.raises(export.NotReady):
        export.read(made, by=_officer(world))
    assert export.sweep()["gone"] == 1
    assert not list(Path(settings.DATA_DIR, "exports").rglob("*.*"))
    assert export.sweep() == {"made": 0, "gone": 0}


def test_the_sweep_makes_what_was_asked_for(world: World, maria: Subject) -> None:
    asked = export.request(maria, by=_officer(world))
    assert export.sweep()["made"] == 1
    asked.refresh_from_db()
    assert asked.state == ExportState.READY


def test_two_makers_at_once_make_one(world: World, maria: Subject) -> None:
    asked = export.request(maria, by=_officer(world))
    Export.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    assert export.make(asked).state == ExportState.MAKING
    Export.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert export.make(asked).state == ExportState.READY


def test_an_erasure_takes_every_bundle_along(world: World, maria: Subject) -> None:
    _bundle(maria, _officer(world))
    _bundle(maria, _officer(world))
    assert export.remove_all(world.acme.id, maria.id) == 2
    assert not list(storage.folder().rglob("*.*"))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AGENT])
def test_only_compliance_may(world: World, maria: Subject, role: Role) -> None:
    actor = Actor(role, world.acme.id, "x", "x")
    for call in (export.export_document, export.request):
        with pytest.raises(errors.Forbidden):
            call(maria, by=actor)


def test_another_workspace_sees_none(world: World, maria: Subject) -> None:
    made, _ = _bundle(maria, _officer(world))
    stranger = Actor(Role.ADMIN, world.other.id, "x", "x")
    calls: list[Any] = [
        lambda: export.get(made.id, by=stranger),
        lambda: export.read(made, by=stranger),
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
    assert not list(storage.folder().rglob("*.sealed"))
    for told in ({"out": file}, {"workspace": "other"}, {"workspace": "nowhere"}):
        with pytest.raises(CommandError):
            call_command("gdpr_export", MARIA, **told, stdout=out)


@pytest.mark.parametrize("path", ["/gdpr/exports", "/memory/export"])
def test_an_id_that_no_database_can_hold_is_nobodys(world: World, path: str) -> None:
    body = {"subject_id": "a\u0000b", "agent_id": "a\u0000b", "reason": "Asked for"}
    asked = {"/gdpr/exports": ("subject_id", "reason"), "/memory/export": ("agent_id",)}
    told = {name: body[name] for name in asked[path]}
    assert world.api("owner").post(path, told).status in (404, 422)
