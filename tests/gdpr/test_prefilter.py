"""The prefilter misses no text that matching each would find."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr import erasure
from gdpr.data_map import entry_text, row_text
from gdpr.data_map.base import Person
from gdpr.matching import normalize
from gdpr.matching.matcher import Matcher, Name
from memory.models import JournalEntry
from tests.gdpr import erasing
from tests.world import World

NAMES = [
    Name("s", "email", "anna.smith@x.example"),
    Name("s", "name", "Ünal Çelik"),
    Name("s", "name", "王 小明"),
    Name("s", "phone", "+49 170 1234567"),
    Name("s", "user_id", "usr-77"),
    Name("s", "handle", "@quill"),
    Name("s", "pattern", "ord*99"),
]
PARTS = [
    "ANNA.SMITH@x.example", "\\u0041nna.smith@x.example", "%41nna.smith%40x.example",
    "&#65;nna.smith@x.example", "\\\\u0041nna.smith@x.example", "anna smith", "smith",
    "u\u0308nal C\u0327elik", "Çelik, Ünal", "çelik", "王小明", "@quill", "quill@x",
    "0170 1234567", "+49(0)170-123 45 67", "1701(0)234567", "usr-77", "usr-777",
    "ord55599", "\x00", "%", "&amp;", "\\n", "İ", "lorem", "é", "12",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PARTS), max_size=5).map(" ".join)


def as_it_is(text: str) -> str:
    return text


@given(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.lists(TEXT))
def test_whoever_is_named_is_among_them(names: list[Name], texts: list[str]) -> None:
    matcher = Matcher(names)
    expected = {at for at, text in enumerate(texts) if matcher.names(text)}
    assert expected <= set(matcher.among(texts, as_it_is))


@given(TEXT)
def test_readings_say_what_the_escaped_views_say(text: str) -> None:
    views = [view.text for view in normalize.escaped_views(text)]
    assert list(normalize.readings(text)) == views


def test_texts_that_name_nobody_are_left_out() -> None:
    texts = ["nobody", "smith alone", "anna.smith@x.example", "", "12 0170 1", "é"]
    assert Matcher(NAMES).among(texts, as_it_is) == [2]


def test_a_number_in_two_fields_is_found_by_what_is_told() -> None:
    def readable(text: str) -> str:
        return " ".join(json.loads(text).values())

    texts = [json.dumps({"a": "+49 170 1234", "b": "567"}), json.dumps({"a": "4567"})]
    assert Matcher(NAMES).among(texts, readable) == [0]


# ── The journal ──────────────────────────────────────────────────────────────
def _person(world: World, *names: Name) -> Person:
    return Person(world.acme.id, "s", Matcher(names or NAMES), Matcher([]), {})


def _found_ids(person: Person) -> set[str]:
    return {row.id for _, rows in entry_text.naming(person) for row in rows}


@pytest.mark.parametrize("chunk", [entry_text.CHUNK, 2])
def test_entries_are_found_however_they_name_somebody(
    world: World, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    for name in ("_TEXTS_SQL", "_GROUPED_SQL"):
        sql = getattr(entry_text, name).replace(
            f"LIMIT {entry_text.CHUNK}", f"LIMIT {chunk}"
        )
        monkeypatch.setattr(entry_text, name, sql)
    expected = [
        world.entry("about anna.smith@x.example"),
        world.entry("said", payload={"text": "first line\nÜnal Çelik\tcame"}),
        world.entry("said", payload={"text": "call \\u0041nna.smith@x.example"}),
        world.entry("said", refs={"who": "usr-77"}),
        world.entry("said", trace_id="usr-77"),
        world.entry(f"{row_text.SEAM}a\\b{row_text.SEAM} 王小明"),
    ]
    for text in ("about nobody", "Anna", "smith\\n", "usr-777"):
        world.entry(text)
    assert _found_ids(_person(world)) == {row.id for row in expected}


def test_a_name_over_two_columns_is_none(world: World) -> None:
    world.entry("Ünal", payload={"text": "Çelik"})
    assert _found_ids(_person(world, NAMES[1])) == set()


@pytest.mark.sqlite
def test_a_zero_in_a_text_hides_nothing(world: World) -> None:
    row, after = world.entry("said"), world.entry("usr-77 came")
    # Not written by this program, but possibly by another tool.
    JournalEntry.objects.filter(pk=row.pk).update(summary="a\x00b usr-77")
    assert _found_ids(_person(world)) == {row.id, after.id}


def test_a_run_reads_the_journal_once(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    starts: list[int] = []
    before = entry_text.naming

    def naming(person: Person, after: int = 0) -> Any:
        starts.append(after)
        return before(person, after)

    monkeypatch.setattr(entry_text, "naming", naming)
    erasure.run(case.workspace_id, case.pk)
    # One read to check for changes; rows of the plan are not read again.
    assert starts.count(0) == 1
    assert len(starts) > 1
