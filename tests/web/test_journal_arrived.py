"""How many entries of the journal's list arrived while it is open."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from memory.journal import timeline
from tests import factories
from tests.web.test_journal_page import get, row_ids
from tests.world import World


def polled(browser: Client, **query: str) -> str:
    """Open the list and return the address it asks for new entries."""
    _, text = get(browser, "/journal/", **query)
    match = re.search(r'id="arrived"[^>]* hx-get="([^"]+)"', text)
    assert match is not None
    return unescape(match[1])


def test_a_list_without_new_entries_stays_as_it_is(world: World) -> None:
    world.entry("Refund")
    browser = world.page("viewer")
    response = browser.get(polled(browser, q="refund"))
    assert (response.status_code, response.content) == (204, b"")


def test_new_entries_that_match_are_counted_and_shown(world: World) -> None:
    browser = world.page("viewer")
    address = polled(browser, q="refund")
    # Appended late, with a time before the list was read.
    row = world.entry("Refund", ts=factories.ago(2))
    world.entry("Parcel")
    world.entry("Refund", by="olga")
    _, text = get(browser, address)
    assert "1 new entry, show" in text
    link = re.search(r'id="show-arrived" href="([^"]+)"', text)
    assert link is not None
    assert row_ids(get(browser, unescape(link[1]))[1]) == [row.id]


def test_a_list_without_a_filter_counts_those_of_its_side(world: World) -> None:
    browser = world.page("viewer")
    address = polled(browser)
    world.entry("One")
    world.entry("Two")
    path = f"/journal/{world.entry('Three').id}/priority/"
    world.page("operator").post(path, {"priority": "pin"})
    assert "3 new entries, show" in get(browser, address)[1]


def test_many_new_entries_are_counted_up_to_a_cap(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "ARRIVED_CAP", 2)
    browser = world.page("viewer")
    address = polled(browser)
    for number in range(3):
        world.entry(f"Entry {number}")
    assert "More than 2 new entries" in get(browser, address)[1]


@pytest.mark.parametrize(
    "query", ["", "?after=x", "?after=-1", "?after=1&severity=loud"]
)
def test_a_wrong_question_is_refused(world: World, query: str) -> None:
    assert get(world.page("viewer"), f"/journal/arrived/{query}")[0] == 422


def test_a_stranger_hears_of_nothing(world: World) -> None:
    world.entry("Refund")
    path = "/journal/arrived/?after=0&entry_type=peer.escalation"
    assert world.page("stranger").get(path).status_code == 204
    assert Client().get(path).status_code == 302
