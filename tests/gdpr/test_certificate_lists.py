"""What a certificate lists, after real runs: each sentence beside what was done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from gdpr import erasure
from gdpr.certificates import identifiers, limits, statement
from gdpr.certificates import issue as certificates
from gdpr.data_map import registry
from gdpr.data_map.base import Trace
from gdpr.erasure import certified_facts, finish
from gdpr.matching import forms
from gdpr.models import Case, CaseKind, Certificate, Ground, Subject, Verdict
from gdpr.verification import postgres, read_paths, statements, write_ahead_log
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import Priority
from tests.gdpr import erasing, kit
from tests.gdpr import requests as make
from tests.gdpr.certified import content_of
from tests.gdpr.erasing import MAIL, NAME, OTHER
from tests.world import World

SURNAME = "Quintanilla"
Content = dict[str, Any]


@pytest.fixture(autouse=True)
def _server_that_empties_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a PostgreSQL server keeps: that depends on how it is set up."""
    of_servers = (postgres.SAMPLES, write_ahead_log.HELD, write_ahead_log.NOT_ROTATED)
    monkeypatch.setattr(limits, "INHERENT", (*limits.INHERENT, *of_servers))


def certified(world: World, person: Subject, **options: Any) -> Content:
    """Return what the certificate of an erasure says."""
    case = erasing.erased(world, person, **options)
    return content_of(Certificate.objects.get(case=case))


def run_to_end(case: Case) -> Content:
    erasure.run(case.workspace_id, case.pk)
    return content_of(Certificate.objects.get(case=case))


def codes(content: Content) -> list[str]:
    return [line["code"] for line in content["exceptions"]]


