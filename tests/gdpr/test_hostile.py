"""Runs under hostile conditions: concurrent writes, holds, bundles, shared names."""

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

from gdpr import audit_log, bundle_files, erasure
from gdpr.cases import actions, case_files, legal_holds, privacy_settings, sealed_names
from gdpr.cases import workflow as cases
from gdpr.erasure import failpoints, one_call, readiness, replay, tombstones
from gdpr.export import make as export
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
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World

pytestmark = pytest.mark.slow


def _at(
    monkeypatch: pytest.MonkeyPatch, moment: str, act: Callable[[], object]
) -> None:
    """Call a function when a run first reaches a failpoint."""
    steps: list[str] = []

    def step(name: str) -> None:
        if name == moment and not steps:
            steps.append(name)
            act()

    monkeypatch.setattr(failpoints, "step", step)


def _hold(world: World, subject: Subject, **fields: Any) -> Any:
    values = {"reason": "A court asked", "scope": "all", **fields}
    new = legal_holds.NewHold(review_at=timezone.now() + timedelta(days=9), **values)
    by = world.actor("compliance")
    return legal_holds.place(subject, new, by=by, places=frozenset({"journal"}))


def _run(world: World, subject: Subject, verdict: Verdict | None = None) -> Case:
    case = erasing.opened(world, subject)
    if verdict is not None:
        erasing.plan_and_decide(world, case, verdict)
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    return case


# ── What officers write ──────────────────────────────────────────────────────
def test_no_table_holds_the_name_after_an_erasure(shared_world: World) -> None:
    world = shared_world
    by = world.actor("compliance")
    erasing.lived_in(world)
    subject, otto = erasing.maria(world), erasing.otto(world)
    hold = _hold(
        world, subject, reason=f"{NAME} v. us", ground=f"Art. 17 {MAIL}", owner=MAIL,
    )  # fmt: skip
    legal_holds.release(hold, f"{NAME} settled", by=by)
    case = erasing.opened(world, subject, requester=NAME, ticket=f"T {MAIL}")
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
    export.make(export.request(subject, reason=f"{NAME} asked", by=by))
    audit_log.begin(subject.pk, ActionKind.VIEW, by=by, reason=f"Seen with {MAIL}")
    case = erasing.started(world, Case.objects.get(pk=case.pk))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    for text in (MAIL, NAME, WORD, MAIL[8:], NAME[8:]):
        assert kit.in_tables(text) == {}, text
        assert kit.in_folders(text) == {}, text
        if connection.vendor == "sqlite":
            assert kit.in_files(text) == {}, text
    other.refresh_from_db()
    assert "[erased]" in other.reason


# ── During a run ─────────────────────────────────────────────────────────────
def test_a_hold_during_a_run_stops_it_and_its_release_finishes_it(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.maria(world)
    holds: list[Any] = []
    _at(monkeypatch, "suppressed", lambda: holds.append(_hold(world, subject)))
    case = _run(world, subject)
    assert case.state == CaseState.ON_HOLD
    assert JournalEntry.objects.get(pk=rows["mine"].pk).erased_at is None
    legal_holds.release(holds[0], "Settled", by=world.actor("compliance"))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)


