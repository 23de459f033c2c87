"""The counts of the journal's list: bars, facets, and the links that narrow."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from memory.journal import facets
from memory.models import JournalEntry
from memory.rules.entries import Severity
from memory.web import journal_counts_page
from tests import factories
from tests.web.test_journal_page import get, row_ids
from tests.world import World

COUNTS = "/journal/counts/"
ESCALATIONS = {"entry_type": "peer.escalation"}


def links(text: str, words: str) -> list[str]:
    """Return the addresses of the links with these words."""
    found = re.findall(rf'<a [^>]*href="([^"]+)"[^>]*>(?:<bdi>)?{words}<', text)
    return [unescape(address) for address in found]


def test_the_list_loads_its_counts_with_its_filter(world: World) -> None:
    world.entry("Refund")
    _, text = get(world.page("viewer"), "/journal/", q="refund")
    assert 'hx-get="/journal/counts/?q=refund"' in text


def test_an_entry_beside_the_list_leaves_the_counts_out(world: World) -> None:
    row = world.entry("Refund")
    _, text = get(world.page("viewer"), f"/journal/{row.id}/")
    assert "/journal/counts/" not in text


def test_each_bar_leads_to_exactly_its_entries(world: World) -> None:
    rows = [world.entry(f"Day {day}", ts=factories.ago(day)) for day in (1, 2, 30)]
    browser = world.page("viewer")
    status, text = get(browser, COUNTS, **ESCALATIONS)
    assert status == 200
    spans = re.findall(r'<tr><td><a class="row" href="([^"]+)"', text)
    pages = [row_ids(get(browser, unescape(span))[1]) for span in spans]
    assert [row_id for page in pages for row_id in page] == [
        row.id for row in reversed(rows)
    ]
    drawn = re.findall(r'<a href="([^"]+)" tabindex="-1" data-from', text)
    assert set(spans) <= set(drawn)


def test_a_facet_narrows_the_list_and_keeps_the_filter(world: World) -> None:
    row = world.entry("Refund", severity=Severity.ERROR)
    world.entry("Refund")
    world.entry("Parcel", severity=Severity.ERROR)
    browser = world.page("viewer")
    _, text = get(browser, COUNTS, q="refund")
    [address] = links(text, "error")
    assert row_ids(get(browser, address)[1]) == [row.id]


def test_agents_are_listed_by_name(world: World) -> None:
    world.entry("Refund")
    _, text = get(world.page("viewer"), COUNTS, **ESCALATIONS)
    [address] = links(text, "ada")
    assert world.agents["ada"].id in address


def test_values_beyond_the_first_are_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_counts_page, "TOP", 1)
    world.entry("One")
    world.entry("Two", by="bob")
    _, text = get(world.page("viewer"), COUNTS, **ESCALATIONS)
    assert "1 more" in text


def test_a_bounded_count_says_that_it_is_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "LIMIT", 2)
    for number in range(3):
        world.entry(f"Entry {number}")
    _, text = get(world.page("viewer"), COUNTS, **ESCALATIONS)
    assert "the newest 2 of the entries that match" in text


@pytest.mark.parametrize(
    "query",
    [
        {"severity": "loud"},
        {"actor_type": "ghost"},
        {"since": "2026-02-02", "until": "2026-02-01"},
    ],
)
def test_an_invalid_filter_is_refused(world: World, query: dict[str, str]) -> None:
    world.entry("Refund")
    status, text = get(world.page("viewer"), COUNTS, **query)
    assert status == 422
    assert "a filter is invalid" in text


def test_nothing_that_matches_is_said(world: World) -> None:
    assert "no entry matches" in get(world.page("viewer"), COUNTS, q="zyzzyva")[1]


def test_a_hostile_type_is_text(world: World) -> None:
    row = world.entry("Refund denied")
    rows = JournalEntry.objects.filter(pk=row.pk)
    rows.update(entry_type="<script>alert(1)</script>")
    _, text = get(world.page("viewer"), COUNTS)
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text


def test_htmx_gets_the_fragment(world: World) -> None:
    response = world.page("viewer").get(COUNTS, headers={"HX-Request": "true"})
    assert b"<html" not in response.content
    assert b'id="counts"' in response.content


def test_counts_need_a_login(world: World) -> None:
    assert Client().get(COUNTS).status_code == 302


def test_a_stranger_counts_nothing_of_this_workspace(world: World) -> None:
    world.entry("Refund")
    agent_id = world.agents["ada"].id
    browser = world.page("stranger")
    assert get(browser, COUNTS, agent_id=agent_id)[0] == 422
    assert "no entry matches" in get(browser, COUNTS, **ESCALATIONS)[1]
