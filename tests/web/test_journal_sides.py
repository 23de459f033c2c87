"""Whose entries the journal shows: those of agents first, and what that hides."""

from __future__ import annotations

import pytest

from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry
from tests.web.test_journal_page import get, row_ids
from tests.world import World


def system_entry(world: World) -> JournalEntry:
    """Return an entry that no agent wrote."""
    new = NewEntry(entry_type="sweep.ended", summary="Refund sweep", trace_id="t_1")
    return journal.write([new], by=world.system())[0]


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        ("", {"agent"}),
        ("agents", {"agent"}),
        ("system", {"system"}),
        ("all", {"agent", "system"}),
    ],
)
def test_the_switch_chooses(world: World, show: str, expected: set[str]) -> None:
    rows = {"agent": world.entry("Refund"), "system": system_entry(world)}
    _, text = get(world.page("viewer"), "/journal/", q="refund", show=show)
    assert set(row_ids(text)) == {rows[name].id for name in expected}


def test_what_is_hidden_is_counted_within_the_filter(world: World) -> None:
    system_entry(world)
    world.entry("Refund")
    world.entry("Refund")
    browser = world.page("viewer")
    _, text = get(browser, "/journal/", q="refund")
    assert "1 entry of people and the system is hidden." in text
    _, text = get(browser, "/journal/", q="refund", show="system")
    assert "2 entries of agents are hidden." in text
    for query in ({"q": "refund", "show": "all"}, {"q": "zyzzyva"}):
        assert 'id="hidden"' not in get(browser, "/journal/", **query)[1]


def test_the_switch_and_the_filters_leave_each_other_alone(world: World) -> None:
    world.entry("Refund")
    _, text = get(world.page("viewer"), "/journal/", q="refund", show="all")
    assert 'href="/journal/?q=refund&amp;show=system"' in text
    assert 'href="/journal/?show=all"' in text
    assert '<input type="hidden" name="show" value="all"' in text
    assert 'hx-get="/journal/counts/?q=refund&amp;show=all"' in text


def test_counts_are_of_the_side_that_is_shown(world: World) -> None:
    system_entry(world)
    browser = world.page("viewer")
    assert "sweep.ended" not in get(browser, "/journal/counts/", q="refund")[1]
    query = {"q": "refund", "show": "system"}
    assert ">system</bdi>" in get(browser, "/journal/counts/", **query)[1]


def test_an_address_with_an_id_shows_an_entry_that_is_hidden(world: World) -> None:
    row = system_entry(world)
    status, text = get(world.page("viewer"), f"/journal/{row.id}/")
    assert status == 200
    assert f"Entry {row.id}" in text
    assert "?trace_id=t_1&amp;show=all" in text


def test_an_unknown_side_is_a_fault(world: World) -> None:
    world.entry("Refund")
    status, text = get(world.page("viewer"), "/journal/", show="ghosts")
    assert status == 422
    assert "show is one of agents, system, all." in text
    assert row_ids(text) == []


def test_a_list_that_is_empty_only_because_of_the_switch_says_so(world: World) -> None:
    JournalEntry.objects.filter(workspace=world.acme).delete()
    system_entry(world)
    assert "What matches is hidden." in get(world.page("viewer"), "/journal/")[1]
