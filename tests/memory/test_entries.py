"""What a journal entry may be: types, limits, depth, canonical text, moments."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import entries, errors, validation
from memory.rules.entries import NewEntry
from tests import factories

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def nested(levels: int) -> Any:
    """Return an object that nests this deep, the outermost one counted."""
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def refusal(**fields: Any) -> errors.AppError:
    """Return why an entry may not enter."""
    with pytest.raises(errors.AppError) as caught:
        validation.check(factories.new(**fields), NOW)
    return caught.value


@pytest.mark.parametrize(
    "name",
    ["peer.escalation", "a.b", "memory.priority_changed", "pipeline.run.started"],
)
def test_dotted_lower_case_words_are_types(name: str) -> None:
    assert entries.is_type(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "peer",
        "Peer.x",
        "peer.",
        ".x",
        "peer..x",
        "peer.x ",
        "peer.x\n",
        "é.x",
        "a." + "b" * 79,
    ],
)
def test_anything_else_is_no_type(name: str) -> None:
    assert not entries.is_type(name)
    assert refusal(entry_type=name).problem_code == "bad_entry_type"


@given(JSON)
def test_canonical_text_reads_back_and_does_not_depend_on_order(value: Any) -> None:
    text = entries.canonical(value)
    assert json.loads(text) == value
    if isinstance(value, dict):
        reordered = dict(reversed(list(value.items())))
        assert entries.canonical(reordered) == text


@given(JSON)
def test_depth_counts_containers(value: Any) -> None:
    def slow(item: Any) -> int:
        if isinstance(item, dict):
            return 1 + max((slow(v) for v in item.values()), default=0)
        if isinstance(item, list):
            return 1 + max((slow(v) for v in item), default=0)
        return 0

    assert entries.depth(value) == min(slow(value), entries.JSON_DEPTH + 1)


@pytest.mark.parametrize(("levels", "limit"), [(33, 32), (200, 32), (5, 3), (5, 4)])
def test_depth_is_counted_to_one_past_the_limit(levels: int, limit: int) -> None:
    assert entries.depth(nested(levels), limit) == limit + 1
    assert entries.depth(nested(limit), limit) == limit


def test_thirty_two_levels_fit_and_thirty_three_do_not() -> None:
    validation.check(factories.new(payload=nested(32)), NOW)
    assert refusal(payload=nested(33)).problem_code == "too_deep"
    assert refusal(refs=nested(33)).problem_code == "too_deep"


def test_searchable_words_are_values_never_keys() -> None:
    payload = {"question": "why", "n": [1, 2.5, True, None, {"deep": "leaf"}]}
    assert entries.body_of("peer.note", payload) == "1\n2.5\nleaf\nwhy"


@pytest.mark.parametrize(
    "payload",
    [{"steps": ("one", "two")}, {"n": {10: "ten", 9: "nine"}}, {"a": [("b", ["c"])]}],
)
def test_the_words_are_those_of_the_stored_text(payload: dict[str, Any]) -> None:
    stored = json.loads(entries.canonical(payload))
    words = entries.body_of("peer.note", payload)
    assert words == entries.body_of("peer.note", stored) != ""


def test_the_words_of_an_entry_are_cut_and_free_of_nul() -> None:
    longest = "x" * entries.BODY_CHARS
    assert entries.body_of("peer.note", {"a": longest}) == longest
    assert entries.body_of("peer.note", {"a": longest + "y", "b": "z"}) == longest
    assert entries.body_of("peer.note", {"a": "one\x00two", "b": ""}) == "one two"


@given(JSON)
def test_every_text_of_a_value_is_seen_names_of_members_too(value: Any) -> None:
    def slow(item: Any) -> list[str]:
        if isinstance(item, dict):
            return [
                text for pair in item.items() for part in pair for text in slow(part)
            ]
        if isinstance(item, list):
            return [text for part in item for text in slow(part)]
        return [item] if isinstance(item, str) else []

    assert sorted(entries.texts(value)) == sorted(slow(value))


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x\udfff"])
def test_a_text_that_no_database_can_store_is_refused(text: str) -> None:
    entries.check_storable("", "Žluťoučký", "\U0001f600")
    assert entries.is_storable(text) is False
    with pytest.raises(errors.Invalid) as caught:
        entries.check_storable("fine", text, "fine")
    assert caught.value.problem_code == "bad_text"


def test_an_audit_of_a_turn_gives_no_words() -> None:
    kind = f"{entries.UNSEARCHED}recall_failed"
    assert entries.body_of(kind, {"event": "x"}) == ""


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"summary": " \n"}, 422, "empty_summary"),
        ({"summary": "a\x00b"}, 422, "bad_text"),
        ({"summary": "\ud800"}, 422, "bad_text"),
        ({"summary": "é" * 2_049}, 413, "too_large"),
        ({"payload": {"a": "x" * 262_137}}, 413, "too_large"),
        ({"refs": {"a": "x" * 65_529}}, 413, "too_large"),
        ({"payload": {"a": "\udc00"}}, 422, "bad_text"),
        ({"payload": {"a": float("nan")}}, 422, "bad_json"),
        ({"payload": {"a": float("inf")}}, 422, "bad_json"),
        ({"payload": {"a": ["\x00"]}}, 422, "bad_text"),
        ({"payload": {"a": {"\x00": 1}}}, 422, "bad_text"),
        ({"refs": {"a": "\x00"}}, 422, "bad_text"),
        ({"refs": {"a": float("nan")}}, 422, "bad_json"),
        ({"payload": {"a": {1, 2}}}, 422, "bad_json"),
        ({"mission_id": ""}, 422, "bad_id"),
        ({"trace_id": "x" * 129}, 422, "bad_id"),
        ({"span_id": "a\x00"}, 422, "bad_id"),
        ({"ts": datetime(2026, 11, 21)}, 422, "naive_ts"),  # noqa: DTZ001
        ({"ts": NOW + timedelta(seconds=301)}, 422, "ts_in_future"),
        ({"ts": NOW + timedelta(seconds=300, microseconds=1)}, 422, "ts_in_future"),
        (
            {"ts": datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)},
            422,
            "ts_too_early",
        ),
        ({"subjects": ("a",) * 51}, 422, "too_many"),
        ({"subjects": ("",)}, 422, "bad_subject"),
        ({"subjects": ("Mia", " \n")}, 422, "bad_subject"),
        ({"subjects": ("x" * 321,)}, 422, "bad_subject"),
        ({"subjects": ("\x00",)}, 422, "bad_subject"),
    ],
)
def test_what_may_not_enter(fields: dict[str, Any], status: int, code: str) -> None:
    error = refusal(**fields)
    assert (error.status, error.problem_code) == (status, code)


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": "é" * 2_048},
        {"ts": NOW + timedelta(seconds=300)},
        {"ts": datetime(2000, 1, 1, tzinfo=UTC)},
        {"subjects": ("x" * 320,) * 50},
        {"subjects": ("x",)},
        {"mission_id": "x" * 128, "trace_id": "x", "span_id": "x" * 128},
        {"entry_type": "a." + "b" * 78},
        {"payload": {"a": "x" * 262_136}},
        {"refs": {"a": "x" * 65_528}},
        {"payload": {"text": "a number of any length", "big": 10**400}},
    ],
)
def test_what_just_fits(fields: dict[str, Any]) -> None:
    validation.check(factories.new(**fields), NOW)


def test_moments_are_cut_to_milliseconds_not_rounded_up() -> None:
    for given_part, kept in [(0, 0), (999, 0), (1_000, 1_000), (999_999, 999_000)]:
        moment = NOW.replace(microsecond=given_part)
        assert entries.round_ms(moment) == NOW.replace(microsecond=kept)
    assert entries.round_ms(NOW.replace(microsecond=500_000)).microsecond == 500_000


def test_a_new_entry_is_info_without_anything_else() -> None:
    fresh = NewEntry(entry_type="a.b", summary="x")
    assert (fresh.severity, fresh.payload, fresh.subjects) == ("info", {}, ())
