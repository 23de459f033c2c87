"""Rows of an export as sentences."""

from __future__ import annotations

import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from gdpr.data_map import export_columns, registry
from gdpr.data_map.table_holder import TableHolder
from gdpr.export.labels import LABELS
from gdpr.export.readable import reading
from gdpr.export.readable.enums import ENUMS
from gdpr.export.readable.kinds import names_in
from gdpr.export.readable.reading import Reading
from gdpr.export.readable.values import Wording
from memory.rules.entries import ActorType, Priority, Severity
from memory.rules.permissions import Role
from memory.rules.tiers import Tier
from tests.gdpr import bundle_pages

NAMES = {"a_1": "Riko", "c_1": "Checkout"}
WORDING = Wording(ZoneInfo("Europe/Berlin"), NAMES)
AT = "2026-03-03T13:02:00.000Z"
OWNED = {"agent_id": "a_1", "crew_id": "c_1"}


def read(place: str, row_id: str = "1", /, **columns: Any) -> Reading:
    return reading.of({"place": place, "id": row_id, **columns}, WORDING)


def sentence(place: str, row_id: str = "1", /, **columns: Any) -> str:
    return strip_tags(read(place, row_id, **columns).sentence)


@pytest.mark.parametrize(
    ("place", "columns", "words"),
    [
        (
            "journal",
            {"ts": AT, "actor_type": "agent", **OWNED},
            "On 3 March 2026 at 14:02 the agent Riko of the crew Checkout noted:",
        ),
        (
            "journal",
            {"ts": AT, "actor_type": "agent", "agent_id": "a_1"},
            "On 3 March 2026 at 14:02 the agent Riko noted:",
        ),
        (
            "journal",
            {"ts": AT, "actor_type": "agent", "agent_id": "gone"},
            "On 3 March 2026 at 14:02 an agent noted:",
        ),
        (
            "journal",
            {"ts": AT, "actor_type": "user"},
            "On 3 March 2026 at 14:02 a member of this workspace noted:",
        ),
        (
            "journal",
            {"ts": AT, "actor_type": "keeper"},
            "On 3 March 2026 at 14:02 the program itself noted:",
        ),
        (
            "records",
            {"created_at": AT, **OWNED},
            "On 3 March 2026 at 14:02 the agent Riko of the crew Checkout remembered:",
        ),
        (
            "recall_log",
            {"asked_at": AT, "question": "Who?", "agent_id": "a_1"},
            "On 3 March 2026 at 14:02 the agent Riko asked the memory:",
        ),
        (
            "cases",
            {"received_at": AT, "kind": "access"},
            "Received on 3 March 2026 at 14:02: a request for a copy of data.",
        ),
        (
            "priorities",
            {"set_at": AT, "set_by": "olga", "priority": "pin"},
            (
                "On 3 March 2026 at 14:02 olga set how important a journal entry is:"
                " pinned."
            ),
        ),
        (
            "sessions",
            {"expires_at": AT},
            (
                "A browser session names you or your account; it is valid until 3 March"
                " 2026 at 14:02 at most."
            ),
        ),
        ("a_place_of_tomorrow", {}, "This names you, or was noted of you:"),
    ],
)
def test_a_row_is_a_sentence(place: str, columns: dict[str, Any], words: str) -> None:
    assert sentence(place, **columns) == words


def test_words_of_the_program_are_words_and_their_codes_are_for_programs() -> None:
    row = read("journal", ts=AT, severity="warn", priority="normal", seq=7)
    assert row.details == [("weight", "warning")]
    assert dict(row.technical) == {
        "id": "1",
        "weight": "warn",
        "priority": "normal",
        "number in the journal": "7",
    }


def test_nested_values_are_lines_with_their_way() -> None:
    payload = {
        "order": {"customer_name": "Elin", "items": ["cup", "pot"]},
        "paid": True,
    }
    assert read("journal", ts=AT, payload=payload).details == [
        ("order › customer name", "Elin"),
        ("order › items › 1", "cup"),
        ("order › items › 2", "pot"),
        ("paid", "yes"),
    ]


def test_json_within_a_text_is_lines_too() -> None:
    row = read("records", created_at=AT, content='{"likes": "tea"}')
    assert row.quotes == []
    assert ("content › likes", "tea") in row.details


def test_versions_of_a_file_are_the_newest_first_and_the_others_folded() -> None:
    versions = [
        {"number": number, "written_at": AT, "written_by": "riko", "source": "tool",
         "note": "", "text": f"text {number}"}
        for number in (1, 2)
    ]  # fmt: skip
    row = read("files", path="a.md", updated_at=AT, versions=versions)
    assert [(quote.text, quote.folded) for _, quote in row.quotes] == [
        ("text 2", False),
        ("text 1", True),
    ]
    heading = strip_tags(row.quotes[0][0])
    assert heading == "Version 2, 3 March 2026 at 14:02, written by riko (tool)"


# ── Every kind of row ────────────────────────────────────────────────────────
def test_every_table_that_an_export_reads_has_a_sentence() -> None:
    missing_kinds = []
    for holder in registry.ALL:
        if holder.derived:
            continue
        keys = [holder.name]
        if isinstance(holder, TableHolder):
            keys += [
                f"{holder.name}:{table.key}"
                for table in holder.declarations[1:]
                if table.words or table.labels or table.keeps or table.facts
            ]
        missing_kinds += [key for key in keys if key not in reading.KINDS]
    assert missing_kinds == [], "say what these rows are, in gdpr/export/readable/"


def test_every_column_of_an_export_has_a_name() -> None:
    columns = {
        name
        for holder in registry.ALL
        if isinstance(holder, TableHolder) and not holder.derived
        for table in holder.declarations
        for name in (
            *table.words, *table.labels, *table.keeps, *table.facts,
            *export_columns.of(table.label),
        )
    }  # fmt: skip
    assert sorted(columns - set(LABELS)) == [], "name these in gdpr/export/labels.py"


def test_the_last_message_of_a_kind_needs_what_its_rows_always_have() -> None:
    """A column that may be empty needs another message after it."""
    may_be_empty = {"agent", "crew", "asked_by", "actor_label", "written_by"}
    for key, kind in reading.KINDS.items():
        names = set(names_in(kind.messages[-1]))
        assert not names & may_be_empty, key
        assert "when" not in names or kind.at, key


def test_every_word_of_the_program_has_a_meaning() -> None:
    for column, members in (
        ("severity", Severity),
        ("priority", Priority),
        ("actor_type", ActorType),
        ("role", Role),
        ("tier", Tier),
    ):
        assert {str(member) for member in members} <= set(ENUMS[column])


VALUES = st.recursive(
    st.text(max_size=12) | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    place=st.sampled_from(sorted({key.partition(":")[0] for key in reading.KINDS})),
    row=st.dictionaries(
        st.sampled_from(
            ["summary", "content", "payload", "reason", "text", "kind", "x"]
        ),
        VALUES,
    ),
)
def test_no_text_of_any_row_is_lost(place: str, row: dict[str, Any]) -> None:
    versions: dict[str, Any] = {"versions": []} if place == "files" else {}
    whole = reading.of({"place": place, "id": "1", **row, **versions}, WORDING)
    parts = [str(whole.sentence), *(quote.text for _, quote in whole.quotes)]
    parts += [str(text) for _, text in (*whole.details, *whole.technical)]
    words = "\n".join(parts)
    missing_texts = [text for text in bundle_pages.texts(row) if text not in words]
    # What stands in the sentence is escaped there.
    assert [text for text in missing_texts if not re.search("[&<>'\"]", text)] == []
