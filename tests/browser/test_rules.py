"""The workbench of the scanner rules, and words with their meaning, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from memory.files import quarantine
from tests.world import ATTACK, World

if TYPE_CHECKING:
    from playwright.sync_api import Page

RULE = "override.instructions"


def test_rules_are_changed_on_two_pages_tried_and_saved_once(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    faults: list[str],
) -> None:
    inside = sign_in(page, "owner")
    inside.set_viewport_size({"width": 390, "height": 844})
    inside.goto(f"{live_server}/quarantine/rules/")
    draft, rows = inside.locator("#draft"), inside.locator("#listing [data-row]")
    expect(rows).to_have_count(25)
    inside.get_by_label(f"Mode of {RULE}", exact=True).select_option("Off")
    expect(draft).to_contain_text("1 change, not saved")
    inside.get_by_role("button", name="Next").click()
    expect(inside.locator(".pager")).to_contain_text("page 2 of ")
    expect(draft).to_contain_text("1 change, not saved")

    inside.get_by_label("Words or id").fill("secrets.")
    expect(rows).to_have_count(6)
    inside.get_by_label("Set to").select_option("Observe")
    inside.get_by_role("button", name="All 6 rules of the list").click()
    expect(draft).to_contain_text("7 changes, not saved")

    inside.get_by_label("Text", exact=True).fill(ATTACK)
    inside.get_by_role("button", name="Scan the text").click()
    expect(inside.locator("#tried")).to_contain_text("Without them: held")
    inside.reload()
    expect(draft).to_contain_text("7 changes, not saved")

    inside.get_by_role("button", name="Review 7 changes").click()
    expect(inside.locator("ins")).to_have_text(["+ off", *["+ observe"] * 6])
    inside.get_by_role("button", name="Save 7 changes").click()
    expect(inside.get_by_text("7 changes saved")).to_be_visible()
    assert quarantine.rule_modes(shared_world.acme.id)[RULE] == "off"
    assert faults == []


def test_a_word_says_its_meaning_on_hover_focus_and_tap(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
) -> None:
    inside = sign_in(page, "owner")
    inside.goto(f"{live_server}/quarantine/rules/")
    word, meaning = inside.locator(".term").first, inside.locator(".meaning").first
    expect(meaning).to_be_hidden()
    word.hover()
    expect(meaning).to_be_visible()
    inside.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    inside.mouse.move(0, 0)
    word.press("Enter")
    inside.locator("h1").hover()
    expect(meaning).to_be_visible()
    assert axe(inside) == []
    box, window = meaning.bounding_box(), inside.viewport_size
    assert box is not None
    assert window is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= window["width"]
