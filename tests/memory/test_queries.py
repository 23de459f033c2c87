"""Lists and access: every filter, counts, pages, and whose things they are."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import fulltext, overview, workspace_tree
from memory.journal import append as journal
from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority, Severity
from tests import factories
from tests.world import World

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def full(world: World) -> World:
    """A journal in which every filter has something to find and to leave out."""
    world.entry("one lost receipt", ts=NOON, mission_id="m1", trace_id="t1")
    world.entry(
        "two parcels", by="lena", ts=NOON + timedelta(hours=1), severity=Severity.ERROR
    )
    row = world.entry(
        "three receipts",
        by="bob",
        ts=NOON + timedelta(hours=2),
        entry_type="llm.call",
        subjects=("Jan Novák", "jan@x.example"),
    )
    journal.prioritise(row, Priority.PIN, "", by=world.actor("operator"))
    world.entry("lost receipt elsewhere", by="olga", ts=NOON)
    return world


def found_summaries(world: World, actor: str = "operator", **filters: Any) -> set[str]:
    """Return the summaries of what agents wrote that somebody finds."""
    rows = queries.filtered(world.actor(actor), JournalFilter(**filters))
    agents = rows.filter(ts__lt=datetime(2026, 2, 1, tzinfo=UTC))
    assert rows.count() == len(list(rows))
    return {row.summary.split()[0] for row in agents}


# ── Filters ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"one", "two", "three"}),
        ({"q": "receipt"}, {"one", "three"}),
        ({"q": "LOST receipts"}, {"one"}),
        ({"q": '"lost receipt"'}, {"one"}),
        ({"q": "***"}, set()),
        ({"q": "   "}, {"one", "two", "three"}),
        ({"mission_id": "m1"}, {"one"}),
        ({"mission_id": "m2"}, set()),
        ({"trace_id": "t1"}, {"one"}),
        ({"entry_type": ("llm.call",)}, {"three"}),
        ({"entry_type": ("llm.call", "peer.escalation")}, {"one", "two", "three"}),
        ({"exclude_entry_type": ("llm.call",)}, {"one", "two"}),
        ({"severity": ("error",)}, {"two"}),
        ({"severity": ("info", "error")}, {"one", "two", "three"}),
        ({"priority": ("pin",)}, {"three"}),
        ({"priority": ("normal",)}, {"one", "two"}),
        ({"since": NOON + timedelta(hours=1)}, {"two", "three"}),
        ({"until": NOON + timedelta(hours=1)}, {"one", "two"}),
        ({"since": NOON, "until": NOON}, {"one"}),
        ({"subject": "JAN NOVAK"}, {"three"}),
        ({"subject": "jan@x.example"}, {"three"}),
        ({"subject": "jan"}, set()),
    ],
)
def test_each_filter_alone(
    full: World, filters: dict[str, Any], expected: set[str]
) -> None:
    assert found_summaries(full, **filters) == expected


def test_crew_and_agent_filters(full: World) -> None:
    assert found_summaries(full, crew_id=full.crews["support"].id) == {"one", "two"}
    assert found_summaries(full, agent_id=full.agents["bob"].id) == {"three"}


def test_filters_combine_by_and(full: World) -> None:
    bits: list[dict[str, Any]] = [
        {"q": "receipt"},
        {"crew_id": full.crews["support"].id},
        {"mission_id": "m1"},
        {"entry_type": ("peer.escalation",)},
        {"exclude_entry_type": ("llm.call",)},
        {"severity": ("info",)},
        {"priority": ("normal",)},
        {"since": NOON},
        {"until": NOON + timedelta(hours=2)},
    ]
    results = [found_summaries(full, **bit) for bit in bits]
    for (i, first), (j, right) in itertools.combinations(enumerate(bits), 2):
        assert found_summaries(full, **first, **right) == results[i] & results[j]


def test_a_range_that_ends_before_it_begins_is_invalid(world: World) -> None:
    with pytest.raises(errors.Invalid) as caught:
        found_summaries(world, since=NOON, until=NOON - timedelta(seconds=1))
    assert caught.value.problem_code == "bad_range"


# ── Whose ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("actor", "expected"),
    [
        ("viewer", {"one", "two", "three"}),
        ("ada", {"one", "two"}),
        ("bob", {"three"}),
        ("stranger", {"lost"}),
        ("olga", {"lost"}),
    ],
)
def test_everybody_finds_their_own(full: World, actor: str, expected: set[str]) -> None:
    assert found_summaries(full, actor) == expected


def test_an_agent_does_not_name_another_crew_or_its_agents(full: World) -> None:
    for filters in (
        {"crew_id": full.crews["billing"].id},
        {"crew_id": full.crews["other/support"].id},
        {"agent_id": full.agents["bob"].id},
        {"agent_id": full.agents["olga"].id},
        {"agent_id": "agent_0000000000000000"},
    ):
        with pytest.raises(errors.NotFound):
            found_summaries(full, "ada", **filters)


def test_missing_and_not_yours_are_one_answer(full: World) -> None:
    foreign = JournalEntry.objects.filter(workspace=full.other).latest("seq")
    operator = full.actor("operator")
    messages = set()
    for entry_id in (foreign.id, "j_0000000000000000", ""):
        with pytest.raises(errors.NotFound) as caught:
            queries.entry(operator, entry_id)
        messages.add((caught.value.detail, str(caught.value.fields)))
    assert len(messages) == 1


def test_an_agent_cannot_open_another_crews_entry(full: World) -> None:
    foreign = full.entry(by="bob")
    with pytest.raises(errors.NotFound):
        queries.entry(full.actor("ada"), foreign.id)
    assert queries.entry(full.actor("bob"), foreign.id) == foreign


def test_lists_of_crews_and_agents_end_at_the_crew_or_the_workspace(
    world: World,
) -> None:
    assert {c.slug for c in workspace_tree.crews(world.actor("viewer"))} == {
        "support",
        "billing",
    }
    assert [c.slug for c in workspace_tree.crews(world.actor("ada"))] == ["support"]
    viewer = [a.slug for a in workspace_tree.agents(world.actor("viewer"))]
    assert viewer == ["bob", "lena", "ada"]
    assert [a.slug for a in workspace_tree.agents(world.actor("ada"))] == [
        "lena",
        "ada",
    ]


# ── Pages ────────────────────────────────────────────────────────────────────
def all_pages(world: World, limit: int, **filters: Any) -> list[list[str]]:
    actor, wants = world.actor("operator"), JournalFilter(**filters)
    pages, cursor = [], None
    while True:
        page = queries.journal_page(actor, wants, limit=limit, cursor=cursor)
        pages.append([row.id for row in page.entries])
        cursor = page.next_cursor
        if cursor is None:
            return pages


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    offsets=st.lists(st.integers(0, 3), min_size=0, max_size=12),
    limit=st.integers(1, 13),
)
def test_pages_hold_every_entry_once_newest_first(
    world: World, offsets: list[int], limit: int
) -> None:
    JournalEntry.objects.filter(entry_type="test.page").delete()
    for offset in offsets:
        when = NOON + timedelta(milliseconds=offset)
        world.entry(ts=when, entry_type="test.page")
    pages = all_pages(world, limit, entry_type=("test.page",))
    ids = [entry_id for page in pages for entry_id in page]
    rows = JournalEntry.objects.filter(entry_type="test.page")
    assert ids == list(rows.order_by("-ts", "-seq").values_list("pk", flat=True))
    assert all(len(page) == limit for page in pages[:-1])


def test_an_exactly_full_last_page_has_no_cursor(world: World) -> None:
    factories.append_many(world.actor("ada"), ["a", "b"], entry_type="test.page")
    assert len(all_pages(world, 2, entry_type=("test.page",))) == 1


def test_entries_written_meanwhile_do_not_disturb_older_pages(world: World) -> None:
    rows = factories.append_many(world.actor("ada"), "abcd", entry_type="test.page")
    actor, filters = world.actor("operator"), JournalFilter(entry_type=("test.page",))
    first = queries.journal_page(actor, filters, limit=2)
    world.entry("late", entry_type="test.page")
    second = queries.journal_page(actor, filters, limit=2, cursor=first.next_cursor)
    assert [row.id for row in second.entries] == [rows[1].id, rows[0].id]
    assert second.next_cursor is None


def test_a_cursor_of_another_question_or_workspace(world: World) -> None:
    factories.append_many(world.actor("ada"), "abc")
    actor = world.actor("operator")
    cursor = queries.journal_page(actor, JournalFilter(), limit=1).next_cursor
    with pytest.raises(errors.Invalid):
        queries.journal_page(actor, JournalFilter(q="a"), limit=1, cursor=cursor)
    with pytest.raises(errors.NotFound):
        queries.journal_page(
            world.actor("stranger"), JournalFilter(), limit=1, cursor=cursor
        )


@pytest.mark.parametrize(
    ("filters", "digest"),
    [
        (JournalFilter(), "4c8373b040b6989a"),
        (JournalFilter(q="refund", severity=("warn",)), "5f7ede1955142fe8"),
    ],
)
def test_cursors_of_earlier_versions_stay_valid(
    filters: JournalFilter, digest: str
) -> None:
    assert filters.digest == digest


# ── Around one entry ─────────────────────────────────────────────────────────
def test_an_entry_knows_its_neighbours_in_the_chain(world: World) -> None:
    first, second, third = (world.entry() for _ in range(3))
    place = queries.entry_place(second)
    assert (place.previous, place.following, place.verdict) == (first, third, "holds")
    assert queries.entry_place(third).following is None
    first_of_all = JournalEntry.objects.get(workspace=world.acme, seq=1)
    assert queries.entry_place(first_of_all).previous is None


@pytest.mark.sqlite
def test_a_rare_word_costs_no_walk_through_the_workspace(
    full: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> QuerySet[JournalEntry]:
        matching = queries.filtered(full.actor("operator"), JournalFilter(q="receipt"))
        return matching.order_by("-ts", "-seq")

    rare, plan = list(rows()), rows().explain()
    monkeypatch.setattr(fulltext, "FEW", 1)
    assert "(docid=?)" in plan
    assert "journal_ts" in rows().explain()
    assert list(rows()) == rare


@pytest.mark.sqlite
def test_warnings_and_errors_are_counted_in_their_own_index(world: World) -> None:
    world.entry("Run broke", entry_type="run.failed", severity=Severity.ERROR)
    actor = world.actor("operator")
    with CaptureQueriesContext(connection) as statements:
        alerts = overview.alerts(actor, since=NOON)
    assert (alerts.warnings, alerts.errors) == (0, 1)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {statements[0]['sql']}")
        assert "journal_loud" in str(cursor.fetchall())
