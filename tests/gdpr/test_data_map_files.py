"""Holders of memory files, versions, blobs and held texts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from gdpr.data_map.base import Fate, Person
from gdpr.data_map.memory_files import editor
from gdpr.matching.matcher import Matcher, Name
from gdpr.models import Export, ExportState
from memory import records
from memory.files import commit, erasure, reconcile, versions
from memory.files.quarantine import HeldForReview
from memory.models import (
    BlockedSource,
    Clearance,
    HeldFile,
    HeldRecord,
    MemoryChunk,
    MemoryFile,
    MemoryVersion,
)
from memory.records.drafts import Draft
from memory.review import decide as review
from memory.stored_files import trees
from tests.gdpr import kit
from tests.memory.files import kit as files
from tests.world import ATTACK, World

ANNA, BERT = kit.ANNA["name"], kit.BERT["name"]


def _texts(file: MemoryFile) -> list[str]:
    return [text for _, text in erasure.texts(file)]


# ── Tier files ───────────────────────────────────────────────────────────────
def test_lines_go_and_lines_about_two_are_masked_in_every_version(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    files.write(world, f"- tea\n- {ANNA} pays late\n")
    files.append(world, f"- {ANNA} and {BERT} share an order\n")
    files.append(world, "- refunds end at $200\n")
    file = files.row(world)
    old = set(MemoryVersion.objects.filter(file=file).values_list("sha256", flat=True))

    assert kit.erase("files", anna) == {file.id: Fate.REDACT}

    shared_line = f"- [erased] and {BERT} share an order\n"
    assert _texts(file) == [
        "- tea\n",
        f"- tea\n{shared_line}",
        f"- tea\n{shared_line}- refunds end at $200\n",
    ]  # fmt: skip
    assert files.on_disk(world).read_text() == _texts(file)[-1]
    log = MemoryVersion.objects.filter(file=file).order_by("number")
    assert [(v.number, v.note) for v in log] == [
        (n, erasure.REDACTED) for n in (1, 2, 3)
    ]
    remaining = {path.name for path in (Path(settings.DATA_DIR) / "blobs").rglob("*")}
    assert not old & remaining
    pieces = MemoryChunk.objects.filter(file=file).values_list("text", flat=True)
    assert ANNA not in " ".join(pieces)
    assert reconcile.sweep("acme").changed == 0
    assert kit.traces(anna, "files", "strays") == []
    assert kit.in_folders("kowalczyk") == {}


def test_what_a_named_version_added_goes_too(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    files.write(world, "- tea\n- refunds\n")
    version = files.append(world, f"- likes umbrellas\n- {BERT} too\n")
    files.append(world, "- and nothing else\n")
    kit.link(anna, "versions", version.version.id)
    kit.erase("files", anna)
    assert files.on_disk(world).read_text() == (
        f"- tea\n- refunds\n- {BERT} too\n- and nothing else\n"
    )


def test_a_file_of_the_person_alone_is_gone_and_its_versions_say_so(
    world: World,
) -> None:
    anna = kit.subject(world)
    files.write(world, f"{ANNA} likes tea\n", "daily/2026-05-21.md")
    kit.erase("files", anna)
    file = files.row(world, "daily/2026-05-21.md")
    assert (file.sha256, file.bytes) == ("", 0)
    assert not files.on_disk(world, "daily/2026-05-21.md").exists()
    assert [v.sha256 for v in versions.log(file)] == [""]
    assert kit.traces(anna, "files", "strays") == []


def test_a_card_goes_whole_with_its_name_and_its_lock(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    other_card = files.write(world, "Likes tea\n", "peers/anna-kowalczyk.md")
    files.write(world, f"Knows {ANNA}\nand tea\n", "peers/bertram-ohlsen.md")
    path = other_card.version.file.path
    plan = kit.erase("files", anna)
    assert sorted(plan.values()) == [Fate.DELETE, Fate.REDACT]
    assert not MemoryFile.objects.filter(path=path).exists()
    assert not MemoryVersion.objects.filter(pk=other_card.version.pk).exists()
    assert kit.in_folders("anna-kowalczyk") == {}
    assert not trees.folder("files")._lock(path).exists()
    bert = files.on_disk(world, "peers/bertram-ohlsen.md")
    assert bert.read_text() == "and tea\n"
    assert kit.traces(anna, "files") == []


def test_what_lies_on_the_disk_unseen_is_found(world: World) -> None:
    anna = kit.subject(world)
    files.write(world, "tea\n")
    files.put(files.on_disk(world), f"tea\n{ANNA} likes it\n")
    assert len(kit.erase("files", anna)) == 1
    assert files.on_disk(world).read_text() == "tea\n"
    assert kit.traces(anna, "files", "strays") == []


def test_equal_text_of_two_agents_goes_from_both(world: World) -> None:
    anna = kit.subject(world)
    for agent in ("ada", "lena"):
        files.write(world, f"tea\n{ANNA}\n", by=agent)
    kit.erase("files", anna)
    assert kit.traces(anna, "files", "strays") == []


@pytest.mark.parametrize("step", ["blobs", "live", "rows"])
def test_an_erasure_that_died_ends_the_same_when_done_again(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    anna = kit.subject(world)
    files.write(world, f"tea\n{ANNA}\n")
    files.append(world, "more\n")

    def die(name: str) -> None:
        if name == f"erasing-{step}":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commit, "step", die)
        with pytest.raises(KeyboardInterrupt):
            kit.erase("files", anna)
    reconcile.sweep("acme")
    kit.erase("files", anna)
    kit.erase("strays", anna)
    assert files.on_disk(world).read_text() == "tea\nmore\n"
    assert kit.traces(anna, "files", "strays") == []


def test_a_damaged_blob_with_the_name_goes_too(world: World) -> None:
    anna = kit.subject(world)
    written_file = files.write(world, f"tea\n{ANNA}\n")
    parts = versions.blob_parts(world.acme.id, written_file.sha256)
    path = trees.folder("blobs").root.joinpath(*parts)
    path.write_text(f"tampered {ANNA}")
    kit.erase("files", anna)
    assert not path.exists()
    assert kit.traces(anna, "files", "strays") == []
    assert files.on_disk(world).read_text() == "tea\n"


def test_strays_of_every_kind_go_and_others_stay(world: World) -> None:
    anna = kit.subject(world)
    files.write(world, "tea\n")
    folder, blobs = (
        files.on_disk(world).parent,
        trees.folder("blobs").root / world.acme.id,
    )
    torn = files.put(folder / ".crewship-tmp-0011", f"half of {ANNA}")
    orphan = files.put(blobs / "ab" / ("ab" + "0" * 62), f"{ANNA} once")
    stray = files.put(folder / "anna-kowalczyk.txt", "tea")
    other = files.put(folder / "notes.txt", "tea")
    assert set(kit.erase("strays", anna).values()) == {Fate.DELETE}
    assert [p.exists() for p in (torn, orphan, stray, other)] == [
        False, False, False, True
    ]  # fmt: skip
    assert kit.traces(anna, "strays") == []


def test_a_young_blob_that_a_version_is_about_to_use_is_left(world: World) -> None:
    """A writer stores the blob before its version: a young blob is not a stray."""
    written_file = files.write(world, "tea\n")
    assert erasure.delete_unused_blobs(world.acme.id, [written_file.sha256]) == 0
    assert versions.read(written_file.version) == b"tea\n"


PERSON = Person(
    workspace_id="ws_1",
    subject_id="sub_anna",
    matcher=Matcher([Name("sub_anna", "name", ANNA)]),
    others_matcher=Matcher([Name("sub_bert", "name", BERT)]),
    links={},
)


@given(st.lists(st.sampled_from(["tea", ANNA, BERT, f"{ANNA} {BERT}", "", "- x"])))
def test_no_line_of_anybody_else_is_lost(lines: list[str]) -> None:
    person = PERSON
    text = "\n".join(lines)
    remaining = editor(person, frozenset())(text)
    assert not person.matcher.names(remaining)
    other_lines = [line for line in lines if not person.matcher.names(line)]
    assert [x for x in remaining.splitlines() if "[erased]" not in x and x] == [
        x for x in other_lines if x
    ]
    assert remaining.count(BERT) == text.count(BERT)
    assert editor(person, frozenset())(remaining) == remaining


# ── Held texts ───────────────────────────────────────────────────────────────
def test_a_held_text_goes_or_is_masked_and_judged_anew(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    own_text = world.held(f"{ATTACK} {ANNA}")
    shared_text = world.held(f"{ANNA} and {BERT} say: {ATTACK}")
    assert kit.erase("held", anna) == {
        own_text.id: Fate.DELETE,
        shared_text.id: Fate.REDACT,
    }
    remaining = HeldFile.objects.get(pk=shared_text.pk)
    text = bytes(remaining.body).decode()
    assert text == f"[erased] and {BERT} say: {ATTACK}"
    assert (remaining.bytes, remaining.sha256) != (
        shared_text.bytes,
        shared_text.sha256,
    )
    for finding in remaining.findings:
        assert 0 <= finding["start"] < finding["end"] <= len(text)
    assert remaining.findings
    assert kit.traces(anna, "held") == []


def test_a_reviewers_name_is_masked_and_the_text_stays(world: World) -> None:
    operator = world.people["operator"]
    subject = kit.subject(world, {"email": operator.email})
    held_text = world.held()
    review.claim(held_text, by=world.actor("operator"))
    assert kit.erase("held", subject) == {held_text.id: Fate.REDACT}
    held_text.refresh_from_db()
    assert held_text.claimed_by == "[erased]"
    assert bytes(held_text.body).decode() == ATTACK


def test_a_block_outlives_the_text_it_stands_on(world: World) -> None:
    anna = kit.subject(world)
    held_text = world.held(f"{ATTACK} {ANNA}")
    row = {"workspace": world.acme, "held": held_text}
    BlockedSource.objects.create(
        agent=held_text.agent, source="tool", blocked_by="x", **row
    )
    Clearance.objects.create(fingerprint=held_text.fingerprint, cleared_by="x", **row)
    kit.erase("held", anna)
    held_text.refresh_from_db()
    assert (bytes(held_text.body), held_text.findings, held_text.fingerprint) == (
        b"",
        [],
        "",
    )
    assert BlockedSource.objects.filter(held=held_text).exists()
    assert not Clearance.objects.filter(held=held_text).exists()
    assert kit.traces(anna, "held") == []


def test_the_draft_of_a_held_record_goes_with_it(world: World) -> None:
    anna = kit.subject(world)
    by = world.actor("ada")
    draft = Draft(content=ATTACK, owner=records.owner_for(by), subjects=(ANNA,))
    with pytest.raises(HeldForReview):
        records.save(draft, provenance="test", by=by)
    (draft_id,) = HeldRecord.objects.values_list("pk", flat=True)
    kit.erase("held", anna)
    assert not HeldRecord.objects.filter(pk=draft_id, draft__subjects=[ANNA]).exists()
    assert kit.traces(anna, "held") == []


# ── Bundles ──────────────────────────────────────────────────────────────────
def test_a_bundle_about_the_person_is_taken_away(world: World) -> None:
    anna, bert = kit.subject(world), kit.subject(world, kit.BERT)
    rows = [
        Export.objects.create(
            workspace=world.acme,
            subject_ref=subject.id,
            state=ExportState.READY,
            made_by="test",
            expires_at=timezone.now(),
        )
        for subject in (anna, bert)
    ]
    folder = Path(settings.DATA_DIR) / "exports" / world.acme.id
    paths = [files.put(folder / f"{row.id}.sealed", "sealed") for row in rows]
    part = files.put(folder / f"{rows[0].id}.0011.part", "half")
    os.utime(part, (time.time(), time.time()))
    assert kit.erase("exports", anna) == {rows[0].id: Fate.DELETE}
    assert [p.exists() for p in (*paths, part)] == [False, True, False]
    rows[0].refresh_from_db()
    assert rows[0].state == ExportState.GONE
    assert kit.traces(anna, "exports") == []
