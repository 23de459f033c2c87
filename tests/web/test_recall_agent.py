"""The agent that the recall page starts with."""

from __future__ import annotations

import re
from typing import Any

from tests import factories
from tests.world import World


def agent(browser: Any, **query: str) -> str:
    """Return the id that the field of the agent has on the page."""
    text = browser.get("/recall/", query).content.decode()
    select = text.split('id="r-agent_id"', 1)[1].split("</select>", 1)[0]
    match = re.search(r'<option value="([^"]*)" selected', select)
    return match[1] if match else ""


def test_the_most_recently_active_agent_is_chosen(world: World) -> None:
    world.entry("Refund", by="bob", ts=factories.ago(2))
    world.entry("Refund", by="ada", ts=factories.ago(1))
    world.entry("Theirs", by="olga")
    assert agent(world.page("viewer")) == world.agents["ada"].id


def test_then_the_agent_last_asked_as(world: World) -> None:
    world.entry("Refund", by="ada")
    browser, bob = world.page("viewer"), world.agents["bob"].id
    browser.get("/recall/", {"query": "refund", "agent_id": bob})
    assert agent(browser) == bob
    assert agent(world.page("operator")) == world.agents["ada"].id


def test_an_agent_of_another_workspace_is_never_chosen(world: World) -> None:
    world.entry("Refund", by="ada")
    browser, olga = world.page("viewer"), world.agents["olga"].id
    session = browser.session
    session["recall_agent"] = olga
    session.save()
    assert agent(browser) == world.agents["ada"].id


def test_the_whole_workspace_stays_a_choice(world: World) -> None:
    world.entry("Refund", by="ada")
    browser = world.page("viewer")
    assert agent(browser, agent_id="") == ""
    assert agent(browser, query="refund") == ""


def test_without_an_entry_no_agent_is_chosen(world: World) -> None:
    assert agent(world.page("viewer")) == ""
