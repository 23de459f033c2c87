"""Keys on every list, and the command palette."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_keys_move_in_a_list_and_open_a_row(
    page: Page, sign_in: Callable[..., Page], shared_world: World, live_server: object
) -> None:
    shared_world.record()
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/records/")
    inside.keyboard.press("j")
    expect(inside.locator("[data-row] a:focus")).to_have_count(1)
    inside.keyboard.press("?")
    keys = inside.locator("#keys")
    expect(keys).to_contain_text("Next and previous row")
    expect(keys.locator("#keys-places")).to_contain_text("Journal")
    inside.keyboard.press("Escape")
    inside.locator("[data-row] a").first.focus()
    inside.keyboard.press("o")
    inside.wait_for_url("**/records/rec_*/")
    inside.keyboard.press("g")
    inside.keyboard.press("j")
    inside.wait_for_url("**/journal/")


def test_keys_rest_in_fields_and_when_switched_off(
    page: Page, sign_in: Callable[..., Page], shared_world: World, live_server: object
) -> None:
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/records/")
    inside.locator("#main input[name=q]").press_sequentially("gj?")
    expect(inside.locator("#main input[name=q]")).to_have_value("gj?")
    expect(inside.locator("#keys")).to_be_hidden()
    inside.evaluate("localStorage.setItem('crewship-keys', 'off')")
    inside.locator("main h1").click()
    inside.keyboard.press("?")
    expect(inside.locator("#keys")).to_be_hidden()


def test_the_palette_finds_by_keyboard(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    entry = shared_world.entry("Refund above $200 was denied")
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/records/")
    inside.keyboard.press("Control+k")
    options = inside.locator("#palette-hits [role=option]")
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert axe(inside) == []
    inside.keyboard.type(entry.id)
    expect(options.first).to_contain_text(entry.id)
    inside.keyboard.press("Enter")
    inside.wait_for_url(f"**/journal/{entry.id}/")
    inside.locator("main h1").click()
    inside.keyboard.press("/")
    inside.keyboard.type("lena")
    expect(options.first).to_contain_text("lena")
    inside.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    inside.keyboard.press("Enter")
    inside.wait_for_url("**/recall/?agent_id=**")
    assert faults == []


def test_typing_in_the_rail_s_box_opens_the_palette(
    page: Page, sign_in: Callable[..., Page], shared_world: World, live_server: object
) -> None:
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/records/")
    inside.locator("#find").focus()
    inside.keyboard.type("jour")
    expect(inside.locator("#palette-find")).to_have_value("jour")
    expect(inside.locator("#palette-hits [role=option]").first).to_contain_text(
        "Journal"
    )
    inside.keyboard.press("Escape")
    expect(inside.locator("#palette")).to_be_hidden()
