"""Keys on every list, and the frame on narrow and wide windows."""

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
