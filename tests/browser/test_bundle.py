"""The pages of an access bundle in a browser, as a person opens them from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from gdpr.models import Subject
from tests.browser.test_accessibility import SCHEMES
from tests.gdpr import bundle_pages, erasing

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.world import World

NARROW = 390
RIGHT_TO_LEFT = "الاسم \u202eمقلوب"


@pytest.fixture
def folder(shared_world: World, tmp_path: Path) -> Path:
    """Return a folder with a bundle's files: entries, files, a case, odd text."""
    person: Subject = erasing.maria(shared_world)
    erasing.lived_in(shared_world)
    erasing.opened(shared_world, person)
    payload = {"order": {"size": "L" * 300}, RIGHT_TO_LEFT: [RIGHT_TO_LEFT, "<b>"]}
    shared_world.entry(f"{erasing.NAME} {RIGHT_TO_LEFT}", payload=payload)
    for name, text in bundle_pages.made(shared_world, person).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_page_is_for_everybody(
    page: Page,
    folder: Path,
    axe: Callable[[Page], list[str]],
    faults: list[str],
    subtests: pytest.Subtests,
) -> None:
    """Nothing serious to axe in light and dark, and nothing wider than a telephone."""
    names = sorted(path for path in folder.rglob("*.html"))
    assert len(names) > 6
    for path in names:
        for scheme in SCHEMES:
            with subtests.test(f"{path.relative_to(folder)}, {scheme}"):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": NARROW, "height": 800})
                page.goto(path.as_uri())
                assert axe(page) == []
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= NARROW
                assert page.locator("h1").count() == 1
    assert faults == []


def test_a_day_leads_to_its_sentences_and_to_the_whole_entry(
    page: Page, folder: Path
) -> None:
    """By the keyboard alone, from the letter to an entry and what programs need."""
    page.goto((folder / "index.html").as_uri())
    page.get_by_role("link", name="A calendar").press("Enter")
    page.get_by_role("link", name="notes").first.press("Enter")
    expect(page.locator("h2").first).to_be_visible()
    page.get_by_role("link", name="Read it whole").first.press("Enter")
    article = page.locator("article:target")
    expect(article).to_be_visible()
    summary = article.get_by_text("Technical details")
    summary.press("Enter")
    expect(article.locator("details[open]").last).to_be_visible()
