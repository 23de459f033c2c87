"""Erasing, exporting and verifying where files are rows of the database."""

from __future__ import annotations

from typing import Any

import pytest

from gdpr import bundle_files, erasure
from gdpr.cases import sealed_names
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.export import make as export
from gdpr.matching.matcher import Name
from gdpr.models import Case, CaseState, Certificate, Export, ExportState
from gdpr.verification import expected_words, statements
from gdpr.verification.byte_search import Finder
from memory.files import reading
from memory.installation import identity as installation
from memory.installation import sealed_keys
from memory.models import Installation, SealedKey, StoredFile
from memory.stored_files import trees
from tests.gdpr import erasing
from tests.gdpr import kit as gdpr_kit
from tests.memory.files import kit
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _bodies_in_database(settings: Any, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("shared_world" if _commits(request) else "world")
    settings.BODIES = "database"
    Installation.objects.update(bodies="database")
    installation.forget()


def _commits(request: pytest.FixtureRequest) -> bool:
    return "shared_world" in request.fixturenames


def _bodies() -> bytes:
    return b"\x00".join(bytes(row.body) for row in StoredFile.objects.all())


def test_an_erasure_leaves_no_row_of_a_file_that_names_the_person(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    # A blob that no version refers to, and a file of no tier.
    blobs, files = trees.database(trees.BLOBS), trees.database(trees.FILES)
    blobs.write((world.acme.id, "ab", "ab" * 32), erasing.MAIL.encode())
    files.write(("acme", "support", "notes.txt"), erasing.MAIL.encode())
    for name in (erasing.MAIL, erasing.WORD):
        assert name.encode() in _bodies()
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, case.result
    bodies = _bodies()
    for name in (erasing.MAIL, erasing.NAME, erasing.WORD):
        assert name.encode() not in bodies
    assert b"- Boats" in bodies
    remains = case.result["residue"]["remains"]
    assert statements.ROWS_OF_FILES in remains
    certificate = Certificate.objects.get(case=case)
    assert certificates.verify(certificate.document).valid
    # The search terms went with the case.
    assert not StoredFile.objects.filter(tree=trees.CASE_FILES).exists()
    assert sealed_names.get(case) is None


def test_a_rest_in_a_row_of_a_file_is_a_trace_of_its_memory_file(world: World) -> None:
    anna = gdpr_kit.subject(world)
    kit.write(world, "tea\n")
    row = kit.row(world)
    blob = StoredFile.objects.get(tree=trees.BLOBS)
    # Behind everybody's back, as if an erasure had left it.
    StoredFile.objects.filter(pk=blob.pk).update(body=gdpr_kit.ANNA["name"].encode())
    from gdpr.data_map import registry
    from gdpr.verification import second_search
    from gdpr.verification.report import Report

    report = Report()
    second_search.search(registry.person(anna), report)
    traces = [trace for trace in report.traces if trace.place == "files"]
    assert [trace.row_id for trace in traces] == [row.id]


def test_a_word_of_a_file_that_stays_is_no_trace(world: World) -> None:
    kit.write(world, f"- {erasing.WORD}\n")
    finder = Finder({erasing.WORD.encode()})
    assert expected_words.shared_patterns(finder, expected_words.KnownFiles()) == {
        erasing.WORD.encode()
    }
    kit.write(world, "- nothing\n")
    from memory.models import MemoryVersion

    MemoryVersion.objects.filter(number=1).delete()
    finder = Finder({erasing.WORD.encode()})
    # A blob without a version stays for nobody.
    patterns = expected_words.shared_patterns(finder, expected_words.KnownFiles())
    assert patterns == set()


def test_a_bundle_is_encrypted_rows_and_goes_with_its_expiry(world: World) -> None:
    kit.write(world, f"- {erasing.NAME} likes tea\n")
    bundle = export.request(erasing.maria(world), by=world.actor("compliance"))
    bundle = export.make(bundle)
    assert bundle.state == ExportState.READY, bundle.error
    assert not bundle_files.path(bundle).exists()
    rows = StoredFile.objects.filter(tree=trees.EXPORTS)
    assert rows and all(b"likes tea" not in bytes(row.body) for row in rows)
    data = b"".join(export.read(bundle, by=world.actor("compliance")))
    assert data.startswith(b"PK")
    assert export.remove(bundle, by=world.actor("compliance"))
    assert not StoredFile.objects.filter(tree=trees.EXPORTS).exists()
    assert Export.objects.get(pk=bundle.pk).state == ExportState.GONE


def test_search_terms_are_sealed_rows_until_they_are_dropped(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    names = [Name(case.subject_ref, "name", erasing.NAME)]
    assert sealed_names.get(case) is None
    sealed_names.put(case, names, [("journal", "j_1", "named")])
    sealed_names.put(case, [])
    assert sealed_names.get(case) == names
    assert sealed_names.links(case) == [("journal", "j_1", "named")]
    sealed_names.resume_words(case)
    sealed_names.append_words(case, [b"rare", b"\x00\xff"])
    words = sealed_names.resume_words(case)
    assert (words.strings, words.runners) == ({b"rare", b"\x00\xff"}, 2)
    assert erasing.NAME.encode() not in _bodies()
    row = StoredFile.objects.filter(path__contains="/words/").first()
    assert row is not None
    StoredFile.objects.filter(pk=row.pk).update(body=b"damaged, and long enough")
    assert not sealed_names.words(case).complete
    sealed_names.drop_names(case)
    assert sealed_names.get(case) is None
    sealed_names.drop(case)
    assert not StoredFile.objects.filter(tree=trees.CASE_FILES).exists()


def test_a_signing_key_is_sealed_and_signs_again(world: World, settings: Any) -> None:
    row, private = signing_keys.current()
    sealed = SealedKey.objects.get(name=f"certificates-{row.key_id}")
    assert "PRIVATE" not in sealed.sealed
    assert signing_keys.current()[1].private_bytes_raw() == private.private_bytes_raw()
    sealed.sealed = sealed.sealed[:-8] + "AAAAAAA="
    sealed.save()
    assert "cannot be read as a key" in str(signing_keys.problem())
    sealed.delete()
    assert "is missing and signs certificates" in str(signing_keys.problem())
    fresh, _ = signing_keys.rotate()
    assert signing_keys.problem() is None
    assert sealed_keys.names("certificates-") == [f"certificates-{fresh.key_id}"]


def test_a_file_is_read_from_its_row(world: World) -> None:
    kit.write(world, "- tea\n")
    place, owner = kit.place("AGENT.md"), kit.owner(world)
    assert not kit.on_disk(world).exists()
    assert reading.read(owner, place, by=world.actor("ada")).text == "- tea\n"
    assert Case.objects.count() == 0
