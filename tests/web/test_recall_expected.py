"""An expected entry, named by words: its candidates, and what would bring it in."""

from __future__ import annotations

from html import unescape
from re import findall

import pytest

from memory.models import JournalEntry
from tests import factories
from tests.world import World


def candidates(world: World, words: str, **query: str) -> list[str]:
    """Return the addresses of the candidates for some words."""
    fields = {"query": "parcel", "entry_id": words, **query}
    response = world.page("viewer").get("/recall/", fields)
    assert response.status_code == 200
    panel = response.content.decode().split('id="h-why"', 1)[1].split("</section>")[0]
    return [unescape(link) for link in findall(r'data-row><a href="([^"]+)"', panel)]


def test_words_find_the_entry_and_choosing_it_explains(world: World) -> None:
    row = world.indexed("Refund of a <b>headlamp</b>")
    world.indexed("Theirs: a headlamp", by="olga")
    [link] = candidates(world, "headlamp")
    text = world.page("viewer").get(f"/recall/{link}").content.decode()
    assert row.id in link
    assert "Policy</span>" in text
    assert "<b>headlamp" not in text


def test_at_most_eight_candidates(world: World) -> None:
    for number in range(9):
        world.entry(f"Headlamp {number}")
    assert len(candidates(world, "headlamp")) == 8


@pytest.mark.parametrize("words", ["zyzzyva", "NEAR(", '"', "' OR 1=1 --"])
def test_words_without_an_entry(world: World, words: str) -> None:
    world.indexed("Refund of a headlamp")
    assert candidates(world, words) == []


def test_another_field_s_fault_leaves_the_words(world: World) -> None:
    row = world.indexed("Refund of a headlamp")
    world.indexed("Anchor chain")
    fields = {"query": "parcel", "entry_id": "headlamp", "if_entry_id": "j_none"}
    response = world.page("viewer").get("/recall/", fields)
    assert response.status_code == 422
    assert [entry.id for entry in response.context["page"].candidates] == [row.id]


def test_what_is_permanent_cannot_weigh_more(world: World) -> None:
    rows = [world.indexed("Headlamp", ts=factories.ago(n)) for n in range(2)]
    JournalEntry.objects.filter(workspace=world.acme).update(priority="permanent")
    browser = world.page("viewer")
    texts = [
        browser.get("/recall/", {"query": "headlamp", "k": "1", "entry_id": row.id})
        for row in rows
    ]
    assert any("below the cut" in text.content.decode() for text in texts)
    assert not any("weighed more?" in text.content.decode() for text in texts)


def test_only_what_a_ranking_finds_is_asked_what_would_lift_it(world: World) -> None:
    row = world.indexed("Headlamp")
    browser = world.page("viewer")
    for entry in (row, world.indexed("Headlamp again"), world.indexed("Headlamp")):
        fields = {"query": "headlamp", "k": "1", "entry_id": entry.id}
        text = browser.get("/recall/", fields).content.decode()
        below = "below the cut" in text.split('id="h-why"', 1)[1]
        assert ("What if it weighed more?" in text) is below
    fields = {"query": "z", "mode": "sparse", "entry_id": row.id}
    text = browser.get("/recall/", fields).content.decode()
    assert "What if it weighed more?" not in text
