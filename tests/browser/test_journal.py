"""The journal: a span chosen by dragging, views saved, the list by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests import factories
from tests.browser.test_accessibility import judgement
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def press(page: Page, bars: Locator, first: int, last: int) -> None:
    """Press the pointer on one bar and move it to another, without letting go."""
    boxes = [bars.nth(at).bounding_box() for at in (first, last)]
    middles = [(box["x"] + box["width"] / 2, box["y"] + 40) for box in boxes if box]
    page.mouse.move(*middles[0])
    page.mouse.down()
    page.mouse.move(*middles[1], steps=4)


def test_a_span_is_chosen_by_dragging_over_the_bars(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
) -> None:
    days = (40, 20, 10, 0)
    rows = [shared_world.entry(f"Day {n}", ts=factories.ago(n)) for n in days]
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/journal/?entry_type=peer.escalation")
    bars = inside.locator(".histogram > a")
    bars.last.wait_for(state="attached")
    columns = inside.locator(".histogram > a").evaluate_all(
        "all => all.flatMap((a, at) => a.querySelector('rect:not(.span)') ? [at] : [])"
    )
    assert len(columns) == len(rows)
    # Left of the second bar to right of the third, from right to left.
    press(inside, bars, columns[2], columns[1])
    assert inside.locator(".histogram .chosen").count() == columns[2] - columns[1] + 1
    inside.keyboard.press("Escape")
    assert inside.locator(".histogram .chosen").count() == 0
    inside.mouse.up()
    assert "since=" not in inside.url
    press(inside, bars, columns[2], columns[1])
    inside.mouse.up()
    inside.wait_for_url("**since=**until=**")
    assert "entry_type=peer.escalation" in inside.url
    listed = inside.locator("tr a.row[id]").all_inner_texts()
    assert listed == ["Day 10", "Day 20"]
    inside.go_back()
    press(inside, bars, columns[0], columns[0])
    inside.mouse.up()
    inside.wait_for_url("**since=**")
    assert inside.locator("tr a.row[id]").all_inner_texts() == ["Day 40"]


def test_a_view_is_saved_and_the_list_is_read_by_keyboard(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    rows = [shared_world.entry(f"Refund {n}") for n in range(3)]
    shared_world.entry("Parcel")
    inside = sign_in(page, "viewer")
    inside.goto(f"{live_server}/journal/?q=refund")
    inside.get_by_text("Save this view").click()
    inside.get_by_label("Name, seen by you only").fill("Refunds")
    inside.keyboard.press("Enter")
    inside.get_by_text("The view “Refunds” is saved.").wait_for()
    inside.get_by_text("Save or forget a view").click()
    assert judgement(inside, axe, faults) == []
    inside.goto(f"{live_server}/journal/")
    inside.get_by_role("link", name="Refunds", exact=True).click()
    inside.wait_for_url("**q=refund")
    inside.locator("body").click(position={"x": 1, "y": 1})
    for key in "jjk":
        inside.keyboard.press(key)
    assert inside.evaluate("document.activeElement.id") == f"at-{rows[2].id}"
    inside.keyboard.press("j")
    inside.keyboard.press("o")
    inside.wait_for_url(f"**/journal/{rows[1].id}/**")
