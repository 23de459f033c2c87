"""The demo story is believable, complete and the same every time."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest

from crewship_memory.demo import model, source, story

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
BLANK = re.compile(r"\{\w")
INVENTED_ADDRESS = re.compile(r"[\w.+-]+@example\.(com|org)")


@pytest.fixture(scope="module")
def entries() -> list[model.DemoEntry]:
    return list(story.entries(NOW))


def is_embeddable(entry: model.DemoEntry) -> bool:
    if entry.entry_type in ALWAYS_EMBEDDED:
        return True
    if entry.entry_type in EMBEDDED_WHEN_SERIOUS:
        return entry.severity in {"warn", "error"}
    return entry.refs.get("episodic") is True


def texts(value: model.Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    parts = value if isinstance(value, list) else []
    return [text for part in parts for text in texts(part)]


def all_text(entry: model.DemoEntry) -> str:
    messages = [entry.summary, entry.payload, entry.refs, list(entry.subjects)]
    return json.dumps(messages, ensure_ascii=False)


def test_the_same_moment_and_seed_tell_the_same_story(
    entries: list[model.DemoEntry],
) -> None:
    assert list(story.entries(NOW)) == entries


def test_another_seed_tells_another_story(entries: list[model.DemoEntry]) -> None:
    assert list(story.entries(NOW, seed=8)) != entries


def test_a_reader_cannot_change_the_next_telling(
    entries: list[model.DemoEntry],
) -> None:
    for entry in story.entries(NOW):
        entry.payload.clear()
        entry.refs.clear()
    assert list(story.entries(NOW)) == entries


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        list(story.entries(NOW.replace(tzinfo=None)))


@pytest.mark.parametrize("now", MOMENTS)
def test_about_two_thousand_entries_fill_five_weeks(now: datetime) -> None:
    entries = list(story.entries(now))
    assert 1_800 <= len(entries) <= 2_300
    assert timedelta(days=34) < entries[-1].ts - entries[0].ts < timedelta(days=36)


@pytest.mark.parametrize("now", MOMENTS)
def test_times_are_sorted_whole_milliseconds_up_to_now(now: datetime) -> None:
    times = [entry.ts for entry in story.entries(now)]
    assert times == sorted(times)
    assert now - timedelta(minutes=5) < times[-1] <= now
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert all(time.microsecond % 1000 == 0 for time in times)


@pytest.mark.parametrize("now", MOMENTS)
def test_between_a_quarter_and_a_third_is_embeddable(now: datetime) -> None:
    entries = list(story.entries(now))
    share = sum(map(is_embeddable, entries)) / len(entries)
    assert 0.25 <= share <= 0.35


def test_every_crew_and_agent_takes_part(entries: list[model.DemoEntry]) -> None:
    crew_of = {agent.slug: agent.crew for agent in story.AGENTS}
    assert {entry.crew for entry in entries} == {crew.slug for crew in story.CREWS}
    counts = Counter(entry.agent for entry in entries)
    assert set(counts) == set(crew_of)
    assert min(counts.values()) > 100
    assert all(crew_of[entry.agent] == entry.crew for entry in entries)


def test_missions_are_real_and_start_before_they_are_named(
    entries: list[model.DemoEntry],
) -> None:
    created = {
        entry.mission_id: entry.ts
        for entry in entries
        if entry.entry_type == "mission.created"
    }
    assert set(created) == {mission.id for mission in story.MISSIONS}
    for mission in story.MISSIONS:
        opened, closed = story.mission_dates(mission, NOW)
        assert opened == created[mission.id]
        assert (closed is None) == (mission.closed is None)
    with_mission = [entry for entry in entries if entry.mission_id]
    assert all(entry.ts >= created[entry.mission_id] for entry in with_mission)


def test_every_run_starts_once_and_ends_at_most_once(
    entries: list[model.DemoEntry],
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
    entries: list[model.DemoEntry],
) -> None:
    for entry in entries:
        assert 0 < len(entry.summary) <= model.SUMMARY_LIMIT
        assert len(entry.summary.splitlines()) == 1
        assert not BLANK.search("\n".join([entry.summary, *texts(entry.payload)]))


def test_fewer_than_one_in_twenty_summaries_repeats(
    entries: list[model.DemoEntry],
) -> None:
    summaries = [e.summary for e in entries if e.entry_type not in CHATTER]
    assert len(summaries) - len(set(summaries)) < len(summaries) / 20


def test_payloads_survive_json(entries: list[model.DemoEntry]) -> None:
    for entry in entries:
        assert json.loads(json.dumps(entry.payload)) == entry.payload
        assert json.loads(json.dumps(entry.refs)) == entry.refs


def test_every_address_is_invented(entries: list[model.DemoEntry]) -> None:
    for entry in entries:
        assert all(INVENTED_ADDRESS.fullmatch(alias) for alias in entry.subjects)
        for address in ADDRESS.findall(all_text(entry)):
            assert INVENTED_ADDRESS.fullmatch(address.rstrip("."))


def test_at_least_120_entries_are_written_by_hand() -> None:
    rows = [
        row
        for name in source.thread_names()
        for row in source.tables(source.document(name)["entry"])
    ]
    assert len(rows) >= 120
    assert len({source.text(row, "say") for row in rows}) == len(rows)


def test_weekends_are_quieter(entries: list[model.DemoEntry]) -> None:
    days = Counter(entry.ts.date() for entry in entries)
    weekend = [count for day, count in days.items() if day.weekday() >= 5]
    working = [count for day, count in days.items() if day.weekday() < 5]
    assert sum(weekend) / len(weekend) < 0.6 * sum(working) / len(working)


def test_the_refund_limit_is_raised_once_and_then_stays(
    entries: list[model.DemoEntry],
) -> None:
    limits = [e.payload["limit_usd"] for e in entries if "limit_usd" in e.payload]
    limits = [limit for limit in limits if limit in {100, 200}]
    assert limits == [100, 200, 200]


def test_dates_in_texts_follow_the_calendar(entries: list[model.DemoEntry]) -> None:
    text = "\n".join(entry.summary for entry in entries)
    assert "Embedder outage of 14 Nov from 03:10 to 09:40" in text
    assert "Week 46: 31 refunds, 4 without receipt, 2 escalated" in text
    assert "daily/2026-11-19.md, 1,204 bytes" in text
