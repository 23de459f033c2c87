"""Other people in an export: covered, shown to an officer when doubtful, remembered."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from episodic.embedders import base
from gdpr import erasure
from gdpr.cases import identity
from gdpr.data_map import covered_words, registry
from gdpr.data_map.base import Fate
from gdpr.detection import find as detection
from gdpr.export import make as export
from gdpr.export import other_people, review, storage
from gdpr.export.review import Decision
from gdpr.models import (
    Case,
    CaseKind,
    Export,
    ExportState,
    ExportWord,
    GdprAction,
    RememberedWord,
    Subject,
    WordVerdict,
)
from memory import records
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
ANNA = kit.ANNA["name"]
# Sure, sure, doubtful; and the same sure one again.
TEXT = (
    f"{ANNA} came with Lena Bergqvist (lena.b@post.example); Ingrid waited. "
    "Lena Bergqvist paid."
)
COVER, LEAVE = WordVerdict.COVER, WordVerdict.LEAVE


@pytest.fixture
def anna(world: World) -> Subject:
    subject = kit.subject(world)
    world.entry(TEXT)
    return subject


def _made(world: World, subject: Subject) -> Export:
    return export.make(export.request(subject, by=world.actor("compliance")))


def _decide(world: World, row: Export, verdict: str, **fields: Any) -> Export:
    decision = Decision(verdict=verdict, **fields)
    return review.decide(row, decision, by=world.actor("compliance"))


def _words(world: World, row: Export) -> dict[str, ExportWord]:
    page = review.words(row, by=world.actor("compliance"))
    return {view.sighting.word: view.row for view in page.items}


def _bundle(world: World, row: Export) -> str:
    """Return everything in a bundle's files."""
    row = export.make(Export.objects.get(pk=row.pk))
    assert row.state == ExportState.READY, (row.state, row.error)
    data = b"".join(export.read(row, by=world.actor("compliance")))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


# ── What waits ───────────────────────────────────────────────────────────────
def test_a_doubtful_word_waits_for_an_officer(world: World, anna: Subject) -> None:
    row = _made(world, anna)
    assert (row.state, review.waiting(row)) == (ExportState.REVIEW, 1)
    words = _words(world, row)
    assert {word: (r.kind, r.surely, r.count) for word, r in words.items()} == {
        "Lena Bergqvist": ("name", True, 2),
        "lena.b@post.example": ("email", True, 1),
        "Ingrid": ("name", False, 1),
    }
    with pytest.raises(export.NotReady):
        export.read(row, by=world.actor("compliance"))
    # Asking again for it changes nothing.
    assert export.make(row).state == ExportState.REVIEW
    assert export.sweep() == {"made": 0, "gone": 0}


def test_decided_words_are_covered_by_numbered_marks(
    world: World, anna: Subject
) -> None:
    row = _decide(world, _made(world, anna), COVER, all_doubtful=True)
    assert row.state == ExportState.MAKING
    text = _bundle(world, row)
    line = (
        f"{ANNA} came with [person 1] ([e-mail 1]); [person 2] waited. [person 1] paid."
    )
    assert line in text
    assert "<dt>Names</dt><dd>3</dd>" in text
    assert "Lena" not in text and "Ingrid" not in text
    facts = {"covered": {"name": 3, "email": 1}, "unsure": 1, "left_readable": 0}
    row.refresh_from_db()
    assert row.counts["other_people"] == facts
    assert json.dumps(facts["covered"]) in json.dumps(json.loads(_document(text)))
    assert not row.words.exists()


def _document(text: str) -> str:
    start = text.rindex('{\n "format"')
    return text[start:]


def test_a_word_left_readable_is_readable(world: World, anna: Subject) -> None:
    row = _decide(world, _made(world, anna), LEAVE, kinds=["name"])
    text = _bundle(world, row)
    assert "; Ingrid waited." in text
    assert "Lena" not in text


def test_the_same_word_in_other_letters_is_one_word(world: World) -> None:
    anna = kit.subject(world)
    world.entry(f"{ANNA} met Ingrid and INGRID, and Ingrid again")
    row = _made(world, anna)
    assert [(r.count) for r in _words(world, row).values()] in ([3], [2])


def test_a_part_of_a_whole_name_is_sure(world: World) -> None:
    anna = kit.subject(world)
    world.entry(f"{ANNA} met Ingrid Bergqvist. Then Ingrid paid, and Bergqvist left.")
    text = _bundle(world, _made(world, anna))
    assert "Ingrid" not in text and "Bergqvist" not in text


