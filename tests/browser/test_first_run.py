"""An agent builder's first ten minutes: from an empty workspace to a recalled entry."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from episodic.index import sweep as index
from tests.browser.test_accessibility import judgement

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World


@pytest.mark.parametrize("width", [1280, 390])
def test_an_agent_builders_first_ten_minutes(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
    width: int,
) -> None:
    shared_world.new_workspace()
    page.set_viewport_size({"width": width, "height": 844})
    sign_in(page, "new owner").goto(live_server.url + "/")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("No agent has written here yet")
    assert judgement(page, axe, faults) == []
    page.get_by_label("Crew", exact=True).fill("mining")
    page.get_by_label("Agent", exact=True).fill("copper")
    page.get_by_role("button", name="Add the agent").click()
    page.get_by_role("button", name="Issue the key for copper").click()
    expect(page.locator("#first-key:focus")).to_be_visible()
    page.get_by_role("radio", name="curl").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#way-python-1")).to_be_visible()
    expect(page.locator("#way-curl-1")).to_be_hidden()
    assert judgement(page, axe, faults) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    program = page.locator("#way-curl-1").text_content()
    subprocess.run(["bash", "-euc", str(program)], check=True, capture_output=True)
    # Nobody touches the page: it sees the entry, and stops asking.
    expect(heading).to_have_text("copper has written its first entry")
    index.sweep()
    page.get_by_role("link", name="Recall it").click()
    expect(heading).to_have_text("What would copper recall?")
    expect(page.locator("main")).to_contain_text("need a second approval")


def test_who_may_not_connect_an_agent_reads_who_may(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    shared_world.new_workspace()
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, "new operator").goto(live_server.url + "/")
    expect(page.locator("#first-run")).to_contain_text("owner@new.example")
    expect(page.locator("#first-run").get_by_role("button")).to_have_count(0)
    assert judgement(page, axe, faults) == []
