"""Many rows at once in a browser, and the decision in reach on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from gdpr.cases import dry_run
from memory import records
from memory.models import HeldFile, Record, RecordStatus
from memory.records import Provenance
from memory.records.drafts import Draft
from tests.browser.test_accessibility import judgement
from tests.gdpr import erasing
from tests.memory.files.test_quarantine import hold_text
from tests.web.test_proposals import proposed
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def statements(shared_world: World) -> list[Record]:
    ada = shared_world.actor("ada")
    origin = Provenance.AGENT_EXTRACTED
    drafts = [
        Draft(content=f"{town} opens at nine.", owner=records.owner_for(ada))
        for town in ("Aachen", "Bonn", "Celle")
    ]
    return [records.save(draft, provenance=origin, by=ada).record for draft in drafts]


def test_records_are_ticked_and_undone_by_keyboard(
    page: Page,
    sign_in: Callable[..., Page],
    statements: list[Record],
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/records/")
    for key in ("j", "x", "j", "x"):
        inside.keyboard.press(key)
    assert inside.locator("tbody input:checked").count() == 2
    expect(inside.get_by_role("button", name="Let them expire")).to_be_in_viewport()
    assert judgement(inside, axe, faults) == []
    inside.get_by_label("Reason for the ticked ones").fill("Out of date")
    inside.get_by_role("button", name="Let them expire").dblclick()
    inside.get_by_role("heading", name="2 records have expired now").wait_for()
    assert judgement(inside, axe, faults) == []
    inside.keyboard.press("u")
    inside.get_by_role("heading", name="2 records have their former expiry").wait_for()
    versions = Record.objects.filter(expires_at=None).values_list("version", flat=True)
    assert sorted(versions) == [1, 3, 3]


def test_what_is_forgotten_is_listed_and_can_be_unticked(
    page: Page,
    sign_in: Callable[..., Page],
    statements: list[Record],
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    inside = sign_in(page, "operator")
    inside.set_viewport_size(PHONE)
    inside.goto(f"{live_server}/records/")
    for box in inside.get_by_role("checkbox").all():
        box.check()
    inside.get_by_label("Reason for the ticked ones").fill("Wrong")
    inside.get_by_role("button", name="Forget them").click()
    inside.get_by_role("heading", name="Forget these 3 records?").wait_for()
    assert judgement(inside, axe, faults) == []
    inside.get_by_role("checkbox", name="Bonn opens at nine.").uncheck()
    inside.get_by_role("button", name="Forget").click()
    inside.get_by_role("heading", name="2 records forgotten").wait_for()
    records = Record.objects.exclude(status=RecordStatus.FORGOTTEN)
    assert [record.content for record in records] == ["Bonn opens at nine."]


def test_held_texts_are_ticked_while_one_is_read(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    settings: Settings,
    tmp_path: Path,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    settings.DATA_DIR = tmp_path
    for label in ("AGENT.md", "pins.md", "daily/2026-05-21.md"):
        hold_text(shared_world, label=label)
    inside = sign_in(page, "operator")
    inside.goto(f"{live_server}/quarantine/")
    checked_boxes = inside.locator(".queue input:checked")
    discard = inside.locator("#bulk").get_by_role("button", name="Discard")
    expect(discard).to_be_hidden()
    # A tick opens nothing, and opening the next text keeps it.
    inside.keyboard.press("t")
    first = inside.locator("#reading .id").first.inner_text()
    inside.keyboard.press("j")
    expect(inside.locator("#reading .id").first).not_to_have_text(first)
    expect(checked_boxes).to_have_count(1)
    inside.locator(".held-file.current input").focus()
    inside.keyboard.press("Space")
    expect(checked_boxes).to_have_count(2)
    assert inside.url.endswith("state=held")
    assert judgement(inside, axe, faults) == []
    inside.get_by_label("Reason for the ticked ones").select_option(index=1)
    discard.dblclick()
    inside.get_by_role("heading", name="2 texts decided").wait_for()
    assert judgement(inside, axe, faults) == []
    inside.keyboard.press("u")
    inside.get_by_role("heading", name="2 texts wait again").wait_for()
    assert set(HeldFile.objects.values_list("state", flat=True)) == {"held"}


def test_held_texts_are_decided_on_a_phone(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    settings: Settings,
    tmp_path: Path,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    settings.DATA_DIR = tmp_path
    for label in ("AGENT.md", "pins.md"):
        hold_text(shared_world, label=label)
    inside = sign_in(page, "operator")
    inside.set_viewport_size(PHONE)
    inside.goto(f"{live_server}/quarantine/")
    for box in inside.locator(".queue input").all():
        box.check()
    assert judgement(inside, axe, faults) == []
    inside.get_by_label("Reason in words").fill("Nobody of ours wrote it")
    # Enter decides nothing.
    inside.keyboard.press("Enter")
    inside.locator("#bulk").get_by_role("button", name="Discard").click()
    inside.get_by_role("heading", name="2 texts decided").wait_for()
    assert HeldFile.objects.filter(state="discarded").count() == 2


def test_on_a_phone_the_decision_is_in_reach(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.DATA_DIR = tmp_path
    rule = proposed(shared_world, "Ink is out")
    held_file = shared_world.held()
    case = erasing.opened(shared_world, erasing.maria(shared_world))
    dry_run.make(case, by=shared_world.actor("compliance"))
    inside = sign_in(page, "owner")
    inside.set_viewport_size(PHONE)
    for path, reading, decision in (
        (f"proposals/{rule.id}", "#h-item", "Approve"),
        (f"quarantine/{held_file.id}", "#h-item", "Redact and release"),
        (f"privacy/cases/{case.id}", "h1", "Refuse"),
    ):
        inside.goto(f"{live_server}/{path}/")
        expect(inside.locator(reading)).to_be_in_viewport(ratio=1)
        button = inside.locator(".decision").get_by_text(decision)
        expect(button.first).to_be_in_viewport(ratio=1)
    inside.mouse.wheel(0, 700)
    expect(inside.get_by_role("link", name="Carry it out")).to_be_in_viewport(ratio=1)
    inside.get_by_role("link", name="Carry it out").click()
    expect(inside.locator("#h-next")).to_be_in_viewport(ratio=1)
