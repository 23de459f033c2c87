"""The calendar of activity on its page, and where it is loaded."""

from __future__ import annotations

import re
from html import unescape

import pytest

from memory.models import JournalEntry
from tests import factories
from tests.web.test_journal_page import get, row_ids
from tests.world import World

CALENDAR = "/journal/calendar/"


def of_ada(world: World) -> dict[str, str]:
    return {"agent_id": world.agents["ada"].id}


@pytest.mark.parametrize(
    ("person", "status"), [("viewer", 200), ("stranger", 404), ("nobody", 302)]
)
def test_people_of_the_workspace_read_it(
    world: World, person: str, status: int
) -> None:
    browser = world.page(person)
    assert browser.get(CALENDAR, of_ada(world)).status_code == status
    query = {"crew_id": world.crews["support"].id}
    assert browser.get(CALENDAR, query).status_code == status


def test_one_owner_is_named(world: World) -> None:
    browser = world.page("viewer")
    two_owners = {**of_ada(world), "crew_id": world.crews["support"].id}
    for query in ({}, {"agent_id": ""}, two_owners):
        assert browser.get(CALENDAR, query).status_code == 422
    assert browser.get(CALENDAR, {"agent_id": "agent_0"}).status_code == 404


def test_each_day_leads_to_exactly_its_entries(world: World) -> None:
    rows = [world.entry(ts=factories.ago(days)) for days in (1, 1, 2, 300)]
    other = world.entry(ts=factories.ago(1))
    JournalEntry.objects.filter(pk=other.pk).update(actor_type="user")
    browser = world.page("viewer")
    _, text = get(browser, CALENDAR, **of_ada(world))
    squares = re.findall(r'<a href="([^"]+)" tabindex="-1">', text)
    cells = re.findall(r'<td class="number"><a href="([^"]+)"', text)
    assert set(squares) == set(cells)
    assert len(squares) == 3
    pages = [row_ids(get(browser, unescape(link))[1]) for link in squares]
    assert sorted(map(sorted, pages)) == sorted(
        [[rows[3].id], [rows[2].id], sorted([rows[0].id, rows[1].id])]
    )
    assert "4 entries on 3 days" in text


def test_the_pages_of_an_agent_and_a_crew_load_it(world: World) -> None:
    browser = world.page("viewer")
    ada, support = world.agents["ada"].id, world.crews["support"].id
    for path, query in (
        (f"/workspace/agents/{ada}/", f"agent_id={ada}"),
        (f"/workspace/crews/{support}/", f"crew_id={support}"),
    ):
        text = browser.get(path).content.decode()
        assert f'hx-get="{CALENDAR}?{query}"' in text
        assert f'href="{CALENDAR}?{query}"' in text
        part = browser.get(
            f"{CALENDAR}?{query}", headers={"HX-Request": "true"}
        ).content.decode()
        assert part.lstrip().startswith("<section")


def test_without_an_entry_it_says_so(world: World) -> None:
    _, text = get(world.page("viewer"), CALENDAR, **of_ada(world))
    assert "ada wrote nothing in the last 53 weeks." in text
    assert 'class="calendar"' not in text
