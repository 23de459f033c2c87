"""The map by hand and by keyboard: points, an area, a question, on a phone too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from episodic.index import sweep
from episodic.map import compute

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World


@pytest.fixture
def open_map(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
) -> Page:
    for city in ("Bergen", "Oslo", "Tromsø", "Bodø"):
        shared_world.entry(f"The parcel to {city} is late")
        shared_world.entry(f"A refund for {city} was denied")
    sweep.sweep()
    compute.compute(shared_world.acme.id)
    sign_in(page, "viewer").goto(f"{live_server.url}/map/")
    # The note is empty again when the points are there.
    expect(page.locator("#map-said")).to_have_text("")
    return page


def drag(page: Page, *corners: tuple[float, float]) -> None:
    """Drag over the picture; corners are shares of its width and height."""
    box = page.locator("#map-canvas").bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"])
              for x, y in corners]  # fmt: skip
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


def test_the_keyboard_alone_reads_a_point(open_map: Page, faults: list[str]) -> None:
    page = open_map
    page.locator("#map-canvas").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    heading = page.locator("#h-spot")
    expect(heading).to_contain_text("at this point")
    expect(heading).to_be_focused()
    link = page.locator(".map-spot a[href*='/journal/']").first
    assert "at=" in page.url
    link.click()
    expect(page.locator("h1")).to_be_visible()
    assert "/journal/j_" in page.url


def test_an_area_a_colour_and_a_question(open_map: Page, faults: list[str]) -> None:
    page = open_map
    page.get_by_role("button", name="Draw an area").click()
    drag(page, (0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99))
    expect(page.locator("#h-entries")).to_have_text("8 entries selected")
    expect(page.get_by_role("button", name="Draw an area")).to_have_attribute(
        "aria-pressed", "false"
    )
    page.locator(".map-colours").get_by_text("Recalled").click()
    page.locator("#map-legend").get_by_text("never recalled").click()
    expect(page.locator(".map-filters a")).to_have_count(2)
    page.locator("#map-query").fill("parcel to Oslo")
    page.keyboard.press("Enter")
    expect(page.locator("#h-trail")).to_contain_text("joined in their order")
    expect(page.locator(".map-steps li").first).to_contain_text("Oslo")


def test_on_a_phone_the_list_follows_the_picture(
    open_map: Page, faults: list[str]
) -> None:
    page = open_map
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture = page.locator("#map-canvas").bounding_box()
    entries = page.locator("#h-entries").bounding_box()
    assert picture is not None
    assert entries is not None
    assert picture["height"] < 844
    assert entries["y"] > picture["y"] + picture["height"]
