"""The statements that write rows: what is read back is what was given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import authors
from memory.journal import append as journal
from memory.journal import head, verify
from memory.models import Agent, JournalEntry, SubjectMention
from memory.rules.entries import NewEntry
from tests.world import World

MOMENTS = st.datetimes(
    datetime(1000, 1, 3), datetime(9999, 12, 29),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)  # fmt: skip


@pytest.mark.parametrize("count", [1, head.ROWS_AT_ONCE, 2 * head.ROWS_AT_ONCE + 1])
def test_rows_are_read_back_as_they_were_written(world: World, count: int) -> None:
    ada = world.actor("ada")
    first = datetime(2024, 5, 1, tzinfo=UTC)
    new_entries = [
        NewEntry(
            entry_type="llm.call",
            summary=f"note {n}",
            payload={"order": n},
            ts=first + timedelta(milliseconds=n) if n % 3 else None,
            trace_id=f"t{n}" if n % 2 else None,
            subjects=("Mia Örn",) if n == count - 1 else (),
        )
        for n in range(count)
    ]
    written = journal.write(new_entries, by=ada)
    fields = [field.attname for field in JournalEntry._meta.local_concrete_fields]
    for row in written:
        stored = JournalEntry.objects.get(pk=row.pk)
        for name in fields:
            expected, actual = getattr(row, name), getattr(stored, name)
            actual = bytes(actual) if name == "salt" else actual
            assert actual == expected, name
    assert [row.payload["order"] for row in written] == list(range(count))
    mentions = SubjectMention.objects.filter(entry_id=written[-1].id)
    assert [row.folded for row in mentions] == ["mia orn"]
    assert verify.verify(world.acme.id, by=world.actor("operator")).ok


@given(MOMENTS)
def test_a_stamp_is_rfc_3339_in_utc_with_milliseconds(moment: datetime) -> None:
    utc = moment.astimezone(UTC)
    plain = f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03}Z"
    assert journal.stamp(moment) == plain


def test_names_are_those_of_the_agents_that_exist(world: World) -> None:
    agents = {agent.id: agent.name for agent in Agent.objects.all()}
    assert authors.names([None, "", "agent_gone", *agents]) == agents
    assert authors.names([]) == authors.names([None]) == {}
