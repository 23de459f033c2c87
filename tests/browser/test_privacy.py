"""An erasure in the browser, from the menu to the certificate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from gdpr import erasure
from gdpr.models import Case
from tests.gdpr import erasing

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World


def _confirm(page: Page, heading: Locator) -> None:
    """Say why nobody verified who asks, and type the phrase.

    The browser itself refuses what is not the phrase.
    """
    page.get_by_label("Ground").select_option("own_decision")
    page.get_by_label("Why nobody verified the identity").fill("Asked at the desk")
    button = page.get_by_role("button", name="Erase", exact=True)
    phrase = page.locator(".phrase").inner_text()
    page.get_by_label("to confirm").fill(phrase[:-1])
    button.click()
    expect(heading).to_have_text(re.compile("nothing touched yet"))
    page.get_by_label("to confirm").fill(phrase)
    button.click()


def test_an_erasure_in_six_clicks(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    erasing.lived_in(shared_world)
    sign_in(page, "compliance").goto(live_server.url + "/")
    page.get_by_role("navigation", name="Main").get_by_role(
        "link", name="Personal data"
    ).click()
    page.get_by_role("link", name="Open a case").first.click()
    page.get_by_label("Name", exact=True).fill(erasing.NAME)
    page.get_by_label("E-mail").fill(erasing.MAIL)
    page.get_by_label("Reason").fill("Consent withdrawn")
    page.get_by_role("button", name="Open the case").click()
    page.get_by_role("button", name="Make the dry run").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(re.compile("nothing touched yet"))
    _confirm(page, heading)
    expect(heading).to_have_text(re.compile("under way"))
    page.emulate_media(reduced_motion="reduce")
    assert axe(page) == []
    case = Case.objects.get()
    erasure.run(case.workspace_id, case.pk)
    # Nobody touches the page: it follows the run and stops asking.
    expect(heading).to_have_text("Erasure: complete for the registered identifiers")
    assert page.locator("main [hx-trigger]").count() == 0
    assert axe(page) == []
    page.get_by_role("link", name="Read and print").click()
    expect(page.get_by_text("Checked now: signed here")).to_be_visible()
    assert axe(page) == []
