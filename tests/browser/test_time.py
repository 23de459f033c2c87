"""Time and relations in a browser: from an agent's calendar to an entry's life."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests import factories
from tests.browser.test_accessibility import judgement
from tests.episodic.test_graph import tie

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World

SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"


def test_from_a_day_of_an_agent_to_what_an_entry_is_related_to(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    row = shared_world.indexed("The parcel is lost", ts=factories.ago(40))
    near, far = (shared_world.entry(text) for text in ("A courier", "A receipt"))
    tie(row, near, 1.0, relation="supports")
    tie(near, far, 0.85)
    sign_in(page, "viewer")
    page.goto(f"{live_server}/workspace/agents/{shared_world.agents['ada'].id}/")
    page.get_by_text("The days as a table").click()
    page.locator(".weeks-table a").last.wait_for()
    assert judgement(page, axe, faults) == []
    page.locator(".calendar a").first.click()
    page.get_by_role("link", name="The parcel is lost").click()
    page.get_by_text("Embedded, its importance begins to decay").wait_for()
    assert judgement(page, axe, faults) == []
    page.get_by_role("link", name="Relations two steps far").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The parcel is lost")
    assert judgement(page, axe, faults) == []
    card = page.get_by_role("link", name="1: A courier, supports 1.00")
    card.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#h-entry")).to_have_text("A courier")


def test_a_phone_shows_the_newest_weeks_and_nothing_runs_out(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
) -> None:
    row = shared_world.indexed("The parcel is lost")
    tie(row, shared_world.entry("A courier"))
    sign_in(page, "viewer")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server}/workspace/agents/{shared_world.agents['ada'].id}/")
    weeks = page.locator(".calendar .weeks")
    weeks.wait_for()
    frame = weeks.bounding_box()
    newest = page.locator(".calendar a rect").last.bounding_box()
    oldest = page.locator(".calendar rect").first.bounding_box()
    assert frame is not None
    assert newest is not None
    assert oldest is not None
    assert newest["x"] + newest["width"] <= frame["x"] + frame["width"]
    assert oldest["x"] + oldest["width"] < frame["x"]
    assert not page.evaluate(SIDEWAYS)
    for path in (f"/recall/entries/{row.id}/", f"/journal/{row.id}/"):
        page.goto(f"{live_server}{path}")
        page.locator(".life").wait_for()
        assert not page.evaluate(SIDEWAYS), path
