"""Deadlines: one calendar month in the workspace's zone, to the end of the day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.cases import deadlines

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati",
    "Pacific/Niue", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe",
)  # fmt: skip
UTC_ZONE = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("day", "months", "then"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2028-01-31", 1, "2028-02-29"),
        ("2028-01-30", 1, "2028-02-29"),
        ("2100-01-31", 1, "2100-02-28"),
        ("2000-01-31", 1, "2000-02-29"),
        ("2026-02-28", 1, "2026-03-28"),
        ("2028-02-29", 1, "2028-03-29"),
        ("2026-03-31", 1, "2026-04-30"),
        ("2026-12-31", 1, "2027-01-31"),
        ("2026-11-30", 3, "2027-02-28"),
        ("2026-01-31", 3, "2026-04-30"),
        ("2026-12-15", 2, "2027-02-15"),
    ],
)
def test_months_have_different_lengths(day: str, months: int, then: str) -> None:
    result = deadlines.add_months(date.fromisoformat(day), months)
    assert result == date.fromisoformat(then)


@pytest.mark.parametrize(
    ("received", "zone", "due"),
    [
        ("2026-10-27T09:00:00Z", "UTC", "2026-11-27T23:59:59.999Z"),
        ("2026-01-31T00:00:00Z", "UTC", "2026-02-28T23:59:59.999Z"),
        # 23:30 in the zone, the next day in UTC.
        ("2026-01-31T22:30:00Z", "Europe/Berlin", "2026-02-28T22:59:59.999Z"),
        ("2026-01-31T23:30:00Z", "Europe/Berlin", "2026-03-01T22:59:59.999Z"),
        # Summer time begins, or ends, between receipt and deadline.
        ("2026-03-15T12:00:00Z", "Europe/Berlin", "2026-04-15T21:59:59.999Z"),
        ("2026-10-15T12:00:00Z", "Europe/Berlin", "2026-11-15T22:59:59.999Z"),
        # The clocks change on the due day itself: 23 hours, 25 hours.
        ("2026-02-28T23:30:00Z", "Europe/Berlin", "2026-04-01T21:59:59.999Z"),
        ("2026-02-27T12:00:00-05:00", "America/New_York", "2026-03-28T03:59:59.999Z"),
        ("2026-02-08T12:00:00-05:00", "America/New_York", "2026-03-09T03:59:59.999Z"),
        ("2026-10-01T12:00:00-04:00", "America/New_York", "2026-11-02T04:59:59.999Z"),
        ("2026-06-30T23:00:00Z", "Asia/Kolkata", "2026-08-01T18:29:59.999Z"),
    ],
)
def test_due_is_the_end_of_the_day_a_month_later(
    received: str, zone: str, due: str
) -> None:
    assert deadlines.due(at(received), ZoneInfo(zone)) == at(due)


def test_an_extension_is_counted_from_the_receipt() -> None:
    received = at("2026-01-31T10:00:00Z")
    assert deadlines.due(received, UTC_ZONE, 2) == at("2026-04-30T23:59:59.999Z")
    assert deadlines.due(received, UTC_ZONE, 1) == at("2026-03-31T23:59:59.999Z")


def test_a_midnight_that_does_not_exist_is_where_the_day_begins() -> None:
    # In Beirut the clocks go from 00:00 to 01:00; the day before ends at 22:00 UTC.
    zone = ZoneInfo("Asia/Beirut")
    assert deadlines.end_of(date(2026, 3, 28), zone) == at("2026-03-28T21:59:59.999Z")
    assert deadlines.end_of(date(2026, 3, 29), zone) == at("2026-03-29T20:59:59.999Z")


@pytest.mark.parametrize(
    ("now", "days", "words", "urgency"),
    [
        ("2026-11-21T09:00:00Z", 6, "6 days left", "soon"),
        ("2026-11-20T00:00:00Z", 7, "7 days left", "soon"),
        ("2026-11-19T23:59:59Z", 8, "8 days left", "later"),
        ("2026-11-26T23:59:59Z", 1, "1 day left", "soon"),
        ("2026-11-27T00:00:00Z", 0, "due today", "today"),
        ("2026-11-27T23:59:59.999Z", 0, "due today", "today"),
        ("2026-11-28T00:00:00Z", -1, "1 day overdue", "overdue"),
        ("2026-11-30T08:00:00Z", -3, "3 days overdue", "overdue"),
    ],
)
def test_today_is_neither_overdue_nor_tomorrow(
    now: str, days: int, words: str, urgency: str
) -> None:
    due = at("2026-11-27T23:59:59.999Z")
    result = deadlines.days_left(due, at(now), UTC_ZONE)
    assert result == days
    assert deadlines.words(result) == words
    assert deadlines.urgency(result) == urgency


def test_midnight_is_the_one_of_the_zone() -> None:
    due = deadlines.due(at("2026-10-27T09:00:00Z"), BERLIN)
    assert deadlines.days_left(due, at("2026-11-27T22:30:00Z"), BERLIN) == 0
    assert deadlines.days_left(due, at("2026-11-27T23:30:00Z"), BERLIN) == -1


@pytest.mark.parametrize("name", ["", "Berlin", "../../etc/passwd", "America", "x\x00"])
def test_what_is_no_time_zone(name: str) -> None:
    assert deadlines.zone(name) is None


@pytest.mark.parametrize("name", ZONES)
def test_what_is_one(name: str) -> None:
    assert deadlines.zone(name) == ZoneInfo(name)


MOMENTS = st.datetimes(
    datetime(1975, 1, 1),  # noqa: DTZ001
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
ZONE_INFOS = st.sampled_from([ZoneInfo(name) for name in ZONES])


@given(MOMENTS, ZONE_INFOS, st.integers(0, 2))
def test_a_deadline_is_the_last_moment_of_its_day(
    received: datetime, zone: ZoneInfo, extra: int
) -> None:
    due = deadlines.due(received, zone, extra)
    day = received.astimezone(zone).date()
    assert due.astimezone(zone).date() == deadlines.add_months(day, 1 + extra)
    after = due + timedelta(milliseconds=1)
    assert after.astimezone(zone).date() > due.astimezone(zone).date()
    months = 1 + extra
    shortest, longest = timedelta(days=28 * months), timedelta(days=31 * months + 2)
    assert shortest - timedelta(hours=2) < due - received < longest


@given(MOMENTS, ZONE_INFOS, st.integers(0, 60 * 24 * 40))
def test_days_left_change_at_midnight_and_nowhere_else(
    received: datetime, zone: ZoneInfo, minutes: int
) -> None:
    due = deadlines.due(received, zone)
    now = received + timedelta(minutes=minutes)
    days = deadlines.days_left(due, now, zone)
    assert (days < 0) is (now > due)
    assert (days == 0) is (now.astimezone(zone).date() == due.astimezone(zone).date())
    later = deadlines.days_left(due, now + timedelta(minutes=1), zone)
    assert days - later in (0, 1)


@given(MOMENTS, ZONE_INFOS, ZONE_INFOS)
def test_another_zone_keeps_the_day_that_people_were_told(
    received: datetime, before: ZoneInfo, after: ZoneInfo
) -> None:
    due = deadlines.due(received, before)
    new_due = deadlines.same_day_in(due, before, after)
    assert new_due.astimezone(after).date() == due.astimezone(before).date()
    assert deadlines.same_day_in(new_due, after, before) == due


@given(st.integers(-400, 400))
def test_words_say_the_number(days: int) -> None:
    phrase = deadlines.words(days)
    assert (str(abs(days)) in phrase) is (days != 0)
    assert ("overdue" in phrase) is (days < 0)
    assert ("left" in phrase) is (days > 0)
