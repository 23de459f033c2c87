"""The calendar of activity: which days, which entries, how many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memory.journal import calendar
from memory.journal.calendar import Calendar
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import ActorType
from tests import factories
from tests.world import World


def of_ada(world: World, person: str = "viewer") -> Calendar:
    return calendar.of_agent(world.actor(person), world.agents["ada"].id)


def counts(rows: Calendar) -> list[int]:
    return [day.entries for day in rows.days]


def test_each_day_has_its_entries_and_the_last_is_today(world: World) -> None:
    for days in (0, 0, 1, 30):
        world.entry(ts=factories.ago(days))
    rows = of_ada(world)
    assert counts(rows) == [1, 1, 2]
    assert rows.entries == 4
    today = timezone.now().astimezone(UTC).date()
    assert rows.weeks[-1][-1].date == today
    assert [day.date for day in rows.days] == [
        today - timedelta(days=days) for days in (30, 1, 0)
    ]
    assert rows.busiest is not None
    assert rows.busiest.date == today


def test_a_day_is_one_of_utc(world: World) -> None:
    today = timezone.now().astimezone(UTC).replace(second=0, microsecond=0)
    noon = today.replace(hour=12, minute=0) - timedelta(days=10)
    for hours in (-12, 0, 11.99, 12):
        world.entry(ts=noon + timedelta(hours=hours))
    rows = of_ada(world)
    assert [(day.date, day.entries) for day in rows.days] == [
        (noon.date(), 3),
        (noon.date() + timedelta(days=1), 1),
    ]


def test_weeks_begin_on_monday_and_are_53(world: World) -> None:
    rows = of_ada(world)
    assert len(rows.weeks) == calendar.WEEKS
    assert {week[0].date.weekday() for week in rows.weeks} == {0}
    assert rows.busiest is None
    first = datetime.combine(rows.first, datetime.min.time(), tzinfo=UTC)
    world.entry(ts=first)
    world.entry(ts=first - timedelta(microseconds=1))
    assert counts(of_ada(world)) == [1]


def test_what_people_and_jobs_wrote_about_an_agent_is_left_out(world: World) -> None:
    rows = [world.entry() for _ in range(3)]
    for row, writer in zip(rows, (ActorType.USER, ActorType.SYSTEM), strict=False):
        JournalEntry.objects.filter(pk=row.pk).update(actor_type=writer.value)
    assert counts(of_ada(world)) == [1]


def test_a_crew_s_calendar_is_of_its_agents(world: World) -> None:
    world.entry()
    world.entry(by="lena")
    world.entry(by="bob")
    rows = calendar.of_crew(world.actor("viewer"), world.crews["support"].id)
    assert counts(rows) == [2]


def test_restricted_entries_count_for_who_may_see_them(world: World) -> None:
    row = world.entry()
    JournalEntry.objects.filter(pk=row.pk).update(restricted_at=timezone.now())
    assert counts(of_ada(world)) == []
    assert counts(of_ada(world, "compliance")) == [1]


def test_another_workspace_s_agent_and_crew_are_not_there(world: World) -> None:
    stranger = world.actor("stranger")
    with pytest.raises(errors.NotFound):
        calendar.of_agent(stranger, world.agents["ada"].id)
    with pytest.raises(errors.NotFound):
        calendar.of_crew(stranger, world.crews["support"].id)


def test_steps_have_about_equally_many_days(world: World) -> None:
    for days, number in enumerate((1, 2, 3, 4, 5, 6, 7, 40)):
        factories.append_many(
            world.actor("ada"), ["Refund"] * number, ts=factories.ago(days)
        )
    rows = of_ada(world)
    assert rows.limits == [2, 4, 6]
    assert [day.step for day in rows.days][::-1] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert rows.weeks[0][0].step == 0


def test_beyond_the_limit_it_begins_at_the_first_whole_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendar, "LIMIT", 4)
    for days in (5, 4, 4, 3, 2):
        world.entry(ts=factories.ago(days))
    rows = of_ada(world)
    assert rows.is_capped
    assert counts(rows) == [2, 1, 1]
    world.entry(ts=factories.ago(0))
    rows = of_ada(world)
    today = timezone.now().astimezone(UTC).date()
    assert rows.first == today - timedelta(days=3)
    assert counts(rows) == [1, 1, 1]
    assert not calendar.of_crew(
        world.actor("viewer"), world.crews["billing"].id
    ).is_capped