# ── A run that is complete ───────────────────────────────────────────────────
def test_it_lists_what_was_sought_and_where(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    person = erasing.maria(world)
    content = certified(world, person)
    certificate = Certificate.objects.get()
    assert (content["result"], content["verdict"]) == ("complete", "complete")
    assert content["statement"] == " ".join(
        [statement.ERASED.format(subject=person.id), statement.NOTHING_LEFT]
    )
    assert content["exceptions"] == content["kept"]["rows"] == []
    code = certificates.check_code(world.actor("compliance"), certificate)
    assert {line["digest"] for line in content["identifiers"]["list"]} == {
        identifiers.digest(code, "email", MAIL), identifiers.digest(code, "name", NAME)
    }  # fmt: skip
    lines = [form["code"] for form in content["forms"]]
    assert lines == [form.code for form in (*forms.WRITTEN, *forms.ENCODED)]
    assert content["residue"]["found"] == 0
    for word in (MAIL, NAME, erasing.WORD, "Otto"):
        assert word not in certificate.document


def test_each_place_of_the_data_map_is_listed_with_its_counts(
    shared_world: World,
) -> None:
    erasing.lived_in(shared_world)
    content = certified(shared_world, erasing.maria(shared_world))
    places = content["searched"]["places"]
    assert [(place["name"], place["title"]) for place in places] == [
        (holder.name, holder.title) for holder in registry.ALL
    ]
    counts = {place["name"]: place for place in places}
    for name, numbers in content["holders"].items():
        assert numbers.items() <= counts[name].items()
    assert counts["journal"]["deleted"] + counts["journal"]["redacted"] >= 2
    assert content["searched"]["files"] > 0
    assert content["searched"]["bytes_searched"] > 0


def test_the_reading_paths_are_those_that_are_searched(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    question: set[tuple[str, str]] = set()

    def watched(name: str, path: Any) -> Any:
        def read(person: Any, text: str, by: Any) -> Any:
            question.add((name, by.id))
            return path(person, text, by)

        return read

    paths = zip(statement.READING_PATHS, read_paths.READ_PATHS, strict=True)
    watchers = tuple(watched(form.code, path) for form, path in paths)
    monkeypatch.setattr(read_paths, "READ_PATHS", watchers)
    content = certified(shared_world, erasing.maria(shared_world))
    lines = content["searched"]["reading_paths"]
    assert {line["code"] for line in lines} == {name for name, _ in question}
    for name in ("journal_search", "recall"):
        assert len({by for path, by in question if path == name}) == 1 + 2
    assert read_paths.AGENTS == 5


# ── What is out of the search's reach ────────────────────────────────────────
def test_another_workspace_erases_for_itself(shared_world: World) -> None:
    world = shared_world
    their_words = world.entry(f"{MAIL} wrote", by="olga")
    content = certified(world, erasing.maria(world))
    assert content["verdict"] == "complete"
    assert limits.OTHER_WORKSPACES in _left_out(content)
    assert JournalEntry.objects.get(pk=their_words.pk).summary == f"{MAIL} wrote"


def test_what_nobody_registered_stays(shared_world: World) -> None:
    world = shared_world
    row = world.entry("mlq42@elsewhere.example asked about tents")
    content = certified(world, erasing.maria(world))
    assert content["verdict"] == "complete"
    assert limits.UNREGISTERED in content["does_not_prove"]
    row.refresh_from_db()
    assert "mlq42" in row.summary


def test_a_longer_word_stays(shared_world: World) -> None:
    world = shared_world
    person = erasing.subject(world, ("name", "Zorelle Quaxborg"))
    row = world.entry("xzorelle quaxborgzz is a word of nobody")
    content = certified(world, person)
    assert (content["result"], content["verdict"]) == ("complete", "complete")
    assert {limits.LONGER_WORDS, limits.SAME_BYTES} < {*content["does_not_prove"]}
    assert content["residue"]["shared"] > 0
    row.refresh_from_db()
    assert "quaxborgzz" in row.summary


def test_copies_elsewhere_and_memory_are_not_searched(
    shared_world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """This process holds the name, and a file outside does: both stay unseen."""
    copy = tmp_path_factory.mktemp("elsewhere") / "printed.txt"
    copy.write_text(f"{MAIL} {NAME}")
    content = certified(shared_world, erasing.maria(shared_world))
    assert content["verdict"] == "complete"
    assert {limits.COPIES, limits.MEDIUM} < {*content["does_not_prove"]}
    out_of_reach = {*registry.OUT_OF_REACH.values()} - {
        registry.OUT_OF_REACH["backups"]
    }
    assert {statements.PROCESSES, limits.MODELS} | out_of_reach <= _left_out(content)
    assert copy.read_text() == f"{MAIL} {NAME}"


def test_entries_that_were_not_touched_are_judged_elsewhere(
    shared_world: World,
) -> None:
    """A forged text of another entry leaves the certificate as it is."""
    world = shared_world
    row = world.entry("Otto asked for a tent")
    JournalEntry.objects.filter(pk=row.pk).update(summary="Otto asked for a boat")
    content = certified(world, erasing.maria(world))
    assert content["journal"]["ok"] is True
    assert certified_facts.UNTOUCHED in content["does_not_prove"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("erasure", "A restore applies this erasure again."),
        ("rectification", "A restore brings back the text as it was"),
    ],
)
def test_backups_are_named_with_their_day(world: World, kind: str, words: str) -> None:
    make.settings(world, backup_days=10)
    case = Case(kind=kind, workspace_id=world.acme.id)
    now = datetime(2026, 1, 25, 12, tzinfo=UTC)
    [line] = [
        line for line in limits.not_searched(case, now) if line["code"] == "backups"
    ]
    assert words in line["sentence"]
    assert "2026-02-04" in line["sentence"]


def _left_out(content: Content) -> set[str]:
    return {line["sentence"] for line in content["not_searched"]}


# ── What stays ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize("ground", Ground.values)
def test_a_row_kept_by_decision_is_counted_with_its_ground(
    shared_world: World, ground: str
) -> None:
    world = shared_world
    person = erasing.subject(world, ("email", MAIL), ("name", SURNAME))
    row = world.entry(f"Square of {SURNAME} is closed")
    case = erasing.opened(world, person)
    erasing.plan_and_decide(world, case, Verdict.SPARED, ground=ground)
    content = run_to_end(erasing.started(world, Case.objects.get(pk=case.pk)))
    assert (content["result"], content["verdict"]) == ("complete", "complete_except")
    assert content["statement"].startswith(
        statement.ERASED_EXCEPT.format(subject=person.id)
    )
    assert statement.DECIDED_ONE in content["statement"]
    assert content["kept"]["rows"] == [
        {"place": "journal", "code": ground, "rows": 1,
         "sentence": statement.GROUNDS[ground]}
    ]  # fmt: skip
    row.refresh_from_db()
    assert SURNAME in row.summary


def test_proposed_rows_are_counted_by_what_was_decided(shared_world: World) -> None:
    world = shared_world
    person = erasing.subject(world, ("email", MAIL), ("name", SURNAME))
    rows = [world.entry(f"{SURNAME} asked for tent {n}") for n in range(5)]
    case = erasing.opened(world, person)
    choice = [("journal", row.id) for row in rows[:3]]
    erasing.plan_and_decide(world, case, Verdict.SPARED, *choice)
    erasing.plan_and_decide(world, case, Verdict.THEIRS)
    content = run_to_end(erasing.started(world, Case.objects.get(pk=case.pk)))
    assert content["kept"]["proposed"] == {"rows": 5, "erased": 2, "kept": 3}
    assert statement.DECIDED.format(count=3) in content["statement"]


def test_a_sure_row_that_is_kept_was_not_proposed(shared_world: World) -> None:
    world = shared_world
    person = erasing.maria(world)
    row = world.entry(f"{MAIL} is in a lawsuit")
    case = erasing.opened(world, person)
    erasing.plan_and_decide(
        world, case, Verdict.SPARED, ("journal", row.id), ground="must_stay"
    )
    content = run_to_end(erasing.started(world, Case.objects.get(pk=case.pk)))
    assert content["kept"]["proposed"] == {"rows": 0, "erased": 0, "kept": 0}
    assert content["rows_spared"] == {"total": 1, "grounds": {"must_stay": 1}}


def test_an_account_that_is_kept_is_an_exception_with_its_reason(
    shared_world: World,
) -> None:
    world = shared_world
    operator = world.people["operator"]
    person = kit.subject(world, {"email": operator.email, "user_id": operator.id})
    journal.prioritise(world.entry(), Priority.PIN, "watch", by=world.actor("operator"))
    content = certified(world, person)
    assert (content["result"], content["verdict"]) == ("complete", "complete_except")
    assert codes(content) == ["kept_by_rule"]
    assert statement.BY_RULE.format(count=2) in content["statement"]
    rows = {line["place"]: line for line in content["kept"]["rows"]}
    assert rows.keys() == {"journal", "logins"}
    assert rows["logins"]["rows"] == content["holders"]["logins"]["kept"]
    # In how many entries it stands is not counted, and not said.
    assert rows["journal"]["rows"] is None
    for line in content["identifiers"]["list"]:
        assert "bytes" not in line["sought_in"], line["kind"]


def test_one_place_that_keeps_them(world: World) -> None:
    kept_rows = [
        statement.Kept("logins", "rule", "It is a login of this workspace.", 1)
    ]
    facts = make.facts(kept=kept_rows)
    content = content_of(certificates.issue(make.running(world), facts))
    assert statement.BY_RULE_ONE in content["statement"]


# ── A run that is not complete ───────────────────────────────────────────────
@pytest.mark.parametrize("traces", [1, 2])
def test_a_partial_one_says_what_is_left_and_what_to_do(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, traces: int
) -> None:
    def leave(_run: Any, report: Any) -> None:
        report.traces += [Trace("journal", f"j_{n}", "row") for n in range(traces)]
        report.todo.append(finish.BUSY)

    monkeypatch.setattr(finish, "search_all", leave)
    person = erasing.maria(shared_world)
    content = certified(shared_world, person)
    assert (content["result"], content["verdict"]) == ("partial", "partial")
    words = statement.TRACE if traces == 1 else statement.TRACES.format(count=traces)
    assert content["statement"] == " ".join(
        [statement.IN_PART.format(kind="erasure", subject=person.id), words,
         finish.BUSY, statement.RUN_AGAIN]
    )  # fmt: skip
    matches = {place["name"]: place["found"] for place in content["searched"]["places"]}
    assert matches["journal"] == traces == content["residue"]["found"]
    assert Case.objects.get().state == "partial", "the case stays open"


def test_a_partial_one_can_be_run_again(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    with monkeypatch.context() as patch:
        patch.setattr(
            finish, "search_all", lambda _run, report: report.todo.append(finish.BUSY)
        )
        case = erasing.erased(world, erasing.maria(world))
    assert case.state == "partial"
    second_answer = erasing.started(world, case)
    erasure.run(second_answer.workspace_id, second_answer.pk)
    assert Case.objects.get(pk=case.pk).state == "complete"


# ── Rectification, and other requests ────────────────────────────────────────
def test_a_rectification_lists_the_words_and_its_one_form(shared_world: World) -> None:
    world = shared_world
    row = world.indexed(f"{MAIL} lives in Timbuktuville")
    other = world.indexed(f"{OTHER} lives in Timbuktuville")
    person = erasing.maria(world)
    correction = {"wrong": "lives in Timbuktuville", "right": "lives in Oslo"}
    case = erasing.opened(world, person, CaseKind.RECTIFICATION, correction=correction)
    content = run_to_end(erasing.started(world, case))
    assert content["statement"] == " ".join(
        [statement.RECTIFIED.format(subject=person.id), statement.NOTHING_LEFT]
    )
    assert [form["code"] for form in content["forms"]] == ["correction"]
    code = certificates.check_code(world.actor("compliance"), Certificate.objects.get())
    [line] = content["identifiers"]["list"]
    assert line["digest"] == identifiers.digest(code, "correction", correction["wrong"])
    row.refresh_from_db()
    other.refresh_from_db()
    assert (row.summary, other.summary) == (
        f"{MAIL} lives in Oslo", f"{OTHER} lives in Timbuktuville",
    )  # fmt: skip


def test_a_rectification_with_an_exception(world: World) -> None:
    correction = {"wrong": "in Oslo", "right": "in Bergen"}
    case = make.running(world, kind="rectification", correction=correction)
    facts = make.facts(kept=statement.by_decision({("journal", "other"): 1}))
    content = content_of(certificates.issue(case, facts))
    assert content["statement"].startswith(
        statement.RECTIFIED_EXCEPT.format(subject=case.subject_ref)
    )


def test_another_request_states_no_more_than_that_it_was_carried_out() -> None:
    case = Case(kind="access", subject_ref="sub_1")
    reading = statement.of(case, {}, [], is_complete=True)
    assert reading.text == "The access of subject sub_1 was carried out."
    assert statement.sought_forms(case) == []


@pytest.mark.parametrize("count", [1, 2])
def test_an_identifier_too_short_to_be_sought_is_counted(count: int) -> None:
    [line] = statement.exceptions([], [], count)
    assert str(line["sentence"]).startswith(f"{count} registered identifier")


# ── Identity ─────────────────────────────────────────────────────────────────
def test_a_verified_identity(world: World) -> None:
    case = Case(identity_at=timezone.now())
    assert statement.identity(case)["sentence"] == statement.VERIFIED
    assert statement.identity(Case())["sentence"] == statement.NOT_VERIFIED


@pytest.mark.parametrize("ground", statement.IDENTITY_GROUNDS)
def test_a_reason_for_not_verifying_is_never_quoted(ground: str) -> None:
    case, reason = Case(), f"{NAME} told me on the phone"
    vars(case).update(identity_skipped_reason=reason, identity_skipped_ground=ground)
    identity = statement.identity(case)
    assert (identity["code"], identity["ground"]) == ("reason_given", ground)
    assert statement.REASON_GIVEN in identity["sentence"]
    assert statement.IDENTITY_GROUNDS[ground] in identity["sentence"]
    assert NAME not in str(identity)
