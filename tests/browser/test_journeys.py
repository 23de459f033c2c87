"""What people come for, from the first page to the last, on a desk and on a phone.

Each journey counts its clicks and keys; more than now is a fault. Each is also
made as somebody who may not, who reads and is offered nothing to press.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from episodic.health import snapshots as health
from episodic.index import sweep as index
from episodic.models import HealthSnapshot, MemoryRelation
from gdpr import erasure
from gdpr.models import Case
from memory.accounts import api_keys
from memory.models import (
    Agent,
    AgentKey,
    HeldFile,
    JournalEntry,
    WorkspaceSetting,
)
from tests import factories
from tests.gdpr import erasing
from tests.world import ATTACK, World

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WIDTHS = [1280, 390]


class Journey:
    """A person at a page, with the clicks and keys that were needed so far."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.clicks = self.keys = 0

    def open(self, path: str) -> int:
        """Open an address and return its status; this is no click."""
        answer = self.page.goto(f"{self.base}{path}")
        assert answer is not None
        return answer.status

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def go(self, place: str) -> None:
        """Go to a place of the rail, which a phone opens first."""
        menu = self.page.get_by_role("button", name="Menu")
        if menu.is_visible():
            self.click(menu)
        rail = self.page.get_by_role("navigation", name="Main")
        self.click(rail.get_by_role("link", name=place))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    def fits(self) -> bool:
        """Whether nothing is wider than the window."""
        width = "document.documentElement.scrollWidth - innerWidth"
        return bool(self.page.evaluate(width) <= 0)


@pytest.fixture
def begin(
    page: Page, sign_in: Callable[..., Page], live_server: object, faults: list[str]
) -> Callable[..., Journey]:
    """Return a function that begins a journey as somebody; no script may fail in it."""

    def start(person: str, width: int = 1280) -> Journey:
        page.set_viewport_size({"width": width, "height": 844})
        return Journey(sign_in(page, person), str(live_server))

    return start


# ── The operator's morning: home, cause, cure, gain ──────────────────────────
def _unwell(world: World) -> None:
    for _ in range(6):
        world.entry("Parcel lost by the courier")
    index.sweep()
    MemoryRelation.objects.all().delete()
    health.take(world.acme.id)
    crew_id = world.crews["support"].id
    HealthSnapshot.objects.filter(crew_id=crew_id).update(score=30)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_morning_from_the_cause_to_the_gain(
    begin: Callable[..., Journey], shared_world: World, width: int
) -> None:
    _unwell(shared_world)
    journey = begin("operator", width)
    journey.open("/")
    line = journey.page.locator(".work a.row", has_text="See what helps")
    journey.click(line)
    journey.click(journey.button("Link relations"))
    gain = journey.page.locator(".outcomes li")
    expect(gain).to_contain_text("measured")
    assert MemoryRelation.objects.exists()
    assert journey.fits()
    assert journey.clicks <= 2


