"""Looking at a bundle's pages, and being told what its letter would lack."""

from __future__ import annotations

from typing import Any

import pytest

from gdpr import bundle_files
from gdpr.export import make as export
from gdpr.export import preview
from gdpr.models import CaseKind, Export, GdprAction
from memory.models import JournalEntry
from tests.gdpr import erasing
from tests.world import World

pytestmark = pytest.mark.django_db
LACKS = "The letter of an access bundle would lack something"


@pytest.fixture
def bundle(world: World) -> Export:
    """Return a ready bundle."""
    person = erasing.maria(world)
    world.entry(f"{erasing.NAME} likes <b>tea</b>")
    return export.make(export.request(person, by=world.actor("compliance")))


def look(world: World, bundle: Export, name: str, role: str = "compliance") -> Any:
    return world.page(role).get(f"/privacy/exports/{bundle.id}/pages/{name}")


def test_an_officer_reads_its_pages_in_the_browser(
    world: World, bundle: Export
) -> None:
    letter = look(world, bundle, "index.html")
    assert letter.status_code == 200
    assert (
        b"likes &lt;b&gt;tea&lt;/b&gt;"
        in look(world, bundle, "places/journal-001.html").content
    )
    assert look(world, bundle, "data.json")["Content-Type"] == "application/json"
    policy = letter["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script" not in policy
    assert "no-store" in letter["Cache-Control"]
    assert letter["X-Content-Type-Options"] == "nosniff"


def test_each_look_is_recorded_like_a_download(world: World, bundle: Export) -> None:
    look(world, bundle, "index.html")
    look(world, bundle, "why.html")
    assert GdprAction.objects.filter(action="view").count() == 2
    assert JournalEntry.objects.filter(entry_type="gdpr.export_read").count() == 2


@pytest.mark.parametrize(
    ("role", "status"), [("operator", 403), ("viewer", 403), ("stranger", 404)]
)
def test_others_do_not(world: World, bundle: Export, role: str, status: int) -> None:
    assert look(world, bundle, "index.html", role).status_code == status
    assert not GdprAction.objects.filter(action="view").exists()


@pytest.mark.parametrize(
    "name", ["nothing.html", "../index.html", "index.txt", "places/", "%00.html"]
)
def test_what_is_no_page_is_not_found(world: World, bundle: Export, name: str) -> None:
    assert look(world, bundle, name).status_code == 404


def test_a_bundle_that_is_gone_or_too_large_says_so(
    world: World, bundle: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "BUNDLE_BYTES", 10)
    address = f"/privacy/exports/{bundle.id}/pages/index.html"
    page = world.page("compliance")
    assert (
        "too large to look at here" in page.get(address, follow=True).content.decode()
    )
    export.remove(bundle, by=world.actor("compliance"))
    monkeypatch.undo()
    assert "cannot be read" in page.get(address, follow=True).content.decode()


def test_a_changed_file_does_not_open(world: World, bundle: Export) -> None:
    path = bundle_files.path(bundle)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert look(world, bundle, "index.html").status_code == 409


def test_officers_are_told_what_a_letter_would_lack(world: World) -> None:
    person = erasing.maria(world)
    access = erasing.opened(world, person, CaseKind.ACCESS)
    erasure = erasing.opened(world, person)
    page = world.page("compliance")
    for path in ("exports/", f"subjects/{person.id}/", f"cases/{access.id}/"):
        assert LACKS in page.get(f"/privacy/{path}").content.decode(), path
    assert LACKS not in page.get(f"/privacy/cases/{erasure.id}/").content.decode()


def test_a_ready_bundle_has_a_link_to_its_letter(world: World, bundle: Export) -> None:
    for path in ("exports/", f"subjects/{bundle.subject_ref}/"):
        page = world.page("compliance").get(f"/privacy/{path}").content.decode()
        assert f"/privacy/exports/{bundle.id}/pages/index.html" in page, path