def test_own_names_agents_and_staff_stay(world: World) -> None:
    anna = kit.subject(world)
    agent = world.agents["ada"]
    agent.name = "Ingrid"
    agent.save(update_fields=["name"])
    world.entry(f"Anna said so: {ANNA}, {kit.ANNA['email']}. Ingrid noted it.")
    text = _bundle(world, _made(world, anna))
    assert f"Anna said so: {ANNA}, {kit.ANNA['email']}. Ingrid noted it." in text


def test_texts_inside_json_are_covered_with_their_keys(world: World) -> None:
    anna = kit.subject(world)
    payload = {"who": {"Lena Bergqvist": ["paid", {"to": "Karim Haddad"}]}, "n": 3}
    world.entry(f"About {ANNA}", payload=payload)
    text = _bundle(world, _made(world, anna))
    assert "Lena" not in text and "Karim" not in text
    assert "[person 1]" in text and "[person 2]" in text


def test_one_call_covers_what_is_doubtful_too(world: World, anna: Subject) -> None:
    document = export.export_document(anna, by=world.actor("compliance"))
    text = json.dumps(document["places"], ensure_ascii=False)
    assert "Ingrid" not in text and "Lena" not in text
    assert document["other_people"]["unsure"] == 1
    assert any("[person 1]" in line for line in document["not_included"])


def test_two_spellings_of_a_key_lose_no_value(world: World) -> None:
    anna = kit.subject(world)
    payload = {"Lena Bergqvist": "first", "LENA BERGQVIST": "second"}
    world.entry(f"About {ANNA} and Lena Bergqvist", payload=payload)
    text = json.loads(_document(_bundle(world, _made(world, anna))))
    (entry,) = text["places"]["journal"]
    assert set(entry["payload"]) == {"[person 1]", "[person 1] (2)"}
    assert set(entry["payload"].values()) == {"first", "second"}


def test_whose_record_it_is_is_covered(world: World) -> None:
    anna = kit.subject(world)
    scope = Scope(user="lena.b@post.example")
    ada = world.actor("ada")
    draft = Draft(content=f"Called {ANNA}", owner=records.owner_for(ada), scope=scope)
    records.save(draft, provenance="user_requested", by=ada)
    assert "lena.b@" not in _bundle(world, _made(world, anna))


def test_one_call_reads_no_more_than_a_caller_waits_for(
    world: World, anna: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_people, "ONE_ANSWER_CHARS", 20)
    monkeypatch.setattr(other_people, "read", None)
    with pytest.raises(errors.Invalid, match=r"takes 20\. Request a bundle"):
        export.export_document(anna, by=world.actor("compliance"))
    action = GdprAction.objects.get(action="export")
    assert (action.status, action.error) == ("failed", "TooLong")


def test_a_damaged_detector_fails_the_bundle_and_says_so(
    world: World, anna: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_: str) -> None:
        raise base.Damaged("another file")

    monkeypatch.setattr(detection, "find", damaged)
    row = _made(world, anna)
    assert (row.state, row.error) == ("failed", "Other people cannot be found")
    with pytest.raises(other_people.NoDetector):
        export.export_document(anna, by=world.actor("compliance"))


# ── What is stored while it waits ────────────────────────────────────────────
def test_the_words_are_sealed_while_they_wait(world: World, anna: Subject) -> None:
    row = _made(world, anna)
    sealed = b"".join(bytes(word.sealed) for word in row.words.all())
    assert b"Ingrid" not in sealed and b"Bergqvist" not in sealed
    assert "Ingrid" not in json.dumps(row.counts)
    assert row.words.count() == 3