def test_a_viewer_reads_the_causes_and_cures_nothing(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    _unwell(shared_world)
    journey = begin("viewer")
    journey.open("/health/")
    expect(journey.page.locator("#h-repairs")).to_be_visible()
    assert journey.page.locator("main form[method=post]").count() == 0


# ── The queue ────────────────────────────────────────────────────────────────
def _queue(world: World) -> None:
    for number in range(2):
        world.held(f"Refunds end at ${number}00.\n\n{ATTACK}")


def test_the_queue_by_keyboard(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    _queue(shared_world)
    journey = begin("operator")
    journey.open("/")
    journey.press("g")
    journey.press("q")
    journey.page.wait_for_url("**/quarantine/**")
    for _ in range(2):
        journey.page.locator("#h-item").focus()
        journey.press("x")
        journey.page.locator("#reason").fill("An order that nobody gave")
        journey.press("Enter")
        journey.page.wait_for_url("**done=**")
    expect(journey.page.get_by_text("Nothing is held.")).to_be_visible()
    assert {held_rows.state for held_rows in HeldFile.objects.all()} == {"discarded"}
    assert (journey.clicks, journey.keys) <= (0, 8)


def test_the_queue_on_a_phone(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    _queue(shared_world)
    journey = begin("operator", 390)
    journey.open("/")
    journey.click(journey.page.locator(".work a.row", has_text="Decide"))
    discard = journey.page.locator("#decision button[value=discard]")
    # The decision is in reach before anything is scrolled.
    expect(discard).to_be_in_viewport()
    journey.page.locator("#reason").fill("An order that nobody gave")
    journey.click(discard)
    journey.page.wait_for_url("**done=**")
    assert HeldFile.objects.filter(state="discarded").count() == 1
    assert journey.fits()
    assert journey.clicks <= 3


def test_a_viewer_decides_nothing(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    _queue(shared_world)
    journey = begin("viewer")
    journey.open("/")
    assert journey.page.get_by_text("Decide").count() == 0
    assert journey.open("/quarantine/") == 403


# ── A memory that was missed, explained and mended ───────────────────────────
def _missed(world: World) -> JournalEntry:
    for number in range(7):
        world.entry(ts=factories.ago(number))
    row = world.entry("Refund denied", ts=factories.ago(60), payload={})
    index.sweep()
    return row


@pytest.mark.parametrize("width", WIDTHS)
def test_a_missing_memory_is_explained_and_mended(
    begin: Callable[..., Journey], shared_world: World, width: int
) -> None:
    row = _missed(shared_world)
    journey = begin("operator", width)
    journey.open("/recall/")
    journey.page.get_by_label("Query").fill("refund denied")
    journey.click(journey.button("Recall"))
    journey.page.get_by_label("I expected").fill(row.id)
    journey.click(journey.page.locator("#why-ask"))
    expect(journey.page.locator("#explorer > .notice")).to_contain_text("below the cut")
    journey.click(journey.page.get_by_role("link", name="What if it weighed more?"))
    journey.page.get_by_label("As if its priority were").select_option("permanent")
    journey.click(journey.button("Recompute"))
    panel = journey.page.locator(".panel:has(#h-what-if)")
    expect(panel).to_contain_text("It would come into the answer, at rank 1")
    journey.page.get_by_label("Reason, kept in the history").fill("It was missed")
    journey.click(journey.button("Set its priority to permanent"))
    expect(panel).to_contain_text("expected at rank 1, and that is where it is")
    row.refresh_from_db()
    assert row.priority == "permanent"
    assert journey.fits()
    assert journey.clicks <= 5


def test_a_viewer_is_told_why_and_may_not_mend(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    row = _missed(shared_world)
    journey = begin("viewer")
    journey.open(f"/recall/?query=refund+denied&if_entry_id={row.id}")
    panel = journey.page.locator(".panel:has(#h-what-if)")
    expect(panel).to_contain_text("It would")
    assert journey.page.locator("#explorer form[method=post]").count() == 0


# ── From a letter to the certificate ─────────────────────────────────────────
def _approve(begin: Callable[..., Journey], case: Case, width: int) -> int:
    """Approve the plan of a case as the second person; return the clicks."""
    journey = begin("owner", width)
    journey.open("/")
    line = journey.page.locator(".work a.row", has_text="waits for your approval")
    assert str(line.get_attribute("href")) == f"/privacy/cases/{case.pk}/"
    journey.click(line)
    reach = journey.page.locator(".reach" if width < 400 else "main")
    journey.click(reach.get_by_role("button", name="Approve plan 1"))
    expect(journey.page.get_by_text("You approved this plan")).to_be_visible()
    return journey.clicks


@pytest.mark.parametrize("width", WIDTHS)
def test_a_letter_becomes_a_certificate(
    begin: Callable[..., Journey], shared_world: World, width: int
) -> None:
    """Two people, as a new workspace asks: one does it all, another approves it."""
    WorkspaceSetting.objects.all().delete()
    erasing.lived_in(shared_world)
    journey = begin("compliance", width)
    page = journey.page
    journey.open("/")
    journey.go("Personal data")
    journey.click(page.get_by_role("link", name="Open a case").first)
    page.get_by_label("Name", exact=True).fill(erasing.NAME)
    page.get_by_label("E-mail").fill(erasing.MAIL)
    page.get_by_label("Reason").fill("Consent withdrawn")
    page.get_by_label("How the identity was verified").fill("By a code sent by mail")
    journey.click(journey.button("Open the case"))
    # On a phone the bar at the foot has it as well.
    reach = page.locator(".reach" if width < 400 else "main")
    journey.click(reach.get_by_role("button", name="Make the dry run"))
    expect(page.get_by_text("A second person has to approve it")).to_be_visible()
    case = Case.objects.get()
    assert _approve(begin, case, width) <= 2
    begin("compliance", width)
    journey.open(f"/privacy/cases/{case.pk}/")
    page.get_by_label("to confirm").fill(page.locator(".phrase").inner_text())
    journey.click(page.get_by_role("button", name="Erase", exact=True))
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("under way")
    erasure.run(case.workspace_id, case.pk)
    expect(heading).to_have_text("Erasure: complete for the registered identifiers")
    journey.click(page.get_by_role("link", name="Read and print"))
    expect(page.get_by_text("Checked now: signed here")).to_be_visible()
    assert journey.fits()
    assert journey.clicks <= (6 if width > 400 else 7)


def test_an_operator_opens_no_case(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    journey = begin("operator")
    journey.open("/")
    rail = journey.page.get_by_role("navigation", name="Main")
    assert rail.get_by_role("link", name="Personal data").count() == 0
    assert journey.open("/privacy/cases/new/") == 403


# ── A key rotated, an agent added ────────────────────────────────────────────
@pytest.mark.parametrize("width", WIDTHS)
def test_an_admin_adds_an_agent_and_rotates_a_key(
    begin: Callable[..., Journey], shared_world: World, width: int
) -> None:
    journey = begin("owner", width)
    page = journey.page
    journey.open("/workspace/agents/")
    page.locator(".panel:has(#h-agent)").get_by_label("Agent", exact=True).fill("otto")
    journey.click(journey.button("Add the agent"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("otto was never seen")
    page.get_by_label("Name of a new key").fill("first")
    journey.click(journey.button("Issue a key"))
    first = page.locator("#token").inner_text()
    otto = Agent.objects.get(slug="otto")
    assert api_keys.authenticate(first) is not None
    # The rotation: a second key, then the end of the first.
    journey.open(f"/workspace/agents/{otto.id}/")
    page.get_by_label("Name of a new key").fill("second")
    journey.click(journey.button("Issue a key"))
    second = page.locator("#token").inner_text()
    journey.open(f"/workspace/agents/{otto.id}/")
    key = AgentKey.objects.get(agent=otto, name="first")
    journey.click(journey.button(f"Revoke {key.prefix}"))
    journey.click(journey.button("Revoke the key"))
    expect(page.locator("#h-keys")).to_have_text("1 key works")
    assert api_keys.authenticate(first) is None
    assert api_keys.authenticate(second) is not None
    assert journey.fits()
    assert journey.clicks <= 5


def test_an_operator_adds_no_agent_and_issues_no_key(
    begin: Callable[..., Journey], shared_world: World
) -> None:
    journey = begin("operator")
    for path in ("/workspace/agents/", f"/workspace/agents/{_ada(shared_world)}/"):
        journey.open(path)
        assert journey.page.locator("main form[method=post]").count() == 0


def _ada(world: World) -> str:
    return str(world.agents["ada"].id)
