"""How well entries meet what a question prefers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.recall import preferences
from episodic.recall.preferences import Preferences, Values
from episodic.recall.question_time import mentions
from episodic.scopes import Reach
from tests.world import World

NOW = datetime(2024, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    ts: datetime = NOW
    agent_id: str | None = None
    crew_id: str | None = None
    actor_id: str = "system"


def of(question: str) -> Preferences:
    """Return the preferences of time alone."""
    return Preferences(times=tuple(mentions(question, NOW)))


def at(question: str, *moments: datetime) -> list[float]:
    values = of(question).values([Entry(ts) for ts in moments])
    return [value.time for value in values]


def test_inside_is_1_and_outside_falls_with_the_distance_in_widths() -> None:
    friday = datetime(2024, 11, 15, tzinfo=UTC)
    day = timedelta(days=1)
    assert at("last Friday", friday, friday + day / 2, friday + day) == [1, 1, 1]
    assert at("last Friday", friday - day, friday + 3 * day) == pytest.approx(
        [math.exp(-1), math.exp(-2)]
    )
    may = datetime(2024, 5, 1, tzinfo=UTC)
    assert at("in May", may - 31 * day) == pytest.approx([math.exp(-1)])
    # The width of an hour at least: "5 minutes ago" names ten minutes.
    assert at("5 minutes ago", NOW - timedelta(minutes=70)) == pytest.approx(
        [math.exp(-1)]
    )


def test_an_open_end_falls_on_one_side_only() -> None:
    march = datetime(2024, 3, 1, tzinfo=UTC)
    month = timedelta(days=31)
    assert at("since March", march, NOW, march - month) == pytest.approx(
        [1, 1, math.exp(-1)]
    )
    assert at("before March", march - 20 * month, march, march + month) == (
        pytest.approx([1, 1, math.exp(-1)])
    )


def test_open_ends_limit_each_other_and_the_best_of_several_spans_counts() -> None:
    moments = [datetime(2024, month, 15, tzinfo=UTC) for month in (1, 4, 10)]
    before, between, after = at("since March, but before June", *moments)
    assert between == 1
    assert before < 0.7
    assert after < 0.7
    assert at("in January or in October", *moments)[::2] == [1, 1]


def test_recently_counts_half() -> None:
    assert at("what broke recently", NOW - timedelta(days=1)) == [0.5]


def test_a_question_without_a_preference_adds_nothing() -> None:
    no_values = of("how are retries limited")
    assert not no_values
    assert no_values.values([Entry()]) == [Values(0.0, 0.0)]
    assert no_values.values([Entry()])[0].total == 0
    assert no_values.sentences() == []
    assert no_values.as_dict() == {"times": [], "names": [], "sentences": []}


@given(
    st.sampled_from(
        "in May|since March|before June|recently|3 hours ago|last Friday|in 2021".split(
            "|"
        )
    ),
    st.lists(st.datetimes(timezones=st.just(UTC)), max_size=5),
)
def test_values_lie_in_the_unit(question: str, moments: list[datetime]) -> None:
    assert all(0 <= value <= 1 for value in at(question, *moments))


def test_an_entry_of_whom_the_question_names_is_preferred(world: World) -> None:
    lena, support = world.agents["lena"], world.crews["support"]
    reach = Reach(world.acme.id, "workspace")
    rows = [
        Entry(agent_id=lena.id, crew_id=support.id),
        Entry(actor_id=lena.id),
        Entry(agent_id=world.agents["ada"].id, crew_id=support.id),
        Entry(),
    ]

    def values(question: str) -> list[float]:
        read = preferences.read(question, reach, NOW)
        return [value.name for value in read.values(rows)]

    assert values("what did lena decide") == [1, 1, 0, 0]
    assert values("what did the support crew decide") == [1, 0, 1, 0]
    assert values("what did nobody decide") == [0, 0, 0, 0]


def test_an_entry_of_the_journal_is_a_candidate(world: World) -> None:
    reach = Reach(world.acme.id, "workspace")
    rows = [world.entry(by="lena"), world.entry(by="bob")]
    read = preferences.read("what did lena decide", reach, NOW)
    assert [value.name for value in read.values(rows)] == [1, 0]


def test_sentences_say_what_is_preferred_and_why(world: World) -> None:
    question = "what did lena decide last\n Friday, since March, or in May; lena?"
    read = preferences.read(question, Reach(world.acme.id, "workspace"), NOW)
    assert read.sentences() == [
        "Prefers entries of Friday 15 November 2024 (from “last Friday”).",
        "Prefers entries since 1 March 2024 (from “since March”).",
        "Prefers entries of May 2024 (from “May”).",
        "Prefers entries of lena.",
    ]
    document = json.loads(json.dumps(read.as_dict()))
    assert document["sentences"] == read.sentences()
    assert document["times"][1] == {
        "text": "since March",
        "start": question.index("since"),
        "end": question.index("March") + 5,
        "since": "2024-03-01T00:00:00+00:00",
        "until": None,
        "meaning": "since 1 March 2024",
    }
    assert document["names"][0]["agent_ids"] == [world.agents["lena"].id]


def test_a_word_of_a_time_is_no_name(world: World) -> None:
    from memory.models import Agent

    Agent.objects.create(
        workspace=world.acme, crew=world.crews["support"], slug="april", name="April"
    )
    reach = Reach(world.acme.id, "workspace")
    read = preferences.read("what did bob ship in April", reach, NOW)
    assert [m.name.label for m in read.names] == ["bob"]
    read = preferences.read("what did April ship", reach, NOW)
    assert [m.name.label for m in read.names] == ["april"]
    assert not read.times


def test_now_is_the_moment_of_the_past_that_is_asked_at(world: World) -> None:
    reach = Reach(world.acme.id, "workspace")
    as_of = datetime(2022, 3, 2, tzinfo=UTC)
    (mention,) = preferences.read("since yesterday", reach, as_of).times
    assert mention.since == datetime(2022, 3, 1, tzinfo=UTC)
