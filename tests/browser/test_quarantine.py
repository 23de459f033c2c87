"""Deciding with the keyboard: a key chooses, and nothing is decided by a slip."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memory.models import HeldFile
from tests.world import ATTACK, World

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_key_chooses_and_enter_carries_out(
    page: Page, sign_in: Callable[..., Page], shared_world: World, live_server: object
) -> None:
    case = shared_world.held(
        f"Refunds end at $200.\n\n{ATTACK}\n\nWe ship on Tuesdays."
    )
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/quarantine/{case.id}/")
    selected = inside.locator("#decision [aria-pressed=true]")
    assert selected.count() == 0
    # Enter in the field decides nothing by itself.
    reason = inside.locator("#reason")
    reason.fill("An order that nobody gave")
    reason.press("Enter")
    assert selected.count() == 0
    inside.locator("#h-item").focus()
    inside.keyboard.press("r")
    assert selected.get_attribute("value") == "redact"
    assert "Redact and release" in inside.locator("#chosen").inner_text()
    inside.keyboard.press("Escape")
    assert selected.count() == 0
    assert HeldFile.objects.get().state == "held"
    preview = inside.locator("[aria-label='What an agent would read']").inner_text()
    assert "We ship on Tuesdays." in preview
    assert "evil.example" not in preview
    inside.locator("#h-item").focus()
    inside.keyboard.press("r")
    reason.press("Enter")
    inside.wait_for_url("**done=**")
    assert HeldFile.objects.get().state == "redacted"
