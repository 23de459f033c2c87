"""An officer decides about other people's words in a bundle, in the browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from gdpr import erasure
from gdpr.cases import identity
from gdpr.models import CaseKind
from tests.gdpr import erasing

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World


def test_an_access_case_waits_for_words_and_goes_on(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    world = shared_world
    world.entry(f"{erasing.NAME} met Ingrid; Karim Haddad and Sigrid came later")
    case = erasing.opened(world, erasing.maria(world), CaseKind.ACCESS)
    identity.verify(case, "Passport", by=world.actor("compliance"))
    erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)

    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, "compliance").goto(f"{live_server.url}/privacy/cases/{case.pk}/")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(re.compile("waits for your decision on 2 words"))
    page.get_by_role("link", name="Decide on words of other people").click()
    expect(heading).to_have_text("2 words wait for a decision")
    assert axe(page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, width

    page.get_by_role("link", name="Sure: 1").click()
    page.get_by_label("Karim Haddad").check()
    page.get_by_label("Reason, in words").fill("It is her own second name")
    page.get_by_role("button", name="Leave the ticked readable").click()
    expect(page.get_by_text("Decided; 2 words still wait")).to_be_visible()
    expect(page.locator("li", has_text="stays readable")).to_have_count(1)

    page.get_by_role("link", name="Doubtful: 2").click()
    page.get_by_label("Ingrid", exact=False).first.check()
    page.get_by_label(re.compile("Remember it")).check()
    page.get_by_role("button", name="Cover the ticked").click()
    expect(heading).to_have_text("1 word waits for a decision")
    page.get_by_role("button", name="Cover all that wait").click()
    expect(page.get_by_text("All words are decided on")).to_be_visible()

    erasure.run(case.workspace_id, case.pk)
    page.reload()
    expect(heading).to_have_text(re.compile("the bundle is ready"))
    assert faults == []
