"""The rail's places and the tabs of each."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crewship_memory import places
from memory.rules.permissions import PERSON_ROLES, Role
from tests.world import World

OF_ROLES = {
    Role.VIEWER: "viewer",
    Role.OPERATOR: "operator",
    Role.COMPLIANCE: "compliance",
    Role.ADMIN: "owner",
}


@pytest.mark.parametrize("role", PERSON_ROLES)
def test_every_tab_that_is_shown_opens(world: World, role: Role) -> None:
    person = OF_ROLES[role]
    client = world.page(person)
    for place in places.of(world.actor(person), "/"):
        for tab in place.tabs:
            assert client.get(tab.url).status_code == 200, tab.url


def test_the_rail_has_about_ten_places(world: World) -> None:
    titles = [place.title for place in places.of(world.actor("owner"), "/")]
    assert len(titles) <= 10
    assert titles[0] == "Home"


def test_a_place_without_an_open_tab_is_left_out(world: World) -> None:
    titles = {place.title for place in places.of(world.actor("viewer"), "/")}
    assert "Personal data" not in titles
    review = next(
        place
        for place in places.of(world.actor("viewer"), "/")
        if place.title == "Review"
    )
    assert [tab.title for tab in review.tabs] == ["Proposals"]


@pytest.mark.parametrize(
    ("path", "view_name", "title"),
    [
        ("/", "home", "Home"),
        ("/quarantine/rules/a.b/", "quarantine:rule", "Scanner rules"),
        ("/quarantine/q_1/", "quarantine:case", "Quarantine"),
        ("/privacy/cases/c_1/certificate/", "privacy:certificate", "Certificates"),
        ("/workspace/keys/person/", "workspace:operator_key", "Keys"),
        ("/workspace/crews/crew_1/", "workspace:crew", "Agents"),
        ("/find/", "find", None),
    ],
)
def test_the_tab_of_a_page_below_it_is_marked(
    world: World, path: str, view_name: str, title: str | None
) -> None:
    tabs = [
        tab.title
        for place in places.of(world.actor("owner"), path, view_name)
        for tab in place.tabs
        if tab.is_current
    ]
    assert tabs == ([title] if title else [])


def test_keys_that_go_to_places_are_different() -> None:
    keys = [place.key for place in places.PLACES]
    assert len(set(keys)) == len(keys)


def test_a_page_of_a_group_shows_its_tabs(world: World) -> None:
    page = world.page("owner").get(reverse("privacy:ledger")).content.decode()
    assert 'class="tabs place-tabs" aria-label="Personal data"' in page
    assert '<a href="/privacy/ledger/" aria-current="page">Audit log</a>' in page


def test_the_frame_of_a_page_reads_no_list_of_agents(world: World) -> None:
    client = world.page("owner")
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/jobs/").status_code == 200
    assert not [q for q in queries if 'FROM "agents"' in q["sql"]]
