"""Cursors belong to one list of one workspace, and to one question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import pagination
from memory.journal.queries import JournalFilter
from memory.rules import errors

POSITION: list[str | int] = ["2026-11-21T12:00:00.000Z", 7]


def test_a_cursor_leads_back_to_its_position() -> None:
    cursor = pagination.make("ws_1", "q", POSITION)
    assert pagination.read(cursor, "ws_1", "q") == POSITION


def test_another_workspaces_cursor_is_not_found() -> None:
    cursor = pagination.make("ws_1", "q", POSITION)
    with pytest.raises(errors.NotFound):
        pagination.read(cursor, "ws_2", "q")


def test_a_cursor_of_another_question_is_invalid() -> None:
    cursor = pagination.make("ws_1", "q", POSITION)
    with pytest.raises(errors.Invalid) as caught:
        pagination.read(cursor, "ws_1", "other")
    assert caught.value.problem_code == "bad_cursor"


@given(st.text(max_size=60))
def test_a_made_up_cursor_is_invalid(cursor: str) -> None:
    with pytest.raises(errors.Invalid):
        pagination.read(cursor, "ws_1", "q")


@given(st.integers(0, 200))
def test_a_changed_cursor_is_invalid(place: int) -> None:
    cursor = pagination.make("ws_1", "q", POSITION)
    at = place % len(cursor)
    tampered = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
    with pytest.raises(errors.AppError):
        assert pagination.read(tampered, "ws_1", "q") != POSITION


def test_every_filter_is_part_of_the_question() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    filters = [
        JournalFilter(),
        JournalFilter(q="a"),
        JournalFilter(crew_id="a"),
        JournalFilter(agent_id="a"),
        JournalFilter(mission_id="a"),
        JournalFilter(trace_id="a"),
        JournalFilter(entry_type=("a",)),
        JournalFilter(exclude_entry_type=("a",)),
        JournalFilter(severity=("a",)),
        JournalFilter(priority=("a",)),
        JournalFilter(since=moment),
        JournalFilter(until=moment),
        JournalFilter(subject="a"),
    ]
    assert len({each_filter.digest for each_filter in filters}) == len(filters)
    assert JournalFilter(q="a").digest == JournalFilter(q="a").digest