@pytest.mark.parametrize("moment", ["claimed", "suppressed", "batch_erased", "cleaned"])
def test_writes_during_an_erasure_are_erased_refused_or_reported(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    outcomes: list[str] = []

    def write() -> None:
        for text in (f"{MAIL} writes again", f"{NAME} comes back"):
            try:
                outcomes.append(world.entry(text).id)
            except errors.Conflict as error:
                assert error.problem_code == "subject_suppressed"

    _at(monkeypatch, moment, write)
    case = _run(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert bool(outcomes) is (moment == "claimed")
    assert kit.in_tables(MAIL) == {}
    assert kit.in_tables(NAME) == {}


def test_no_bundle_is_requested_or_finished_during_an_erasure(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    by = world.actor("compliance")
    erasing.lived_in(world)
    subject = erasing.maria(world)
    waits = export.request(subject, by=by)
    codes: list[str] = []

    def ask() -> None:
        for act in (export.request, export.export_document):
            with pytest.raises(errors.Conflict) as error:
                act(subject, by=by)
            codes.append(str(error.value.problem_code))
        assert export.make(waits).state == ExportState.FAILED

    _at(monkeypatch, "claimed", ask)
    case = _run(world, subject)
    assert codes == ["case_running", "case_running"]
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert kit.in_folders(MAIL) == {}


def test_a_bundle_erased_while_it_is_made_stays_erased(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    waits = export.request(subject, by=world.actor("compliance"))
    collect = export.collect

    def slowly(*args: Any) -> Any:
        collected = collect(*args)
        kit.erase("exports", subject)
        return collected

    monkeypatch.setattr(export, "collect", slowly)
    assert export.make(waits).state == ExportState.GONE
    assert not list(bundle_files.folder().rglob("*.sealed"))
    assert Export.objects.get(pk=waits.pk).state == ExportState.GONE


def test_links_come_back_when_something_is_left(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    late = world.entry("Somebody prefers the quiet room")

    def link() -> None:
        kit.link(subject, "journal", late.id)

    # It is linked after its place was processed, and its text names nobody.
    _at(monkeypatch, "processes_flushed", link)
    from gdpr.verification import search

    def add_trace(_person: Any, _tokens: Any, report: Any, *_: Any) -> None:
        report.todo.append("Something is left.")

    with monkeypatch.context() as patched:
        patched.setattr(search, "search_bytes", add_trace)
        case = _run(world, subject)
    assert case.state == CaseState.PARTIAL
    assert SubjectLink.objects.filter(subject=subject, row_id=late.id).exists()
    assert subject.aliases.count() == 2
    assert sealed_names.get(case) is None
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    late.refresh_from_db()
    assert late.erased_at is not None


# ── People ───────────────────────────────────────────────────────────────────
def test_somebody_who_shares_the_name_stays_known(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    subject = erasing.maria(world)
    twin = erasing.subject(world, ("name", NAME), ("email", "twin@canary.example"))
    her_entry = world.entry("twin@canary.example rows on Sundays")
    case = _run(world, subject, verdict=Verdict.THEIRS)
    assert case.state in (CaseState.COMPLETE, CaseState.PARTIAL)
    twin.refresh_from_db()
    assert twin.aliases.filter(value=NAME).exists()
    her_entry.refresh_from_db()
    assert her_entry.erased_at is None
    assert "twin@canary.example" in her_entry.summary


def test_somebody_without_any_name_is_found_by_links(shared_world: World) -> None:
    world = shared_world
    subject = erasing.subject(world)
    row = world.entry("likes the window seat")
    kit.link(subject, "journal", row.id)
    case = _run(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    row.refresh_from_db()
    assert row.erased_at is not None


@pytest.mark.parametrize(
    ("kind", "value"), [("name", "an"), ("handle", "it"), ("pattern", "zanz*")]
)
def test_a_name_that_is_a_common_word_takes_only_what_names_it(
    shared_world: World, kind: str, value: str
) -> None:
    world = shared_world
    subject = erasing.subject(world, (kind, value))
    far = world.entry("Nobody here eats plain rice")
    case = _run(world, subject)
    # So short a name may occur in a server's catalogue: then the report says so.
    assert case.state in (CaseState.COMPLETE, CaseState.PARTIAL), erasing.failure_text(
        case
    )
    far.refresh_from_db()
    assert far.erased_at is None
    assert world.entry("Another plain line of text").erased_at is None


def test_a_restricted_person_can_be_erased(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    subject = erasing.maria(world)
    restriction.restrict(subject, by=world.actor("compliance"))
    case = _run(world, subject)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert JournalEntry.objects.get(pk=rows["mine"].pk).erased_at is not None
    assert kit.in_tables(MAIL) == {}


def test_an_unavailable_embedder_does_not_stop_an_erasure(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from episodic.embedders.base import EmbedderError, Reason
    from episodic.index import engine
    from episodic.vectors import stored

    world = shared_world
    rows = erasing.lived_in(world)
    [before] = stored.vectors(world.acme.id, [rows["both"].pk]).values()

    def down(*_: Any) -> Any:
        raise EmbedderError("out", Reason.UNREACHABLE)

    monkeypatch.setattr(engine.embedder(), "embed_documents", down)
    monkeypatch.setattr(engine.embedder(), "embed_query", down)
    case = _run(world, erasing.maria(world))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    for vector in stored.vectors(world.acme.id, [rows["both"].pk]).values():
        assert vector.tolist() != before.tolist()


# ── The second person, at every entry point ──────────────────────────────────
def _assert_refused(code: str, act: Callable[[], object]) -> None:
    with pytest.raises(errors.Conflict) as error:
        act()
    assert error.value.problem_code == code


def test_no_entry_point_runs_without_a_required_second_person(
    shared_world: World,
) -> None:
    world = shared_world
    by, second = world.actor("compliance"), world.actor("owner")
    subject = erasing.maria(world)
    erasing.lived_in(world)
    privacy_settings.change(
        privacy_settings.Change(two_person=True), by=world.actor("owner")
    )
    case = one_call.erase(MAIL, "She asked", by=by, **UNIDENTIFIED).case
    assert (case.subject_id, case.state) == (subject.pk, CaseState.PLANNED)
    plan_hash = case.plans.get().plan_hash
    phrase = cases.phrase(case, plan_hash)
    start = partial(erasure.start, case, plan_hash, phrase)
    _assert_refused("approval_required", lambda: start(by=by))
    _assert_refused("same_person", lambda: cases.approve(case, plan_hash, by=by))
    options = {"workspace": "acme", "reason": "She asked", "stdout": io.StringIO()}
    with pytest.raises(CommandError):
        call_command("gdpr_erase", MAIL, case=case.pk, phrase=phrase, **options)
    cases.approve(case, plan_hash, by=second)
    _assert_refused("same_person", lambda: start(by=second))
    assert erasure.sweep() == {"run": 0, "failed": 0}
    assert JournalEntry.objects.exclude(erased_at=None).count() == 0
    assert start(by=by).state == CaseState.RUNNING


# ── The erasures file ────────────────────────────────────────────────────────
def test_an_erasures_file_without_its_end_is_noticed(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    assert _run(world, erasing.maria(world)).state == CaseState.COMPLETE
    assert replay.state()["ok"]
    path = tombstones.path_of(world.acme.id)
    path.write_bytes(b"")
    assert replay.state() == {"ok": False, "behind": 0, "fault": readiness.TAIL_LOST}
    path.unlink()
    assert not replay.state()["ok"]


# ── Words of erased rows ─────────────────────────────────────────────────────
def test_words_are_kept_sealed_and_survive_what_a_crash_cut_off(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    sealed_names.resume_words(case)
    sealed_names.append_words(case, [WORD.encode(), b"\x00\xff\x01vector"])
    path = case_files.path_of(case, "words")
    content = path.read_bytes()
    assert WORD.encode() not in content
    path.write_bytes(content + content[:20])
    words = sealed_names.resume_words(case)
    assert words.strings == {WORD.encode(), b"\x00\xff\x01vector"}
    assert (words.runners, words.complete) == (2, True)
    assert "taken up again (1×)" in words.note()
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 1
    path.write_bytes(bytes(damaged))
    assert "damaged" in sealed_names.words(case).note()
    sealed_names.drop(case)
    assert not path.exists()
    assert sealed_names.words(case).note() == ""
