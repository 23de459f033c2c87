"""Proposed rules by keyboard: a key chooses, Enter decides, the next one opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_django import Settings

from tests.browser.test_accessibility import judgement
from tests.web.test_proposals import learned, proposed
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_rules_are_decided_by_keyboard(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.DATA_DIR = tmp_path
    last, first = (
        proposed(shared_world, f"{word} is out") for word in ("Ink", "Toner")
    )
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/proposals/{first.id}/")
    inside.locator("#h-item").focus()
    inside.keyboard.press("e")
    text = inside.locator("#text:focus")
    text.fill("## Toner\n\nOrder two.\n")
    inside.locator("#h-item").focus()
    inside.keyboard.press("a")
    assert "Approve" in inside.locator("#chosen").inner_text()
    inside.keyboard.press("Enter")
    inside.wait_for_url(f"**/{last.id}/**done=**")
    assert learned(shared_world) == "## Toner\n\nOrder two.\n"
    inside.locator("#h-item:focus").wait_for()
    inside.keyboard.press("x")
    # A rejection waits for its reason.
    inside.keyboard.press("Enter")
    last.refresh_from_db()
    assert last.is_pending
    inside.locator("#reason").fill("Too trivial")
    inside.locator("#reason").press("Enter")
    inside.get_by_text("Rejected; it is not proposed again").wait_for()
    inside.keyboard.press("u")
    inside.get_by_text("Waits again").wait_for()
    last.refresh_from_db()
    assert last.is_pending


def test_the_inbox_is_for_everybody(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    for word in ("Ink", "Toner"):
        proposed(shared_world, f"{word} is out")
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/proposals/")
    assert judgement(inside, axe, faults) == []
    box = inside.get_by_role("checkbox", name="Tick: Ink is out")
    box.check()
    # A key beside a ticked box chooses as well, and decides nothing.
    box.press("a")
    assert "Approve" in inside.locator("#chosen").inner_text()
    inside.get_by_label("Reason for the ticked ones").select_option(index=1)
    inside.get_by_role("button", name="Reject the ticked ones").click()
    inside.get_by_role("heading", name="1 proposal rejected").wait_for()
    assert judgement(inside, axe, faults) == []
