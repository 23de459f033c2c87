"""In a workspace where nothing has happened, every page says what comes next."""

from __future__ import annotations

import re

import pytest

from tests.world import World

pytestmark = pytest.mark.django_db

EMPTY = re.compile(
    r'<div class="empty">\s*<strong>(.*?)</strong>(.*?)</div>', re.DOTALL
)
LINK = re.compile(r'href="([^"]+)"')
OF_EVERYBODY = (
    "/recall/", "/recall/checks/", "/journal/", "/files/", "/records/", "/proposals/",
    "/proposals/?state=approved", "/health/", "/workspace/agents/",
)  # fmt: skip
# Pages of a role, each with the first link of its first empty state.
OWN = {
    "owner": {
        "/recall/questions/": "/workspace/settings/",
        "/workspace/keys/": "#h-agent-key",
        "/workspace/gateway/": "#h-issue",
        "/workspace/webhooks/": "#h-add",
    },
    "operator": {
        "/quarantine/": "/quarantine/rules/",
        "/quarantine/?state=discarded": "?state=held",
    },
    "compliance": {
        "/privacy/cases/": "/privacy/cases/new/",
        "/privacy/subjects/": "#h-add",
        "/privacy/holds/": "/privacy/subjects/",
        "/privacy/holds/?state=released": "?state=standing",
        "/privacy/certificates/": "/privacy/cases/",
        "/privacy/ledger/": "/privacy/cases/",
        "/privacy/exports/": "/privacy/subjects/",
        "/privacy/kept-out/": "/privacy/cases/",
    },
}


def _first_links(world: World, person: str, path: str) -> list[str]:
    """Return the first link of each empty state that has one."""
    page = world.page(person).get(path).content.decode()
    states = EMPTY.findall(page)
    assert states, path
    return [links[0] for _, rest in states if (links := LINK.findall(rest))]


@pytest.mark.parametrize("person", ["owner", "viewer"])
def test_an_empty_page_leads_on_to_what_opens(world: World, person: str) -> None:
    world.new_workspace()
    client = world.page(f"new {person}")
    for path in OF_EVERYBODY:
        links = _first_links(world, f"new {person}", path)
        assert links, path
        for link in links:
            place = link if link.startswith("/") else path.partition("?")[0] + link
            assert client.get(place).status_code == 200, (path, link)


@pytest.mark.parametrize("person", ["owner", "operator", "compliance"])
def test_the_empty_pages_of_a_role_name_the_next_act(world: World, person: str) -> None:
    world.new_workspace()
    client = world.page(f"new {person}")
    for path, link in OWN[person].items():
        assert _first_links(world, f"new {person}", path)[0] == link, path
        if link.startswith("#"):
            page = client.get(path).content.decode()
            assert f'id="{link[1:]}"' in page, path
        else:
            place = link if link.startswith("/") else path.partition("?")[0] + link
            assert client.get(place).status_code == 200, path


def test_where_agents_write_an_empty_list_leads_to_another_client(
    world: World,
) -> None:
    assert _first_links(world, "owner", "/records/") == ["/conformance/"]
