"""The agent of the journal's and the records' filters: typed, found by name or id."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from memory import records
from memory.models import Agent, SavedView
from memory.records import Provenance
from memory.records.drafts import Draft
from memory.web import agent_field
from tests.world import World

PAGES = pytest.mark.parametrize("url", ["/journal/", "/records/"])


def get(browser: Any, url: str, **query: str) -> tuple[int, str]:
    response = browser.get(url, query)
    return response.status_code, unescape(response.content.decode())


def list_text(text: str) -> str:
    """Return the list, without the filters above it."""
    return text.split('id="h-list"', 1)[1]


def field(text: str) -> str:
    """Return what the field of the agent holds."""
    [control] = re.findall(r'<input type="search" name="agent_id"[^>]*>', text)
    value = re.search(r' value="([^"]*)"', control)
    return value[1] if value else ""


@pytest.fixture
def remembered(world: World) -> World:
    """A workspace in which two agents each wrote an entry and a record."""
    for name in ("ada", "bob"):
        world.entry(f"Entry of {name}", by=name)
        actor = world.actor(name)
        draft = Draft(content=f"Record of {name}", owner=records.owner_for(actor))
        records.save(draft, provenance=Provenance.AGENT_EXTRACTED, by=actor)
    return world


@PAGES
@pytest.mark.parametrize("name", ["bob", "billing/bob", " Bob ", "id"])
def test_an_agent_is_named_by_slug_crew_or_id(
    remembered: World, url: str, name: str
) -> None:
    agent_id = remembered.agents["bob"].id
    text = agent_id if name == "id" else name
    status, page = get(remembered.page("viewer"), url, agent_id=text)
    assert status == 200
    assert "of bob" in list_text(page)
    assert "of ada" not in list_text(page)
    assert field(page) == ("bob" if name == "id" else text)


@PAGES
@pytest.mark.parametrize("name", ["nobody", "olga", "bob/billing", "<b>x</b>"])
def test_a_name_that_no_agent_has_is_a_fault_beside_its_field(
    remembered: World, url: str, name: str
) -> None:
    response = remembered.page("viewer").get(url, {"agent_id": name})
    text = response.content.decode()
    assert response.status_code == 422
    assert "No agent here has this name. Choose one from the list." in text
    assert 'id="f-agent_id_error"' in text
    assert "<b>x" not in text


@PAGES
def test_a_slug_of_two_crews_wants_the_crew(remembered: World, url: str) -> None:
    crew = remembered.crews["billing"]
    Agent.objects.create(workspace=remembered.acme, crew=crew, slug="ada")
    browser = remembered.page("viewer")
    status, text = get(browser, url, agent_id="ada")
    assert status == 422
    assert "write billing/ada or support/ada" in text
    status, text = get(browser, url, agent_id="support/ada")
    assert status == 200
    assert "of ada" in list_text(text)
    _, text = get(browser, url, agent_id=remembered.agents["ada"].id)
    assert field(text) == "support/ada"


@PAGES
def test_a_large_workspace_has_a_bounded_list_and_finds_the_rest(
    remembered: World, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_field, "SUGGESTIONS", 2)
    _, text = get(remembered.page("viewer"), url)
    [suggestions] = re.findall(r'<datalist id="agents">(.*?)</datalist>', text)
    assert suggestions.count("<option") == 2
    assert '<select name="agent_id"' not in text
    for name in ("ada", "bob", "lena"):
        assert get(remembered.page("viewer"), url, agent_id=name)[0] == 200


@PAGES
def test_a_view_is_saved_with_the_id_of_the_agent(remembered: World, url: str) -> None:
    agent_id = remembered.agents["bob"].id
    browser = remembered.page("viewer")
    _, text = get(browser, url, agent_id="bob")
    [action] = re.findall(r'<form action="(/views/[^"]*)"', text)
    assert action.endswith(f"?agent_id={agent_id}")
    browser.post(action, {"name": "Of bob"})
    assert SavedView.objects.get().query == f"agent_id={agent_id}"
    for name in (agent_id, "bob"):
        _, text = get(browser, url, agent_id=name)
        assert f'href="{url}?agent_id={agent_id}" aria-current="true"' in text
        assert "of bob" in list_text(text)
        assert "of ada" not in list_text(text)


def test_addresses_of_the_journal_carry_the_id(remembered: World) -> None:
    agent_id = remembered.agents["bob"].id
    headers = {"HX-Request": "true", "HX-Target": "journal"}
    browser = remembered.page("viewer")
    reply = browser.get("/journal/", {"agent_id": "bob", "q": ""}, headers=headers)
    assert reply.headers["HX-Push-Url"] == f"/journal/?agent_id={agent_id}"
    text = reply.content.decode()
    assert f'action="/journal/export/?agent_id={agent_id}"' in text
    assert text.count('<datalist id="agents">') == 1


def test_chips_and_counts_name_the_agent(remembered: World) -> None:
    browser = remembered.page("viewer")
    agent_id = remembered.agents["bob"].id
    _, text = get(browser, "/journal/", agent_id=agent_id)
    assert re.search(r"Agent: <bdi[^>]*>bob</bdi>", text)
    _, text = get(browser, "/journal/counts/")
    assert re.search(rf"agent_id={agent_id}[^>]*><bdi>bob</bdi>", text)
