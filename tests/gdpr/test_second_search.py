"""The final search reads every row again, and finds what the first search missed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection

from gdpr import erasure
from gdpr.cases import decided_rows, dry_run, queries
from gdpr.cases import workflow as cases
from gdpr.data_map import registry
from gdpr.data_map.base import SAMPLE_CHARS, Person
from gdpr.matching import patterns
from gdpr.matching.matcher import Matcher
from gdpr.models import Case, CaseState, Verdict
from gdpr.verification import raw_columns, raw_rows, second_search
from gdpr.verification.report import Report
from memory.models import JobRun, JournalEntry, WorkspaceSetting
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL, NAME, OTHER
from tests.world import World


def _maria(world: World) -> Person:
    """Return the person as a run has them: no table names them any more."""
    subject = erasing.maria(world)
    person = registry.person(subject)
    subject.delete()
    return person


def _report(world: World, person: Person | None = None) -> Report:
    report = Report()
    second_search.search(person or _maria(world), report)
    return report


def _places(report: Report) -> list[str]:
    return [trace.place for trace in report.traces]


def test_a_form_that_the_first_matcher_misses_makes_the_result_partial(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = shared_world.entry(f"{NAME} was here")
    case = erasing.opened(shared_world, erasing.maria(shared_world))

    with monkeypatch.context() as patched:
        _blind(patched)
        erasing.started(shared_world, case)
        erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.PARTIAL
    traces = case.result["residue"]["traces"]
    assert {
        "place": "journal",
        "where": f"journal_entries {row.id}",
        "what": second_search.BY_SECOND,
    } in traces
    assert NAME not in str(case.result)


def test_a_column_that_nobody_declared_is_read(shared_world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE foreign_notes (id integer, said text)")
        cursor.execute("INSERT INTO foreign_notes VALUES (7, %s)", [f"about {MAIL}"])
    try:
        (trace,) = _report(shared_world).traces
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE foreign_notes")
    assert trace.where.startswith("foreign_notes ")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's tables")
def test_a_table_without_rowid_is_read(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_columns, "BATCH", 2)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE foreign_notes (id TEXT, part INTEGER, said TEXT,"
            " PRIMARY KEY (id, part)) WITHOUT ROWID"
        )
        for key, reading in (
            ("a", "x"),
            ("b", "x"),
            ("c", f"about {MAIL}"),
            ("d", "x"),
        ):
            cursor.execute(
                "INSERT INTO foreign_notes VALUES (%s, 1, %s)", [key, reading]
            )
    try:
        (trace,) = _report(shared_world).traces
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE foreign_notes")
    assert trace.where == "foreign_notes c"


def test_in_what_programs_fill_a_name_counts_only_as_it_is_registered(
    shared_world: World,
) -> None:
    def run(slot: str, note: str) -> JobRun:
        return JobRun.objects.create(
            workspace=shared_world.acme,
            name="episodic.index.decay",
            slot=slot,
            counts={"note": note},
        )

    run("turned", "note: Lopez-Quintanilla, Maria")
    row = run("plain", f"note: {NAME}")
    (trace,) = _report(shared_world).traces
    assert (trace.place, trace.row_id) == ("jobs", str(row.pk))


@pytest.mark.parametrize(
    ("verdict", "is_left"), [(Verdict.SPARED, True), (Verdict.THEIRS, False)]
)
def test_a_row_that_only_the_second_finds_is_decided_in_the_next_plan(
    shared_world: World,
    monkeypatch: pytest.MonkeyPatch,
    verdict: Verdict,
    is_left: bool,
) -> None:
    row = shared_world.entry(f"{NAME} was here")
    case = erasing.opened(shared_world, erasing.maria(shared_world))

    with monkeypatch.context() as patched:
        _blind(patched)
        erasing.started(shared_world, case)
        erasure.run(case.workspace_id, case.pk)
        plan = erasing.planned(shared_world, Case.objects.get(pk=case.pk))
        assert dry_run.doubts(plan)["ids"] == {"journal": [row.id]}
        plan = erasing.plan_and_decide(shared_world, case, verdict)
        fresh = Case.objects.get(pk=case.pk)
        phrase = cases.phrase(fresh, plan.plan_hash)
        by = shared_world.actor("compliance")
        erasure.start(fresh, plan.plan_hash, phrase, by=by)
        erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert (JournalEntry.objects.get(pk=row.pk).erased_at is None) is is_left


def _blind(patched: pytest.MonkeyPatch) -> None:
    """Let the first matcher find no name."""
    patched.setitem(patterns._MAKERS, "name", lambda _value: None)
    patched.setattr(Matcher, "_index_forms", lambda *_: None)


def test_every_row_that_only_the_second_finds_is_offered_with_a_sample(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gdpr.verification.report.MAX_TRACES", 1)
    erasing.otto(shared_world)
    rows = [
        shared_world.entry("Late. " * 100 + f"On {day} {NAME} was here with {OTHER}")
        for day in ("Monday", "Tuesday", "Friday")
    ]
    file = shared_world.file(f"Ask {NAME} about it.")
    case = erasing.opened(shared_world, erasing.maria(shared_world))
    with monkeypatch.context() as patched:
        _blind(patched)
        erasing.started(shared_world, case)
        erasure.run(case.workspace_id, case.pk)
        case.refresh_from_db()
        assert len(case.result["residue"]["traces"]) == 1
        plan = erasing.planned(shared_world, case)
    texts = {row["id"]: row["text"] for row in dry_run.doubts(plan)["rows"]}
    assert texts.keys() == {*(row.id for row in rows), file.id}
    for row_id, text in texts.items():
        assert NAME in text, row_id
        assert OTHER not in text, row_id
        assert len(text) <= SAMPLE_CHARS
    assert decided_rows.ONLY_SECOND not in str(
        queries.cases_json(shared_world.actor("compliance"), [case])
    )


def test_a_memory_file_is_read(shared_world: World) -> None:
    file = shared_world.file(f"Ask {NAME}.")
    report = _report(shared_world)
    assert (file.id, second_search.BY_SECOND) in {
        (trace.row_id, trace.description) for trace in report.traces
    }
    assert "files" in _places(report)


def test_a_file_of_the_workspace_without_a_row_is_read(shared_world: World) -> None:
    slug = shared_world.acme.slug
    path = Path(settings.DATA_DIR) / "files" / slug / "stray.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("MariaLopezQuintanilla")
    assert _places(_report(shared_world)) == ["files"]


def test_rows_of_another_workspace_are_not_hers(shared_world: World) -> None:
    row = shared_world.entry(f"{NAME} is somebody else here")
    JournalEntry.objects.filter(pk=row.pk).update(workspace_id=shared_world.other.id)
    assert _report(shared_world).traces == []


def test_a_row_kept_by_decision_is_no_trace(shared_world: World) -> None:
    row = shared_world.entry(f"{NAME} was here")
    person = _maria(shared_world)
    assert _places(_report(shared_world, person)) == ["journal"]
    spared_ids = {"journal": frozenset({row.id})}
    person = dataclasses.replace(person, spared_rows=spared_ids)
    assert _report(shared_world, person).traces == []


def test_a_column_that_is_kept_for_a_reason_is_no_trace(shared_world: World) -> None:
    WorkspaceSetting.objects.create(
        workspace=shared_world.acme, name="test", value=MAIL, changed_by="test"
    )
    report = _report(shared_world)
    assert report.traces == []
    assert second_search.LOGINS in report.remains


def test_somebody_with_the_same_name_is_nobodys_trace(shared_world: World) -> None:
    erasing.subject(shared_world, ("name", NAME))
    shared_world.entry(f"{NAME} was here")
    assert _report(shared_world).traces == []


def test_what_the_first_search_found_is_counted_once(shared_world: World) -> None:
    row = shared_world.entry(f"{NAME} was here")
    person = _maria(shared_world)
    report = Report()
    report.traces += registry.by_name("journal").verify(person)
    second_search.search(person, report)
    assert [trace.where for trace in report.traces] == [row.id]


@pytest.mark.django_db
def test_every_table_of_the_models_is_read() -> None:
    labels = {m._meta.db_table for m in apps.get_models(include_auto_created=True)}
    assert labels <= {table.name for table in raw_rows.tables()}


def test_the_report_says_how_many_rows_were_read(shared_world: World) -> None:
    shared_world.entry("one")
    report = _report(shared_world)
    assert report.rows > 0
    (sentence,) = report.methods
    assert sentence.startswith(f"{report.rows} rows of {report.tables} tables")
    assert second_search.ACTED in report.remains


def test_a_plan_without_reported_rows_reads_no_table_raw(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def tables() -> list[raw_rows.RawTable]:
        reads.append("read")
        return []

    monkeypatch.setattr(raw_rows, "tables", tables)
    case = erasing.opened(shared_world, erasing.maria(shared_world))
    dry_run.make(case, by=shared_world.actor("compliance"))
    assert reads == []
