"""What an import stores in English has words in the reader's language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from memory import journal_import, journal_upload
from memory.accounts import workspaces
from memory.jobs import import_faults, words
from memory.journal_import import Line
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import system

GOOD = {"entry_type": "peer.escalation", "summary": "The till is stuck"}
BAD: list[Any] = [
    {**GOOD, "colour": "red"},
    {"summary": "x"},
    {"entry_type": "a.b"},
    {**GOOD, "summary": "  "},
    {**GOOD, "summary": "\0"},
    {**GOOD, "summary": "x" * 100_000},
    {**GOOD, "entry_type": "Loud"},
    {**GOOD, "severity": "panic"},
    {**GOOD, "payload": []},
    {**GOOD, "payload": {"a": "\0"}},
    {**GOOD, "payload": {"a": "\ud800"}},
    {**GOOD, "payload": {"a": "x" * 2_000_000}},
    {**GOOD, "payload": {"a": json.loads("[" * 99 + "]" * 99)}},
    {**GOOD, "subjects": "ann"},
    {**GOOD, "subjects": [""]},
    {**GOOD, "subjects": ["ann"] * 1_000},
    {**GOOD, "mission_id": "x" * 1_000},
    {**GOOD, "ts": 12},
    {**GOOD, "ts": "soon"},
    {**GOOD, "ts": "2026-01-01T00:00:00"},
    {**GOOD, "ts": "2226-01-01T00:00:00Z"},
    {**GOOD, "ts": "0026-01-01T00:00:00Z"},
    {**GOOD, "agent": "rhea"},
    {**GOOD, "crew": "nowhere"},
    {**GOOD, "crew": "till", "agent": "nobody"},
    [GOOD],
    b"{",
    b'{"a"}',
    b'{"a": 1 "b"}',
    b'{"a": 1} {}',
    b"{1: 2}",
    b'{"a": "',
    b'{"a": "\t"}',
    b'{"a": "\\x"}',
    b'{"a": "\\u12"}',
    b"\xef\xbb\xbf{}",
    b"\xff{}",
    b'{"summary": "a", "summary": "b"}',
    b'{"entry_type": NaN}',
    b'{"n": ' + b"9" * 5_000 + b"}",
    b"[" * 100_000,
]


def line(number: int, row: Any) -> Line:
    raw = row if isinstance(row, bytes) else json.dumps(row).encode()
    return Line(number, len(raw), raw)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translate what is marked as a fault, by a mark, and nothing else."""
    known = {*import_faults.FAULTS, *words.FAULTS, "the disk is away"}
    monkeypatch.setattr(
        "memory.rules.stored_sentences.gettext",
        lambda text: f"*{text}" if text in known else text,
    )


@pytest.mark.usefixtures("marked")
@pytest.mark.django_db
@pytest.mark.parametrize("create", [False, True])
def test_every_reason_of_a_refused_line_has_words(create: bool) -> None:
    shop: Workspace = workspaces.ensure_workspace("import-shop")[0]
    by = system(shop.id, "import")
    workspaces.ensure_crew("till", by=by)
    slugs = [{**GOOD, "crew": "No slug"}, {**GOOD, "crew": "till", "agent": "No slug"}]
    rows = [*slugs, *BAD] if create else BAD
    faults: list[str] = []
    journal_import.append(
        [*(line(n, row) for n, row in enumerate(rows)), Line(99, 5_000_000, None)],
        by=by,
        on_refusal=lambda _number, why: faults.append(why),
        create=create,
        quotes=False,
    )
    assert len(faults) >= len(BAD) - 1
    wordless = [why for why in faults if import_faults.worded(why) == why]
    assert wordless == []


@pytest.mark.usefixtures("marked")
@pytest.mark.parametrize(
    "row", [row for row in BAD if isinstance(row, bytes) and row[:1] == b"{"]
)
def test_what_is_wrong_with_json_has_words(row: bytes) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        journal_import.checked(line(1, row), "ws_none")
    assert import_faults.worded(refusal.value.detail).count("*") in (
        (2,) if "not JSON: " in refusal.value.detail else (1,)
    )


@pytest.mark.usefixtures("marked")
def test_a_reason_of_two_parts_has_words_for_both() -> None:
    assert import_faults.worded("not JSON: Expecting value") == (
        "*not JSON: *Expecting value"
    )
    assert import_faults.worded("ts is required and is text") == (
        "*ts is required and is text"
    )
    assert import_faults.worded("something else") == "something else"


@pytest.mark.usefixtures("marked")
def test_lines_of_a_run_are_worded() -> None:
    items = [{"kind": "line", "id": "3", "why": "unknown field"}]
    assert journal_upload.lines("", items)[0].why == "*unknown field"


@pytest.mark.usefixtures("marked")
@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("Some lines were refused", "*Some lines were refused"),
        (
            errors.Unavailable(reason="the disk is away").detail,
            "*Not available now: *the disk is away.",
        ),
    ],
)
def test_faults_of_a_run_have_words(stored: str, shown: str) -> None:
    assert words.fault(stored) == shown


def test_what_an_import_counts_and_its_unit_have_words() -> None:
    assert {"appended", "refused", "lines_dropped"} <= set(words.COUNTED)
    assert "lines" in words.UNITS
    template = Path(settings.BASE_DIR) / "templates" / "_work_bar.html"
    text = template.read_text(encoding="utf-8")
    assert [unit for unit in words.UNITS if f'unit == "{unit}"' not in text] == []
