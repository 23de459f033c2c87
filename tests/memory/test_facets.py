"""Counts of the entries that match a filter: by column, and over time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from memory.journal import facets
from memory.journal.histogram import MAX_BARS, STEPS, histogram
from memory.journal.queries import JournalFilter
from memory.rules import errors
from memory.rules.entries import Severity
from tests import factories
from tests.world import World

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def test_values_are_counted_within_the_filter(world: World) -> None:
    for _ in range(2):
        world.entry("One", severity=Severity.WARN)
    world.entry("Two")
    world.entry("Three", by="bob")
    ada, bob = world.agents["ada"].id, world.agents["bob"].id
    everything = JournalFilter(entry_type=("peer.escalation",))
    counted = facets.facets(world.actor("viewer"), everything)
    assert counted.counts["agent_id"] == {ada: 3, bob: 1}
    assert counted.counts["severity"] == {"info": 2, "warn": 2}
    assert list(counted.counts["agent_id"]) == [ada, bob]
    narrow = JournalFilter(entry_type=("peer.escalation",), severity=("warn",))
    counted = facets.facets(world.actor("viewer"), narrow)
    assert counted.counts["agent_id"] == {ada: 2}
    assert counted.entries == 2


def test_of_too_many_only_the_newest_are_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "LIMIT", 2)
    filters = JournalFilter(entry_type=("peer.escalation",))
    world.entry("Oldest", severity=Severity.ERROR, ts=factories.ago(3))
    world.entry("Older", ts=factories.ago(2))
    exact = facets.facets(world.actor("viewer"), filters)
    world.entry("Newest", ts=factories.ago(1))
    capped = facets.facets(world.actor("viewer"), filters)
    assert (exact.entries, exact.is_capped) == (2, False)
    assert (capped.entries, capped.is_capped) == (2, True)
    assert capped.counts["severity"] == {"info": 2}
    assert sum(bar.total for bar in capped.bars) == 2


def test_entries_of_another_workspace_are_not_counted(world: World) -> None:
    world.entry("Theirs", by="olga")
    filters = JournalFilter(entry_type=("peer.escalation",))
    assert facets.facets(world.actor("viewer"), filters).entries == 0
    foreign = JournalFilter(crew_id=world.crews["other/support"].id)
    with pytest.raises(errors.NotFound):
        facets.facets(world.actor("viewer"), foreign)


@pytest.mark.parametrize("hours", [0, 14, 23, 25, 2_000])
def test_an_entry_is_counted_in_the_bar_of_its_time(world: World, hours: int) -> None:
    moments = [NOON + timedelta(minutes=7, seconds=59), NOON + timedelta(hours=hours)]
    rows = [world.entry("Old", ts=moment) for moment in moments]
    filters = JournalFilter(until=NOON + timedelta(days=100), has_agent=True)
    bars = facets.facets(world.actor("viewer"), filters).bars
    for row in rows:
        [bar] = [bar for bar in bars if bar.start <= row.ts <= bar.last]
        assert bar.total == sum(bar.start <= moment <= bar.last for moment in moments)


# ── Bars ─────────────────────────────────────────────────────────────────────
def test_no_entry_has_no_bar() -> None:
    assert histogram({}) == []


def test_bars_follow_each_other_without_a_gap() -> None:
    bars = histogram(Counter([(NOON, "info"), (NOON + timedelta(minutes=5), "error")]))
    assert [bar.total for bar in bars] == [1, 0, 0, 0, 0, 1]
    for bar, following in pairwise(bars):
        assert bar.last + timedelta(milliseconds=1) == following.start
    assert bars[0].start == NOON
    assert bars[-1].severities["error"] == 1


def test_the_last_millisecond_belongs_to_its_bar() -> None:
    edge = NOON + timedelta(seconds=59, milliseconds=999)
    bars = histogram(Counter([(edge, "info"), (NOON + timedelta(minutes=1), "info")]))
    assert [bar.total for bar in bars] == [1, 1]


def test_weeks_begin_on_a_monday() -> None:
    bars = histogram(Counter([(NOON, "info"), (NOON + timedelta(days=300), "info")]))
    assert {bar.start.weekday() for bar in bars} == {0}


@pytest.mark.parametrize(
    "seconds", [0, 59, *(step * MAX_BARS for step in STEPS), 200 * STEPS[-1]]
)
def test_any_span_has_few_bars_and_all_of_its_entries(seconds: int) -> None:
    first = datetime(1971, 1, 1, 10, 7, 3, tzinfo=UTC)
    moments = [(first, "info"), (first + timedelta(seconds=seconds), "warn")]
    bars = histogram(Counter(moments))
    assert 1 <= len(bars) <= MAX_BARS
    assert sum(bar.total for bar in bars) == 2
    for moment, _ in moments:
        assert any(bar.start <= moment <= bar.last for bar in bars)
