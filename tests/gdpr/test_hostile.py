"""A run while the world does its worst: late words, holds, bundles, other people."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from gdpr import audit_log, erasure
from gdpr.cases import actions, dry_run, legal_holds, privacy_settings, sealed_names
from gdpr.cases import workflow as cases
from gdpr.erasure import failpoints, one_call, replay, tombstones
from gdpr.export import make as export
from gdpr.export import storage
from gdpr.models import (
    ActionKind,
    Case,
    CaseKind,
    CaseState,
    Export,
    ExportState,
    Subject,
    SubjectLink,
    Verdict,
)
from gdpr.subjects import restriction
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr.erasing import MAIL, NAME, OTHER, WORD
from tests.world import World

pytestmark = pytest.mark.slow


def _at(
    monkeypatch: pytest.MonkeyPatch, moment: str, act: Callable[[], object]
) -> None:
    """Do something when a run comes to a moment for the first time."""
    done: list[str] = []

    def step(name: str) -> None:
        if name == moment and not done:
            done.append(name)
            act()

    monkeypatch.setattr(failpoints, "step", step)


def _hold(world: World, who: Subject, **fields: Any) -> Any:
    told = {"reason": "A court asked", "scope": "all", **fields}
    new = legal_holds.NewHold(review_at=timezone.now() + timedelta(days=9), **told)
    by = world.actor("compliance")
    return legal_holds.place(who, new, by=by, places=frozenset({"journal"}))


def _run(world: World, who: Subject, doubtful: Verdict | None = None) -> Case:
    case = erasing.opened(world, who)
    if doubtful is not None:
        erasing.judged(world, case, doubtful)
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    return case


# ── What officers write ──────────────────────────────────────────────────────
def test_no_table_of_ours_says_the_name_afterwards(shared_world: World) -> None:
    world = shared_world
    by = world.actor("compliance")
    erasing.lived_in(world)
    who, otto = erasing.maria(world), erasing.otto(world)
    held = _hold(
        world, who, reason=f"{NAME} v. us", ground=f"Art. 17 {MAIL}", owner=MAIL,
    )  # fmt: skip
    legal_holds.release(held, f"{NAME} settled", by=by)
    case = erasing.opened(world, who, requester=NAME, ticket=f"T {MAIL}")
    actions.comment(case, f"{NAME} called", by=by)
    actions.attach(case, f"{MAIL}.pdf", "b" * 64, 3, by=by)
    actions.extend(case, 1, f"{NAME} agreed", by=by)
    other = cases.open_case(
        cases.NewCase(
            subject_id=otto.pk, kind=CaseKind.ACCESS, reason=f"He knows {NAME}"
        ),
        by=by,
    )
    actions.comment(other, f"{OTHER} came with {MAIL}", by=by)
    export.make(export.request(who, reason=f"{NAME} asked", by=by))
    audit_log.begin(who.pk, ActionKind.VIEW, by=by, reason=f"Seen with {MAIL}")
    case = erasing.started(world, Case.objects.get(pk=case.pk))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    for text in (MAIL, NAME, WORD, MAIL[8:], NAME[8:]):
        assert kit.in_tables(text) == {}, text
        assert kit.in_folders(text) == {}, text
        if connection.vendor == "sqlite":
            assert kit.in_files(text) == {}, text
    other.refresh_from_db()
    assert "[erased]" in other.reason


# ── Meanwhile ────────────────────────────────────────────────────────────────
def test_a_hold_in_the_midst_stops_the_run_and_its_release_ends_it(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    who = erasing.maria(world)
    held: list[Any] = []
    _at(monkeypatch, "suppressed", lambda: held.append(_hold(world, who)))
    case = _run(world, who)
    assert case.state == CaseState.ON_HOLD
    assert JournalEntry.objects.get(pk=rows["mine"].pk).erased_at is None
    legal_holds.release(held[0], "Settled", by=world.actor("compliance"))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.told(case)


@pytest.mark.parametrize("moment", ["claimed", "suppressed", "batch_erased", "cleaned"])
def test_what_is_written_meanwhile_goes_or_is_refused_or_is_told(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    world = shared_world
    erasing.lived_in(world)
    who = erasing.maria(world)
    said: list[str] = []

    def write() -> None:
        for text in (f"{MAIL} writes again", f"{NAME} comes back"):
            try:
                said.append(world.entry(text).id)
            except errors.Conflict as refused:
                assert refused.problem_code == "subject_suppressed"

    _at(monkeypatch, moment, write)
    case = _run(world, who)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    assert bool(said) is (moment == "claimed")
    assert kit.in_tables(MAIL) == {}
    assert kit.in_tables(NAME) == {}


def test_a_bundle_is_neither_asked_for_nor_finished_meanwhile(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    by = world.actor("compliance")
    erasing.lived_in(world)
    who = erasing.maria(world)
    waits = export.request(who, by=by)
    told: list[str] = []

    def ask() -> None:
        for act in (export.request, export.export_document):
            with pytest.raises(errors.Conflict) as refused:
                act(who, by=by)
            told.append(str(refused.value.problem_code))
        assert export.make(waits).state == ExportState.FAILED

    _at(monkeypatch, "claimed", ask)
    case = _run(world, who)
    assert told == ["case_running", "case_running"]
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    assert kit.in_folders(MAIL) == {}


def test_a_bundle_that_is_taken_away_while_it_is_made_stays_away(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    who = erasing.maria(world)
    waits = export.request(who, by=world.actor("compliance"))
    collect = export.collect

    def slowly(*args: Any) -> Any:
        found = collect(*args)
        export.remove_all(world.acme.id, who.pk)
        return found

    monkeypatch.setattr(export, "collect", slowly)
    assert export.make(waits).state == ExportState.GONE
    assert not list(storage.folder().rglob("*.sealed"))
    assert Export.objects.get(pk=waits.pk).state == ExportState.GONE


def test_links_come_back_when_something_is_left(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    who = erasing.maria(world)
    late = world.entry("Somebody prefers the quiet room")

    def link() -> None:
        kit.link(who, "journal", late.id)

    # It is linked after its place was gone through, and its text names nobody.
    _at(monkeypatch, "processes_told", link)
    from gdpr.verification import search

    def found(_person: Any, _tokens: Any, report: Any, *_: Any) -> None:
        report.todo.append("Something is left.")

    with monkeypatch.context() as patched:
        patched.setattr(search, "search_bytes", found)
        case = _run(world, who)
    assert case.state == CaseState.PARTIAL
    assert SubjectLink.objects.filter(subject=who, row_id=late.id).exists()
    assert who.aliases.count() == 2
    assert sealed_names.get(case) is None
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    late.refresh_from_db()
    assert late.erased_at is not None


# ── People ───────────────────────────────────────────────────────────────────
def test_somebody_who_shares_the_name_stays_known(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    who = erasing.maria(world)
    twin = erasing.subject(world, ("name", NAME), ("email", "twin@canary.example"))
    hers = world.entry("twin@canary.example rows on Sundays")
    case = _run(world, who, doubtful=Verdict.THEIRS)
    assert case.state in (CaseState.COMPLETE, CaseState.PARTIAL)
    twin.refresh_from_db()
    assert twin.aliases.filter(value=NAME).exists()
    hers.refresh_from_db()
    assert hers.erased_at is None
    assert "twin@canary.example" in hers.summary


def test_somebody_without_any_name_is_found_by_links(shared_world: World) -> None:
    world = shared_world
    who = erasing.subject(world)
    row = world.entry("likes the window seat")
    kit.link(who, "journal", row.id)
    case = _run(world, who)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    row.refresh_from_db()
    assert row.erased_at is not None


@pytest.mark.parametrize(
    ("kind", "value"), [("name", "an"), ("handle", "it"), ("pattern", "zanz*")]
)
def test_a_name_that_is_a_common_word_takes_only_what_names_it(
    shared_world: World, kind: str, value: str
) -> None:
    world = shared_world
    who = erasing.subject(world, (kind, value))
    far = world.entry("Nobody here eats plain rice")
    case = _run(world, who)
    # So short a name may lie anywhere in a server's catalogue: then it says so.
    assert case.state in (CaseState.COMPLETE, CaseState.PARTIAL), erasing.told(case)
    far.refresh_from_db()
    assert far.erased_at is None
    assert world.entry("Another plain line of text").erased_at is None


def test_a_restricted_person_can_be_erased(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    who = erasing.maria(world)
    restriction.restrict(who, by=world.actor("compliance"))
    case = _run(world, who)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    assert JournalEntry.objects.get(pk=rows["mine"].pk).erased_at is not None
    assert kit.in_tables(MAIL) == {}


def test_an_embedder_that_is_down_keeps_nobody(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from episodic.embedders.base import EmbedderError, Reason
    from episodic.index import engine
    from episodic.models import Embedding

    world = shared_world
    rows = erasing.lived_in(world)
    before = bytes(Embedding.objects.get(pk=rows["both"].pk).vector)

    def down(*_: Any) -> Any:
        raise EmbedderError("out", Reason.UNREACHABLE)

    monkeypatch.setattr(engine.embedder(), "embed_documents", down)
    monkeypatch.setattr(engine.embedder(), "embed_query", down)
    case = _run(world, erasing.maria(world))
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    left = Embedding.objects.filter(pk=rows["both"].pk).first()
    assert left is None or bytes(left.vector) != before


# ── Two persons, whatever the door ───────────────────────────────────────────
def _refused(code: str, act: Callable[[], object]) -> None:
    with pytest.raises(errors.Conflict) as refused:
        act()
    assert refused.value.problem_code == code


def test_no_door_is_wide_enough_for_one_where_two_are_asked_for(
    shared_world: World,
) -> None:
    world = shared_world
    by, second = world.actor("compliance"), world.actor("owner")
    who = erasing.maria(world)
    erasing.lived_in(world)
    privacy_settings.change(
        privacy_settings.Change(two_person=True), by=world.actor("owner")
    )
    _refused("case_required", lambda: one_call.erase(MAIL, "She asked", by=by))
    case = erasing.opened(world, who)
    found = dry_run.make(case, by=by).plan_hash
    case.refresh_from_db()
    phrase = cases.phrase(case, found)
    start = partial(erasure.start, case, found, phrase)
    _refused("approval_required", lambda: start(by=by))
    _refused("same_person", lambda: cases.approve(case, found, by=by))
    told = {"workspace": "acme", "reason": "She asked", "stdout": io.StringIO()}
    with pytest.raises(CommandError):
        call_command("gdpr_erase", MAIL, case=case.pk, phrase=phrase, **told)
    cases.approve(case, found, by=second)
    _refused("same_person", lambda: start(by=second))
    assert erasure.sweep() == {"run": 0, "failed": 0}
    assert JournalEntry.objects.exclude(erased_at=None).count() == 0
    assert start(by=by).state == CaseState.RUNNING


# ── The file outside ─────────────────────────────────────────────────────────
def test_an_erasures_file_without_its_end_is_noticed(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    assert _run(world, erasing.maria(world)).state == CaseState.COMPLETE
    assert replay.state()["ok"]
    path = tombstones.path_of(world.acme.id)
    path.write_bytes(b"")
    assert replay.state() == {"ok": False, "behind": 0, "fault": replay.TAIL_LOST}
    path.unlink()
    assert not replay.state()["ok"]


# ── Words of rows that went ──────────────────────────────────────────────────
def test_words_are_kept_sealed_and_survive_what_a_crash_cut_off(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    sealed_names.resume_words(case)
    sealed_names.keep(case, [WORD.encode(), b"\x00\xff\x01vector"])
    path = sealed_names._path(case, "words")
    whole = path.read_bytes()
    assert WORD.encode() not in whole
    path.write_bytes(whole + whole[:20])
    again = sealed_names.resume_words(case)
    assert again.strings == {WORD.encode(), b"\x00\xff\x01vector"}
    assert (again.runners, again.complete) == (2, True)
    assert "taken up again (1×)" in again.note()
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 1
    path.write_bytes(bytes(damaged))
    assert "damaged" in sealed_names.words(case).note()
    sealed_names.drop(case)
    assert not path.exists()
    assert sealed_names.words(case).note() == ""
