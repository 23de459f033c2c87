"""Unused bytes of pages are zeroed, rows and their order stay; else VACUUM."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdpr import erasure
from gdpr.data_map import registry
from gdpr.erasure import failpoints
from gdpr.models import Case, CaseState
from gdpr.verification import file_scan, sqlite, sqlite_gaps, sqlite_pages
from gdpr.verification.byte_search import Finder
from gdpr.verification.sqlite_pages import LEAF_TABLE
from tests import processes
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL
from tests.world import World

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("shared_world")]

WORD = b"zanzibarquokkafeather"


def _database() -> bytes:
    name = str(connection.settings_dict["NAME"])
    path = next(path for path in file_scan.files() if str(path) == name)
    return processes.bytes_of(path)


def _run(sql: str, rows: Any = None) -> list[Any]:
    with connection.cursor() as cursor:
        if rows is None:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []
        cursor.executemany(sql, rows)
    return []


FREE_COLUMNS = (
    "kind varchar",
    'kind integer CHECK ("kind" >= 0)',
    'kind text CHECK ((JSON_VALID("kind") OR "kind" IS NULL))',
)


def _shuffled_table(sizes: list[int], seed: int, free: str = "kind varchar") -> None:
    """Make a table whose rows moved between pages, and delete half of them.

    The rows to be deleted begin with a word; only the column ``free`` can be changed.
    """
    rng = random.Random(seed)
    _run("DROP TABLE IF EXISTS gap_notes")
    body = "body TEXT CHECK (length(body) < 99999)"
    _run(f"CREATE TABLE gap_notes (id INTEGER PRIMARY KEY, {free}, {body})")
    with transaction.atomic():
        numbers = range(len(sizes))
        _run("INSERT INTO gap_notes VALUES (%s, %s, '')", [(n, n * n) for n in numbers])
        rows = [(_text(n, size), n) for n, size in enumerate(sizes)]
        rng.shuffle(rows)
        _run("UPDATE gap_notes SET body = %s WHERE id = %s", rows)
        _run("UPDATE gap_notes SET kind = NULL WHERE id %% 3 = 0", [()])
        _run("DELETE FROM gap_notes WHERE id %% 2 = 1", [()])
    sqlite.checkpoint()


def _text(number: int, size: int) -> str:
    word = WORD.decode() if number % 2 else "somebody"
    return f"{word}{number} ".ljust(size, "é")


# ── Tables ───────────────────────────────────────────────────────────────────
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(st.integers(30, 300), st.integers(900, 9_000)),
        min_size=40,
        max_size=160,
    ),
    st.integers(0, 999),
    st.sampled_from(FREE_COLUMNS),
)
def test_no_deleted_row_is_left_and_every_other_row_stays(
    sizes: list[int], seed: int, free: str
) -> None:
    _shuffled_table(sizes, seed, free)
    read = "SELECT rowid, typeof(kind), kind, typeof(body), body FROM gap_notes"
    before = _run(read)
    sqlite_gaps.zero([WORD], [])
    assert sqlite.checkpoint()[0] == 0
    assert WORD not in _database()
    assert _run(read) == before
    assert _run("PRAGMA integrity_check") == [("ok",)]


def test_a_page_is_clean_after_it_was_zeroed() -> None:
    _shuffled_table([random.Random(n).randint(30, 5_000) for n in range(200)], 3)
    assert _dirty("gap_notes") > 0
    assert sqlite_gaps.zero([], []).pages > 0
    sqlite.checkpoint()
    assert _dirty("gap_notes") == 0


def _dirty(table: str) -> int:
    survey, names = sqlite_gaps._survey(Finder([]))
    return sum(
        page.kind == LEAF_TABLE and names.get(number) == table
        for number, page in survey.dirty.items()
    )


def test_a_mistaken_hint_changes_no_row() -> None:
    """The file may have changed since it was read: another page, other sizes."""
    _shuffled_table([200] * 80, 5)
    survey, names = sqlite_gaps._survey(Finder([WORD]))
    pages = [page for n, page in survey.dirty.items() if names.get(n) == "gap_notes"]
    _run("UPDATE gap_notes SET body = body || body || body")
    before = _run("SELECT * FROM gap_notes")
    sqlite_gaps._fill_pages("gap_notes", pages, lambda: None)
    assert _run("SELECT * FROM gap_notes") == before
    assert _run("PRAGMA integrity_check") == [("ok",)]


def test_every_table_of_a_holder_has_a_column_that_can_be_lengthened() -> None:
    """Otherwise its pages could be cleaned by a full rewrite only."""
    tables = {*_holder_tables(), "journal_fts_data", "chunks_fts_data"}
    without = {table for table in tables if sqlite_gaps.column_of(table) is None}
    assert without == WITHOUT_COLUMN


def _holder_tables() -> list[str]:
    labels = {label for holder in registry.ALL for label in holder.tables}
    return sorted(apps.get_model(label)._meta.db_table for label in labels)


def _fill_copy(table: str) -> None:
    """Make a copy of a table whose texts moved, and delete every other row.

    Its conditions and references are not checked: the values are made up.
    """
    ((sql,),) = _run(f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
    _run(sql.replace(f'"{table}"', f'"gaps_of_{table}"', 1))
    columns = [(row[1], row[2].upper()) for row in _run(f"PRAGMA table_info({table})")]
    texts = [name for name, kind in columns if kind.startswith(("VAR", "TEXT", "BLOB"))]
    # Foreign keys and keys of numbers have numbers.
    places = ", ".join(["%s"] * len(columns))
    with transaction.atomic():
        rows = [(n,) * len(columns) for n in range(120)]
        _run(f'INSERT INTO "gaps_of_{table}" VALUES ({places})', rows)
        for name in texts:
            values = [(_json_text(n, name), n) for n in range(120)]
            sql = f'UPDATE "gaps_of_{table}" SET "{name}" = %s WHERE rowid = %s + 1'
            _run(sql, random.Random(name).sample(values, len(values)))
        _run(f'DELETE FROM "gaps_of_{table}" WHERE rowid %% 2 = 0', [()])


def _json_text(number: int, column: str) -> str:
    word = WORD.decode() if number % 2 else "somebody"
    size = random.Random(f"{column}{number}").randint(40, 700)
    return f'"{word}{number}{"x" * size}"'


def test_every_table_that_is_erased_from_is_clean_afterwards() -> None:
    tables = [table for table in _holder_tables() if table not in WITHOUT_COLUMN]
    _run("PRAGMA foreign_keys = OFF")
    _run("PRAGMA ignore_check_constraints = ON")
    try:
        for table in tables:
            _fill_copy(table)
    finally:
        _run("PRAGMA ignore_check_constraints = OFF")
        _run("PRAGMA foreign_keys = ON")
    sqlite.checkpoint()
    assert WORD in _database()
    sqlite_gaps.zero([WORD], [WORD])
    sqlite.checkpoint()
    assert WORD not in _database()
    for table in tables:
        _run(f'DROP TABLE "gaps_of_{table}"')


# Every column is in an index.
WITHOUT_COLUMN = {"account_emailaddress"}


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("CREATE TABLE t (a TEXT, b TEXT CHECK (length(b) > 0))", "a"),
        ("CREATE TABLE t (a TEXT UNIQUE, b TEXT, c INTEGER)", "b"),
        ("CREATE TABLE t (a TEXT, b TEXT GENERATED ALWAYS AS (upper(a)))", None),
        ("CREATE TABLE t (a TEXT REFERENCES agents (id), b BLOB)", "b"),
        ('CREATE TABLE t ("a" INTEGER CHECK ("a" >= 0), b REAL)', "a"),
        ('CREATE TABLE t ("a" TEXT CHECK ((JSON_VALID("a") OR "a" IS NULL)))', "a"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY, b REAL)", None),
    ],
)
def test_a_column_is_lengthened_only_where_nothing_depends_on_it(
    sql: str, column: str | None
) -> None:
    _run("DROP TABLE IF EXISTS gap_columns")
    _run(sql.replace("TABLE t ", "TABLE gap_columns "))
    assert _column() == column


def _column() -> str | None:
    column = sqlite_gaps.column_of("gap_columns")
    return column.name if column else None


def test_a_column_of_a_trigger_or_a_condition_of_an_index_is_left_alone() -> None:
    _run("DROP TABLE IF EXISTS gap_columns")
    _run("CREATE TABLE gap_columns (a TEXT, b TEXT, c TEXT)")
    _run("CREATE INDEX gap_index ON gap_columns (rowid) WHERE a IS NULL".replace(
        "(rowid)", "(upper(c))"
    ))  # fmt: skip
    body = "BEGIN SELECT raise(ABORT, 'changed'); END"
    _run(f"CREATE TRIGGER gap_b AFTER UPDATE OF b ON gap_columns {body}")
    assert _column() is None
    _run("DROP TRIGGER gap_b")
    assert _column() == "b"
    _run(f"CREATE TRIGGER gap_all AFTER UPDATE ON gap_columns {body}")
    assert _column() is None


# ── Indexes ──────────────────────────────────────────────────────────────────
def test_a_name_in_the_unused_bytes_of_an_index_goes() -> None:
    _run("DROP TABLE IF EXISTS gap_names")
    _run("CREATE TABLE gap_names (id INTEGER PRIMARY KEY, name TEXT)")
    _run("CREATE INDEX gap_names_name ON gap_names (name)")
    rng = random.Random(2)
    rows = [
        (f"{n:04} {MAIL if n % 5 == 0 else 'x'}".ljust(rng.randrange(40, 300), "."),)
        for n in rng.sample(range(5_000), 5_000)
    ]
    _run("INSERT INTO gap_names (name) VALUES (%s)", rows)
    _run("DELETE FROM gap_names WHERE name LIKE '%%@%%'", [()])
    sqlite.checkpoint()
    assert MAIL.encode() in _database()
    zeroed = sqlite_gaps.zero([], {MAIL.encode()})
    assert "gap_names_name" in zeroed.indexes
    sqlite.checkpoint()
    assert MAIL.encode() not in _database()


# ── The file format ──────────────────────────────────────────────────────────
@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_variable_length_are_read(value: int) -> None:
    size = sqlite_pages.varint_size(value)
    parts = [value >> 7 * n & 0x7F for n in range(size)][::-1]
    if size == 9:
        high = value >> 8
        parts = [high >> 7 * n & 0x7F for n in range(8)][::-1]
        data = bytes([part | 0x80 for part in parts]) + bytes([value & 0xFF])
    else:
        data = bytes([part | 0x80 for part in parts[:-1]] + parts[-1:])
    assert sqlite_pages.varint(data, 0) == (value, size)


# ── The last resort ──────────────────────────────────────────────────────────
def _case(world: World) -> Case:
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    erasing.leave_bytes()
    return case


def test_bytes_that_are_left_end_in_a_full_rewrite(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = _case(shared_world)
    steps: list[tuple[str, int]] = []

    page = shared_world.page("compliance")

    def note(name: str) -> None:
        if name == "rewriting":
            answer = page.get(f"/privacy/cases/{case.pk}/").content.decode()
            assert "whole database is being rewritten" in answer
        step = case.steps.filter(name="residue").first()
        steps.append((name, step.counts.get("rewriting", 0) if step else 0))

    monkeypatch.setattr(failpoints, "step", note)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert ("rewriting", 1) in steps, "writers are told before they wait"
    assert ("rewritten", 0) in steps
    assert sqlite.REWRITTEN in case.result["residue"]["methods"]
    assert WORD not in _database()


def test_a_disk_too_full_for_a_rewrite_makes_the_result_partial(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = _case(shared_world)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4_096))
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.PARTIAL
    (sentence,) = case.result["residue"]["todo"]
    assert "the disk is too full" in sentence
    monkeypatch.undo()
    erasure.run(case.workspace_id, erasing.started(shared_world, case).pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)


def test_a_database_in_use_is_not_rewritten() -> None:
    name = str(connection.settings_dict["NAME"])
    with (
        closing(sqlite3.connect(name, isolation_level=None)) as writer,
        sqlite._patience(0),
    ):
        writer.execute("BEGIN IMMEDIATE")
        assert sqlite.rewrite() == sqlite.IN_USE
        writer.execute("ROLLBACK")
    assert sqlite.rewrite() == ""


def test_a_large_database_is_copied_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    question: list[str] = []

    def disk_usage(folder: Any) -> SimpleNamespace:
        question.append(str(folder))
        return SimpleNamespace(free=1 << 40)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    monkeypatch.setattr(sqlite, "MEMORY_BYTES", 0)
    before = _run("PRAGMA temp_store")
    assert sqlite.rewrite() == ""
    assert len(question) == 2
    assert _run("PRAGMA temp_store") == before
