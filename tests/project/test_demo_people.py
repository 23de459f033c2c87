"""The demo's requests: received on a day that makes them due when the story says."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from crewship_memory.demo import load_people
from gdpr.cases import deadlines


@given(st.dates(date(2020, 1, 1), date(2040, 12, 31)))
def test_a_request_was_received_a_calendar_month_before(due: date) -> None:
    day = load_people.received(due)
    deadline = deadlines.add_months(day, 1)
    # The last days of a long month follow no day of a shorter one.
    assert deadline == due or (deadline < due and (due + timedelta(days=3)).day <= 3)
