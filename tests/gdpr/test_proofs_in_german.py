"""What is signed and stored stays English; what a person reads is in their language."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation

from gdpr import audit_log
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.data_map import registry
from gdpr.data_map.table_holder import Table
from gdpr.erasure import certified_facts
from gdpr.export import bundle, pages
from gdpr.export import make as export
from gdpr.models import ActionKind, Export
from gdpr.web import readings
from memory.models import ids
from memory.rules.permissions import Actor, Role
from tests.gdpr import requests as make
from tests.gdpr.certified import content_of, issued
from tests.world import World

pytestmark = pytest.mark.django_db
# The same word in both languages.
SAME = {"Webhooks"}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


# ── Certificates ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["erasure", "access"])
def test_a_certificate_has_the_same_bytes_whatever_the_language(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    case, now = make.running(world, kind=kind), timezone.now()
    make.searched(case, make.system_actor(world))
    facts = make.facts(does_not_prove=[certified_facts.UNTOUCHED])
    signing_keys.current()
    monkeypatch.setattr(timezone, "now", lambda: now)
    monkeypatch.setattr(ids, "make", lambda _prefix: "cert_0000000000000000")
    documents = []
    for language in ("en", "de"):
        with translation.override(language), transaction.atomic():
            documents.append(certificates.issue(case, facts).document)
            transaction.set_rollback(True)
    assert documents[0] == documents[1]


def test_a_page_in_german_reads_what_is_signed_and_quotes_it(world: World) -> None:
    certificate = issued(world)
    content = content_of(certificate)
    browser = world.page("owner")
    page_url = reverse("privacy:any_certificate", args=[certificate.pk])
    file_url = reverse("privacy:any_certificate_file", args=[certificate.pk])
    german = {"Accept-Language": "de"}

    page = browser.get(page_url, headers=german).content.decode()
    file = browser.get(file_url, headers=german).content

    quoted = f'<q lang="en" translate="no">{content["statement"]}</q>'
    assert quoted in page
    assert "ist für die erfassten Kennungen vollständig" in page
    assert file.decode() == certificate.document


def test_a_page_in_english_quotes_nothing_twice(world: World) -> None:
    certificate = issued(world)
    path = reverse("privacy:any_certificate", args=[certificate.pk])
    page = world.page("owner").get(path).content.decode()
    assert content_of(certificate)["statement"] in page
    assert "<q " not in page
    assert '<small class="quiet" lang="en"' not in page


def _sentences(value: Any) -> Iterator[str]:
    """Yield the sentences of a certificate, wherever they stand."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from [item] if name in ("sentence", "statement") else _sentences(item)
    elif isinstance(value, list):
        for item in value:
            yield from [item] if str(item).endswith(".") else _sentences(item)


def test_each_sentence_of_a_certificate_has_a_reading(world: World) -> None:
    content = content_of(issued(world))
    sentences = list(_sentences(content))
    assert len(sentences) > 15
    with translation.override("de"):
        unread = [text for text in sentences if readings.of(text) == text]
    assert unread == []
    assert [readings.of(text) for text in sentences] == sentences


# ── Plans and reports ────────────────────────────────────────────────────────
def _reasons(table: Table) -> Iterator[str]:
    yield from filter(None, (table.why, table.keep_reason, table.owned))


def test_each_place_and_its_reasons_have_a_reading() -> None:
    texts = [holder.title for holder in registry.ALL]
    texts += [holder.trace for holder in registry.ALL]
    for holder in registry.ALL:
        for table in getattr(holder, "_tables", ()):
            texts += _reasons(table)
    with translation.override("de"):
        unread = {text for text in texts if readings.of(text) == text}
        assert all(holder.name in readings.PLACES for holder in registry.ALL)
    assert unread == SAME


def test_sentences_in_a_row_are_read_one_by_one() -> None:
    text = (
        "It names the person. 2 of 3 versions name the person: those lines are erased;"
        " lines that name somebody else too are masked. Maria wrote this."
    )
    with translation.override("de"):
        assert readings.of(text) == (
            "Nennt die Person. In 2 von 3 Versionen steht die Person: Diese Textzeilen"
            " werden gelöscht; in Zeilen, die auch jemand anderen nennen, wird sie"
            " unkenntlich gemacht. Maria wrote this."
        )
    assert readings.of(text) == text


def test_a_value_may_have_a_blank_but_is_no_second_sentence() -> None:
    kept_rows = "Maria wrote this."
    text = "my table could not be rewritten: somebody holds it."
    with translation.override("de"):
        reading = readings.of(text)
        assert reading.startswith("my table konnte nicht")
        assert readings.of(f"{text} {kept_rows}") == f"{reading} {kept_rows}"
        assert readings.of(f"{kept_rows} {text}") == f"{kept_rows} {reading}"


# ── Bundles ──────────────────────────────────────────────────────────────────
def _pages(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def _bundle(world: World, by: Actor) -> tuple[Export, dict[str, str]]:
    row = export.make(export.request(make.subject(world), by=by))
    return row, _pages(b"".join(export.read(row, by=by)))


def test_a_bundle_is_in_the_language_of_whoever_asked_for_it(world: World) -> None:
    owner = world.people["owner"]
    owner.language = "de"
    owner.save()

    _, pages = _bundle(world, world.actor("owner"))

    assert '<html lang="de">' in pages["index.html"]
    assert "Artikel 15 DSGVO" in pages["index.html"]
    assert "Journaleinträge" in pages["index.html"]
    assert "Was mit Ihren Daten geschehen ist" in pages["actions.html"]
    document = json.loads(pages["data.json"])
    assert document["scope"]["journal"]["title"] == "Journal entries"
    assert document["not_included"] == list(bundle.NOT_INCLUDED)
    assert document["actions"][0]["status"] == "In progress"


def test_a_bundle_for_a_program_is_in_english(world: World) -> None:
    by = Actor(Role.COMPLIANCE, world.acme.id, "k_nobody", "key")
    with translation.override("de"):
        row, pages = _bundle(world, by)
        assert translation.get_language() == "de"
    assert '<html lang="en">' in pages["index.html"]
    assert "Article 15 GDPR" in pages["index.html"]
    assert json.loads(pages["data.json"])["subject"]["consent"] == "Never asked"
    assert row.sha256


def test_the_same_collection_in_one_language_has_the_same_bytes(world: World) -> None:
    person = make.subject(world)
    action = audit_log.begin(person.id, ActionKind.EXPORT, by=world.actor("owner"))
    collection = export.collect(person, action)
    files = []
    for language in ("de", "de", "en"):
        file = io.BytesIO()
        bundle.write_files(pages.files(collection, language), file)
        files.append(file.getvalue())
    assert files[0] == files[1] != files[2]
    assert _pages(files[0])["data.json"] == _pages(files[2])["data.json"]
    assert len(fields(collection)) == 10
