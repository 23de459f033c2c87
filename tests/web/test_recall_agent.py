"""The agent that the recall page starts with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memory.models import Agent
from memory.web import agent_field
from tests import factories
from tests.world import World


def agent(browser: Any, **query: str) -> str:
    """Return the name that the field of the agent has on the page."""
    text = browser.get("/recall/", query).content.decode()
    field = re.search(r'<input type="search" name="agent_id"[^>]*>', text)
    assert field is not None
    match = re.search(r' value="([^"]*)"', field[0])
    return match[1] if match else ""


def test_the_most_recently_active_agent_is_chosen(world: World) -> None:
    world.entry("Refund", by="bob", ts=factories.ago(2))
    world.entry("Refund", by="ada", ts=factories.ago(1))
    world.entry("Theirs", by="olga")
    assert agent(world.page("viewer")) == "ada"


def test_then_the_agent_last_asked_as(world: World) -> None:
    world.entry("Refund", by="ada")
    browser, bob = world.page("viewer"), world.agents["bob"].id
    browser.get("/recall/", {"query": "refund", "agent_id": bob})
    assert agent(browser) == "bob"
    assert agent(world.page("operator")) == "ada"


def test_an_agent_of_another_workspace_is_never_chosen(world: World) -> None:
    world.entry("Refund", by="ada")
    browser, olga = world.page("viewer"), world.agents["olga"].id
    session = browser.session
    session["recall_agent"] = olga
    session.save()
    assert agent(browser) == "ada"


def test_the_whole_workspace_stays_a_choice(world: World) -> None:
    world.entry("Refund", by="ada")
    browser = world.page("viewer")
    assert agent(browser, agent_id="") == ""
    assert agent(browser, query="refund") == ""


def test_without_an_entry_no_agent_is_chosen(world: World) -> None:
    assert agent(world.page("viewer")) == ""


# ── Naming an agent ──────────────────────────────────────────────────────────
def ask(world: World, name: str, field: str = "agent_id") -> tuple[int, str]:
    fields = {"query": "refund", "against": "agent", field: name}
    response = world.page("viewer").get("/recall/", fields)
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("name", ["bob", "billing/bob", " Bob ", "id"])
def test_an_agent_is_named_by_slug_crew_or_id(world: World, name: str) -> None:
    world.indexed("Refund of bob", by="bob")
    world.indexed("Refund of ada", by="ada")
    text = name if name != "id" else world.agents["bob"].id
    status, page = ask(world, text)
    assert status == 200
    assert "What would bob recall?" in page
    answer = page.split('id="h-answer"', 1)[1].split("</section>", 1)[0]
    assert "Refund of bob" in answer
    assert "Refund of ada" not in answer


@pytest.mark.parametrize("field", ["agent_id", "against_agent_id"])
@pytest.mark.parametrize("name", ["nobody", "olga", "bob/billing", "<b>x</b>"])
def test_a_name_that_no_agent_has_is_a_fault_beside_its_field(
    world: World, name: str, field: str
) -> None:
    status, page = ask(world, name, field)
    assert status == 422
    assert "No agent here has this name. Choose one from the list." in page
    assert f'id="r-{field}_error"' in page
    assert "<b>x" not in page


def test_a_slug_of_two_crews_wants_the_crew(world: World) -> None:
    crew = world.crews["billing"]
    Agent.objects.create(workspace=world.acme, crew=crew, slug="ada")
    status, page = ask(world, "ada")
    assert status == 422
    assert "write billing/ada or support/ada" in page
    status, page = ask(world, "support/ada")
    assert status == 200
    assert agent(world.page("viewer"), agent_id=world.agents["ada"].id) == "support/ada"


def test_a_large_workspace_has_a_bounded_list_and_finds_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_field, "SUGGESTIONS", 2)
    _, page = ask(world, "bob")
    suggestions = page.split('<datalist id="agents">')[1].split("</datalist>")[0]
    assert suggestions.count("<option") == 2
    assert ask(world, "lena")[0] == ask(world, "ada")[0] == 200