@pytest.mark.parametrize("end", ["removed", "expired", "failed"])
def test_the_words_go_with_the_bundle(
    world: World, anna: Subject, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = _made(world, anna)
    if end == "removed":
        export.remove(row, by=world.actor("compliance"))
    elif end == "expired":
        Export.objects.update(expires_at=timezone.now() - timedelta(days=1))
        assert export.sweep()["gone"] == 1
    else:
        row = _decide(world, row, COVER, all_doubtful=True)
        monkeypatch.setattr(storage, "store", None)
        assert export.make(row).state == ExportState.FAILED
    assert not ExportWord.objects.exists()


def test_erasing_somebody_in_the_words_collects_the_bundle_again(
    world: World, anna: Subject
) -> None:
    row = _made(world, anna)
    ingrid = kit.subject(world, {"name": "Lena Bergqvist"})
    assert kit.fates("exports", ingrid) == {row.pk: Fate.DELETE}
    kit.erase("exports", ingrid)
    row.refresh_from_db()
    assert (row.state, row.words.count()) == (ExportState.MAKING, 0)
    assert kit.traces(ingrid, "exports") == []


def test_another_export_key_has_the_words_collected_again(
    world: World, anna: Subject
) -> None:
    row = _made(world, anna)
    assert covered_words.collect_again([row.pk]) == 1
    row.refresh_from_db()
    assert (row.state, row.words.count()) == (ExportState.MAKING, 0)


def test_an_erasure_of_the_person_takes_the_words_along(
    world: World, anna: Subject
) -> None:
    _made(world, anna)
    kit.erase("exports", anna)
    assert not ExportWord.objects.exists()
    assert Export.objects.get().state == ExportState.GONE


@pytest.mark.parametrize("end", ["erased", "removed"])
def test_a_bundle_that_ended_while_it_was_read_stores_no_words(
    world: World, anna: Subject, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, read = export.request(anna, by=world.actor("compliance")), other_people.read

    def reading(*args: Any) -> Any:
        if end == "erased":
            kit.erase("exports", anna)
        else:
            export.remove(row, by=world.actor("compliance"))
        return read(*args)

    monkeypatch.setattr(other_people, "read", reading)
    assert export.make(row).state == ExportState.GONE
    assert not ExportWord.objects.exists()
    assert GdprAction.objects.get(action="export").status == "failed"


# ── Deciding ─────────────────────────────────────────────────────────────────
def test_a_decision_is_remembered_when_the_officer_says_so(
    world: World, anna: Subject
) -> None:
    row = _decide(world, _made(world, anna), LEAVE, all_doubtful=True, remember=True)
    _bundle(world, row)
    remembered = RememberedWord.objects.get()
    assert "ngrid" not in f"{remembered.digest} {remembered.verdict}"
    second = _made(world, anna)
    assert "Ingrid waited" in _bundle(world, second)
    document = export.export_document(anna, by=world.actor("compliance"))
    assert "Ingrid waited" in json.dumps(document)
    assert registry.by_name("decisions").tables.count("gdpr.RememberedWord") == 1


def test_the_days_of_a_bundle_begin_with_the_decision(
    world: World, anna: Subject
) -> None:
    row = _made(world, anna)
    soon = timezone.now() + timedelta(hours=1)
    Export.objects.update(expires_at=soon)
    row = _decide(world, row, COVER, all_doubtful=True)
    assert row.expires_at > soon + timedelta(days=1)


def test_words_sealed_with_another_key_are_a_conflict(
    world: World, anna: Subject
) -> None:
    row = _made(world, anna)
    row.words.update(sealed=b"other bytes")
    with pytest.raises(errors.Conflict) as error:
        review.words(row, by=world.actor("compliance"))
    assert error.value.problem_code == "export_broken"


def test_leaving_a_sure_word_readable_needs_a_reason(
    world: World, anna: Subject
) -> None:
    row = _made(world, anna)
    lena = _words(world, row)["Lena Bergqvist"]
    with pytest.raises(errors.Invalid, match="needs a reason"):
        _decide(world, row, LEAVE, words=[lena.pk])
    _decide(world, row, LEAVE, words=[lena.pk], reason="Her own second name")
    action = GdprAction.objects.filter(action="decide").get()
    assert (action.reason, action.scope["sure"]) == ("Her own second name", 1)
    row = _decide(world, row, COVER, all_doubtful=True)
    assert "came with Lena Bergqvist ([e-mail 1])" in _bundle(world, row)


def test_what_is_no_decision_is_refused(world: World, anna: Subject) -> None:
    row = _made(world, anna)
    for fields in ({}, {"words": [10**6]}, {"words": [2**63]}, {"kinds": ["phone"]}):
        with pytest.raises(errors.Invalid):
            _decide(world, row, COVER, **fields)
    with pytest.raises(errors.Invalid):
        _decide(world, row, "burn", all_doubtful=True)
    with pytest.raises(errors.TooLarge):
        _decide(world, row, COVER, words=range(1, review.MAX_WORDS + 2))
    with pytest.raises(errors.TooLarge):
        _decide(world, row, COVER, all_doubtful=True, reason="x" * 2_001)
    assert review.waiting(row) == 1
    row = _decide(world, row, COVER, all_doubtful=True)
    with pytest.raises(review.NotWaiting):
        _decide(world, row, COVER, all_doubtful=True)
    with pytest.raises(review.NotWaiting):
        review.words(row, by=world.actor("compliance"))


def test_a_bundle_that_does_not_wait_lists_no_words(
    world: World, anna: Subject
) -> None:
    row = _decide(world, _made(world, anna), COVER, all_doubtful=True)
    reply = world.api("compliance").get(f"/gdpr/exports/{row.pk}/words")
    assert reply.data == {"items": [], "total": 0, "next_offset": None}
    assert world.api("operator").get(f"/gdpr/exports/{row.pk}/words").status == 403


def test_a_word_of_another_bundle_is_unknown(world: World, anna: Subject) -> None:
    bert = kit.subject(world, kit.BERT)
    world.entry(f"{kit.BERT['name']} met Sigrid")
    foreign = _words(world, _made(world, bert))["Sigrid"]
    with pytest.raises(errors.Invalid, match="no such word"):
        _decide(world, _made(world, anna), COVER, words=[foreign.pk])


def test_who_looks_and_who_decides_is_recorded(world: World, anna: Subject) -> None:
    row = _made(world, anna)
    _words(world, row)
    _decide(world, row, COVER, all_doubtful=True)
    rows = GdprAction.objects.exclude(action="export").order_by("initiated_at", "id")
    assert [(r.action, r.scope["export"]) for r in rows] == [
        ("view", row.pk), ("decide", row.pk),
    ]  # fmt: skip
    assert rows[1].scope == {
        "export": row.pk, "verdict": "cover", "words": 1, "sure": 0,
        "remembered": False,
    }  # fmt: skip
    (entry,) = make.entries(world, "gdpr.export_words_decided")
    assert "Ingrid" not in entry.payload_text
    assert make.entries(world, "gdpr.export_waits")


def test_a_word_that_came_meanwhile_waits_too(world: World, anna: Subject) -> None:
    row = _decide(world, _made(world, anna), COVER, all_doubtful=True)
    world.entry(f"{ANNA} also met Sigrid")
    row = export.make(row)
    assert (row.state, review.waiting(row)) == (ExportState.REVIEW, 1)
    assert _words(world, row)["Ingrid"].verdict == COVER


# ── The case, the command ────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", [CaseKind.ACCESS, CaseKind.PORTABILITY])
def test_a_case_waits_for_the_decision_and_completes(
    shared_world: World, kind: CaseKind
) -> None:
    world = shared_world
    world.entry(f"{erasing.NAME} met Ingrid")
    case = erasing.opened(world, erasing.maria(world), kind)
    identity.verify(case, "Passport", by=world.actor("compliance"))
    erasing.started(world, case)
    due = case.due_at
    for _ in range(2):
        # A run that came back after a crash waits as well, and says so once.
        Case.objects.update(lease_until=None, claimed_by="")
        erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    row = Export.objects.get(case=case)
    assert (case.state, row.state, case.due_at) == ("running", "review", due)
    (step,) = case.steps.all()
    assert (step.state, step.counts["words"]) == ("waiting", 1)
    texts = list(case.events.filter(text__startswith="Waits").values_list("text"))
    assert texts == [("Waits for a decision on 1 word",)]
    # The next look is put off, and the decision calls it forward.
    assert case.lease_until is not None
    _decide(world, row, COVER, all_doubtful=True)
    assert erasure.sweep() == {"run": 1, "failed": 0}
    case.refresh_from_db()
    row.refresh_from_db()
    assert (case.state, row.state) == ("complete", "ready")
    assert "Ingrid" not in _bundle(world, row)


def test_the_command_says_what_waits_or_covers_it(
    world: World, anna: Subject, tmp_path: Any
) -> None:
    out = tmp_path / "bundle.zip"
    with pytest.raises(CommandError, match="1 words of other people"):
        call_command("gdpr_export", kit.ANNA["email"], "--out", str(out))
    assert not out.exists()
    call_command(
        "gdpr_export", kit.ANNA["email"], "--out", str(out), "--cover-doubtful"
    )
    with zipfile.ZipFile(out) as archive:
        assert b"Ingrid" not in archive.read("data.json")


def test_the_database_holds_no_word_in_the_clear(world: World, anna: Subject) -> None:
    _made(world, anna)
    with connection.cursor() as cursor:
        cursor.execute("SELECT digest, kind, verdict FROM gdpr_export_words")
        assert "ngrid" not in str(cursor.fetchall())
