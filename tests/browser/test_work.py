"""Long work in a browser: the bar moves by itself, and rests at the end."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from episodic.index import sweep as index
from memory.models import JobRun, Record, RecordStatus, RunState
from tests.web.test_duplicates import saved
from tests.world import World


def test_a_run_shows_how_far_it_is_until_it_is_done(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    rows = JobRun.objects.filter(
        pk=JobRun.objects.create(
            name="index", slot="one", workspace=shared_world.acme, done=3, total=9,
            unit="entries",
        ).pk
    )  # fmt: skip
    sign_in(page, "operator")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/jobs/index/runs/{rows.get().pk}/")
    bar = page.get_by_role("progressbar", name="Index what waits")
    expect(bar).to_have_attribute("value", "3")
    page.get_by_role("link", name="Look again").focus()
    rows.update(done=6)
    expect(bar).to_have_attribute("value", "6")
    # What refreshes by itself takes nobody's focus.
    expect(page.get_by_role("link", name="Look again")).to_be_focused()
    rows.update(
        done=9, state=RunState.DONE, ended_at=timezone.now(), counts={"indexed": 9}
    )
    expect(page.get_by_text("9 indexed.")).to_be_visible()
    assert page.locator("[hx-trigger*=every]").count() == 0
    assert axe(page) == []
    assert faults == []


def test_two_records_that_say_the_same_become_one(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    saved(shared_world)
    saved(shared_world)
    index.sweep()
    sign_in(page, "operator")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/health/duplicates/")
    page.get_by_text("Keep the newer text").click()
    page.emulate_media(color_scheme="dark")
    assert axe(page) == []
    page.get_by_label("Why").fill("Said twice")
    page.get_by_role("button", name="Make one record of two").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("No pair of records was found")
    assert Record.objects.filter(status=RecordStatus.CURRENT).count() == 1
    assert faults == []
