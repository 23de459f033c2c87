"""The demo story is believable and complete, on whatever day it is loaded."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby
from typing import Any

import pytest

from crewship_memory.demo import story
from memory.rules.entries import NewEntry

NOW = datetime(2026, 11, 21, 23, 18, 4, 512_345, tzinfo=UTC)
MOMENTS = [
    NOW,
    datetime(2026, 11, 23, 0, 0, 5, tzinfo=UTC),
    datetime(2027, 3, 1, 12, 30, tzinfo=UTC),
    datetime(2028, 2, 29, 6, 45, tzinfo=timezone(timedelta(hours=2))),
]
ALWAYS_EMBEDDED = {
    "approval.denied",
    "eval.regression_detected",
    "memory.consolidated",
    "memory.recorded",
    "peer.escalation",
    "summary.generated",
}
EMBEDDED_WHEN_SERIOUS = {"keeper.decision", "mission.status_change"}
CHATTER = {"container.metrics", "exec.output_chunk", "llm.call", "network.egress"}
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
# How an evening's summary begins.
WEEKDAY = re.compile(r"^(\w+day) (?:at the desk|in the shop):")
BLANK = re.compile(r"\{\w")
INVENTED_ADDRESS = re.compile(r"[\w.+-]+@example\.(com|org)")


@pytest.fixture(scope="module")
def entries() -> list[NewEntry]:
    return [row.new for row in story.entries(NOW)]


def is_embeddable(entry: NewEntry) -> bool:
    if entry.entry_type in ALWAYS_EMBEDDED:
        return True
    if entry.entry_type in EMBEDDED_WHEN_SERIOUS:
        return entry.severity in {"warn", "error"}
    return entry.refs.get("episodic") is True


def moments(now: datetime) -> list[datetime]:
    return [row.new.ts for row in story.entries(now) if row.new.ts]


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    parts = value if isinstance(value, list) else []
    return [text for part in parts for text in texts(part)]


def all_text(entry: NewEntry) -> str:
    messages = [entry.summary, entry.payload, entry.refs, list(entry.subjects)]
    return json.dumps(messages, ensure_ascii=False)


@pytest.mark.parametrize("now", MOMENTS)
def test_about_two_thousand_entries_fill_five_weeks(now: datetime) -> None:
    entries = moments(now)
    assert 1_900 <= len(entries) <= 2_100
    assert timedelta(days=34) < entries[-1] - entries[0] < timedelta(days=36)


@pytest.mark.parametrize("now", MOMENTS)
def test_times_are_sorted_whole_milliseconds_up_to_now(now: datetime) -> None:
    times = moments(now)
    assert times == sorted(times)
    assert now - timedelta(minutes=5) < times[-1] <= now
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert all(time.microsecond % 1000 == 0 for time in times)


@pytest.mark.parametrize("now", MOMENTS)
def test_between_a_quarter_and_a_third_is_embeddable(now: datetime) -> None:
    entries = [row.new for row in story.entries(now)]
    share = sum(map(is_embeddable, entries)) / len(entries)
    assert 0.25 <= share <= 0.35


def test_every_agent_takes_part() -> None:
    counts = Counter(row.agent for row in story.entries(NOW))
    agents = story.document("cast.toml", NOW.date())["agent"]
    assert set(counts) == {agent["slug"] for agent in agents}
    assert min(counts.values()) > 100


@pytest.mark.parametrize("now", MOMENTS)
def test_missions_are_opened_before_they_are_named(now: datetime) -> None:
    created = set()
    for row in story.entries(now):
        if row.new.entry_type == "mission.created":
            created.add(row.new.mission_id)
        assert row.new.mission_id is None or row.new.mission_id in created
    assert len(created) == 11


def test_every_run_starts_once_and_ends_at_most_once(
    entries: list[NewEntry],
) -> None:
    ends = Counter(
        entry.payload["run_id"]
        for entry in entries
        if entry.entry_type in {"run.completed", "run.failed"}
        and "run_id" in entry.payload
    )
    starts = Counter(
        entry.payload["run_id"]
        for entry in entries
        if entry.entry_type == "run.started"
    )
    assert set(starts.values()) == {1}
    assert set(ends.values()) == {1}
    assert set(ends) <= set(starts)


def test_summaries_are_one_short_line_without_blanks(
    entries: list[NewEntry],
) -> None:
    for entry in entries:
        assert 0 < len(entry.summary) <= 140
        assert len(entry.summary.splitlines()) == 1
        assert not BLANK.search("\n".join([entry.summary, *texts(entry.payload)]))


def test_fewer_than_one_in_twenty_summaries_repeats(
    entries: list[NewEntry],
) -> None:
    summaries = [e.summary for e in entries if e.entry_type not in CHATTER]
    assert len(summaries) - len(set(summaries)) < len(summaries) / 20


def test_payloads_survive_json(entries: list[NewEntry]) -> None:
    for entry in entries:
        assert json.loads(json.dumps(entry.payload)) == entry.payload
        assert json.loads(json.dumps(entry.refs)) == entry.refs


def test_every_address_is_invented(entries: list[NewEntry]) -> None:
    for entry in entries:
        assert all(INVENTED_ADDRESS.fullmatch(alias) for alias in entry.subjects)
        for address in ADDRESS.findall(all_text(entry)):
            assert INVENTED_ADDRESS.fullmatch(address.rstrip("."))


@pytest.mark.parametrize("days", range(7))
def test_weekends_are_quieter(days: int) -> None:
    times = moments(NOW + timedelta(days=days))
    counts = Counter(ts.date() for ts in times)
    weekend = [count for day, count in counts.items() if day.weekday() >= 5]
    working = [count for day, count in counts.items() if day.weekday() < 5]
    assert sum(weekend) / len(weekend) < 0.6 * sum(working) / len(working)


def test_a_run_stays_together_on_another_weekday() -> None:
    def runs(now: datetime) -> list[list[str]]:
        rows = [row.new for row in story.entries(now) if row.new.trace_id]
        rows.sort(key=lambda entry: str(entry.trace_id))
        return [
            [entry.summary for entry in run]
            for _, run in groupby(rows, key=lambda entry: entry.trace_id)
        ]

    assert runs(NOW + timedelta(days=3)) == runs(NOW)


def test_the_refund_limit_is_raised_once_and_then_stays(
    entries: list[NewEntry],
) -> None:
    limits = [e.payload["limit_usd"] for e in entries if "limit_usd" in e.payload]
    limits = [limit for limit in limits if limit in {100, 200}]
    assert limits == [100, 200, 200]


@pytest.mark.parametrize(
    ("now", "date", "week"), [(NOW, "14 Nov", 46), (MOMENTS[2], "22 Feb", 8)]
)
def test_dates_of_the_plot_count_from_today(
    now: datetime, date: str, week: int
) -> None:
    text = "\n".join(row.new.summary for row in story.entries(now))
    assert f"Embedder outage of {date} from 03:10 to 09:40" in text
    assert f"Week {week}: 31 refunds, 4 without receipt, 2 escalated" in text


@pytest.mark.parametrize("now", MOMENTS)
def test_dates_of_the_routine_are_those_of_its_own_day(now: datetime) -> None:
    days = 0
    for entry in (row.new for row in story.entries(now)):
        assert entry.ts is not None
        if entry.summary.startswith("daily/"):
            assert entry.payload["path"] == f"daily/{entry.ts.date()}.md"
            days += 1
        for weekday in WEEKDAY.findall(entry.summary):
            assert f"{entry.ts:%A}" == weekday
            days += 1
    assert days > 60
