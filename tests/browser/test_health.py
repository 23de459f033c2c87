"""An operator repairs health in a browser, and accepts what no act cures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from episodic.health import snapshots as health
from episodic.index import sweep as index
from episodic.models import AcceptedCause, MemoryRelation
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_repair_shows_what_it_brought_and_a_cause_is_accepted(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
) -> None:
    for _ in range(6):
        shared_world.entry("Parcel lost by the courier")
    shared_world.entry("Amber bridge canoe delta")
    index.sweep()
    MemoryRelation.objects.all().delete()
    health.take(shared_world.acme.id)
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/health/")
    inside.get_by_role("button", name="Link relations").click()
    inside.get_by_text("measured", exact=False).first.wait_for()
    assert inside.locator(".outcomes li").count() == 1
    cause = inside.get_by_text("No relation reaches 1 peer.escalation entry").first
    inside.evaluate(
        "document.querySelectorAll('.panel details').forEach(d => d.open = true)"
    )
    cause.wait_for()
    assert axe(inside) == []
    item = inside.locator("li", has=cause).last
    item.get_by_label("Why it is accepted").fill("A note for one season")
    item.get_by_role("button", name="Accept for 90 days").click()
    inside.get_by_text("1 accepted cause").wait_for()
    assert AcceptedCause.objects.get().reason == "A note for one season"
