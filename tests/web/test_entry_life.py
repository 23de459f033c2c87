"""The page of an entry's life and relations, and where it is loaded and linked."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from django.utils import timezone

from episodic.web import life_line, neighbour_graph
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import Priority
from tests.episodic.test_graph import graph, tie
from tests.episodic.test_life import of
from tests.web.test_journal_page import get
from tests.world import World

HOSTILE = '<script>alert("x")</script>'


def page_of(row: JournalEntry) -> str:
    return f"/recall/entries/{row.id}/"


@pytest.mark.parametrize(
    ("person", "status"), [("viewer", 200), ("stranger", 404), ("nobody", 302)]
)
def test_people_of_the_workspace_read_it(
    world: World, person: str, status: int
) -> None:
    assert world.page(person).get(page_of(world.entry())).status_code == status


def test_the_entry_s_page_loads_it(world: World) -> None:
    row = world.entry(entry_type="exec.output_chunk")
    browser = world.page("viewer")
    _, text = get(browser, f"/journal/{row.id}/")
    assert f'hx-get="{page_of(row)}"' in text
    part = browser.get(page_of(row), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Not embedded: exec.output_chunk is never embedded, by any flag." in part


def test_the_list_says_what_the_line_draws(world: World) -> None:
    row = world.indexed()
    journal.prioritise(row, Priority.HIGH, "often", by=world.actor("operator"))
    _, text = get(world.page("viewer"), page_of(row))
    assert "Priority high, was normal" in text
    assert "Never returned to an agent." in text
    assert "If nothing changes, its importance is " in text
    marks = re.findall(r'text-anchor="middle">(\d+)</text>', text)
    numbers = re.findall(r'<span class="note-number">(\d+)</span>', text)
    assert marks == numbers == ["1", "2", "3"]


def test_an_erased_entry_shows_dates_alone(world: World) -> None:
    row = world.indexed()
    JournalEntry.objects.filter(pk=row.pk).update(
        erased_at=timezone.now(), summary="", payload_text="{}"
    )
    _, text = get(world.page("viewer"), page_of(row))
    assert "Erased entry</h1>" in text
    assert "If nothing changes" not in text
    assert 'id="h-relations"' not in text


def test_relations_are_links_in_the_drawing_and_the_table(world: World) -> None:
    root, first, second = world.entry(), world.entry(HOSTILE), world.entry()
    tie(root, first, 1.0, relation="supports")
    tie(first, second, 0.85)
    _, text = get(world.page("viewer"), page_of(root))
    for row in (first, second):
        assert text.count(f'href="/journal/{row.id}/"') == 2
    assert 'class="edge supports"' in text
    assert ">1 · supports 1.00 · " in text
    assert HOSTILE not in text
    part = world.page("viewer").get(page_of(root), headers={"HX-Request": "true"})
    assert f"/journal/{second.id}/" not in part.content.decode()
    assert f'href="{page_of(root)}"' in part.content.decode()


def test_no_two_cards_cover_each_other_and_lines_meet_cards(world: World) -> None:
    root = world.entry()
    rows = [world.entry() for _ in range(14)]
    for row in rows[:5]:
        tie(root, row)
    for row in rows[5:]:
        tie(rows[0], row)
    drawing = neighbour_graph.draw(graph(world, root))
    assert drawing is not None
    for column in (1, 2):
        tops = sorted(c.y for c in drawing.cards if c.column == column)
        assert all(b - a >= neighbour_graph.CARD_HEIGHT for a, b in pairwise(tops))
        assert tops[0] >= 0
        assert tops[-1] + neighbour_graph.CARD_HEIGHT <= drawing.height
    assert [card.number for card in drawing.cards] == list(range(1, 15))
    for line in drawing.lines:
        assert line.path.startswith(f"M{line.inner.x + neighbour_graph.CARD_WIDTH} ")
        assert float(line.width) >= neighbour_graph.THINNEST
    assert neighbour_graph.draw(graph(world, rows[0], steps=0)) is None


def test_marks_stand_beside_or_below_each_other(world: World) -> None:
    row = world.indexed()
    for priority in (Priority.HIGH, Priority.NORMAL, Priority.PIN):
        journal.prioritise(row, priority, "", by=world.actor("operator"))
    drawing = life_line.draw(of(world, row))
    places = [(mark.x, mark.y) for mark in drawing.marks]
    assert len(set(places)) == len(places) == 5
    assert all(x is not None and 0 <= x <= life_line.WIDTH for x, _ in places)
    assert max(y for _, y in places) < drawing.top + drawing.height
