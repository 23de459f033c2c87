"""Proposals from decisions in a browser: read, declined, approved, taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from playwright.sync_api import expect

from memory import workspace_settings
from memory.models import ProposalKind
from memory.review.decide import Decision
from memory.workspace_settings import declarations
from tests.memory.files import learning

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.world import World

PATH = "/quarantine/rules/learned/"


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def proposed(world: World) -> str:
    """Let a weight, and a passage with a secret, be proposed; return the rule."""
    learning.decide_texts(world, 10)
    for number in range(20, 23):
        text = f"# Till {number}\n\n{learning.SECRET}\n"
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.of_kind(world, ProposalKind.WEIGHT)
    return row.subject


def test_a_proposal_is_declined_approved_and_taken_back(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    faults: list[str],
) -> None:
    rule = proposed(shared_world)
    inside = sign_in(page, "owner")
    inside.set_viewport_size({"width": 390, "height": 844})
    inside.goto(f"{live_server}{PATH}")
    heading = inside.locator("h1")
    expect(heading).to_have_text("3 proposals wait for a decision")
    weight = inside.locator("section.panel").filter(has_text=rule)
    secret = inside.locator("section.panel").filter(has_text="such texts may pass")

    secret.get_by_role("button", name="Approve").click()
    # The browser asks for the tick first.
    expect(heading).to_have_text("3 proposals wait for a decision")
    secret.get_by_label("Reason for declining").fill("A key is never allowed")
    secret.get_by_role("button", name="Decline").click()
    expect(heading).to_have_text("2 proposals wait for a decision")

    weight.get_by_role("button", name="Approve").click()
    expect(inside.get_by_text("Approved; it holds from now on")).to_be_visible()
    setting = declarations.SCANNER_WEIGHTS
    assert workspace_settings.value(shared_world.acme.id, setting) == {rule: "0.25"}
    approved = inside.locator("tr").filter(has_text="+ 0.25")
    approved.get_by_role("button", name="Take back").click()
    expect(heading).to_have_text("2 proposals wait for a decision")
    assert workspace_settings.value(shared_world.acme.id, setting) == {}
    assert faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_full_pages_are_accessible_and_fit_a_telephone(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    scheme: Literal["light", "dark"],
) -> None:
    rule = proposed(shared_world)
    inside = sign_in(page, "owner")
    inside.emulate_media(color_scheme=scheme)
    for path in (PATH, f"/quarantine/rules/{rule}/", f"/quarantine/rules/?q={rule}"):
        inside.set_viewport_size({"width": 1280, "height": 900})
        inside.goto(f"{live_server}{path}")
        assert axe(inside) == []
        inside.set_viewport_size({"width": 390, "height": 844})
        assert axe(inside) == []
        width = "document.documentElement.scrollWidth"
        assert inside.evaluate(width) <= 390, path
