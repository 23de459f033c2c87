"""Letters in a browser: written on a phone, printed as a letter, for everybody."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from gdpr.models import Letter
from tests.browser.test_accessibility import judgement
from tests.gdpr import erasing
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

PHONE: ViewportSize = {"width": 390, "height": 844}
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def test_a_letter_is_written_on_a_phone_and_printed(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    case = erasing.opened(shared_world, erasing.maria(shared_world))
    inside = sign_in(page, "compliance")
    inside.set_viewport_size(PHONE)
    inside.goto(f"{live_server}/privacy/cases/{case.id}/")
    inside.get_by_text("Enter an address").click()
    inside.get_by_label("Postal address").fill("Quay 1\nBergen")
    inside.get_by_label("Language of the answer").fill("de")
    assert inside.evaluate(FITS)
    assert judgement(inside, axe, faults) == []
    inside.get_by_role("button", name="Keep the address").click()
    expect(inside.locator("#draft-language")).to_have_value("de")
    inside.get_by_role("button", name="Draft it").click()
    text = inside.get_by_role("textbox", name="Text")
    expect(text).to_have_value(re.compile("^Guten Tag"))
    assert inside.evaluate(FITS)
    assert judgement(inside, axe, faults) == []
    text.fill("Guten Tag,\n\nIhr Antrag ist da.")
    inside.get_by_role("button", name="Keep the letter").dblclick()
    inside.get_by_role("heading", name="Send it").wait_for()
    assert Letter.objects.count() == 1
    assert inside.evaluate(FITS)
    assert judgement(inside, axe, faults) == []
    inside.emulate_media(media="print")
    expect(inside.get_by_text("Ihr Antrag ist da.")).to_be_visible()
    expect(inside.get_by_text("Quay 1 Bergen")).to_be_visible()
    for name in ("Send it", "Letter: The request arrived"):
        expect(inside.get_by_role("heading", name=name)).to_be_hidden()
    expect(inside.get_by_text("Kept, sealed.")).to_be_hidden()
    inside.emulate_media(media="screen")
    inside.get_by_role("button", name="It went by post").click()
    inside.get_by_role("heading", name="It went out").wait_for()
    assert Letter.objects.get().opened()["to"] == "Quay 1\nBergen"


def test_a_text_is_previewed_and_kept(
    page: Page,
    sign_in: Callable[..., Page],
    shared_world: World,
    live_server: object,
    axe: Callable[[Page], list[str]],
    faults: list[str],
) -> None:
    assert shared_world.people
    inside = sign_in(page, "compliance")
    inside.set_viewport_size(PHONE)
    inside.goto(f"{live_server}/privacy/settings/letters/?language=fr")
    assert inside.evaluate(FITS)
    assert judgement(inside, axe, faults) == []
    inside.get_by_role("link", name="The request was refused").click()
    inside.get_by_role("textbox", name="Text").fill("{greeting}\n\nNon : {reason}")
    inside.get_by_role("button", name="Preview").click()
    inside.get_by_text("Dear Maria Keller,").wait_for()
    assert inside.evaluate(FITS)
    assert judgement(inside, axe, faults) == []
    inside.get_by_role("button", name="Keep this text").click()
    inside.get_by_text("letters start from this text now").wait_for()
