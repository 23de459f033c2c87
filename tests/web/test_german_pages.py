"""In German no page shows a word of English that is not somebody's own text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

import pytest
from django.apps import apps
from django.db.models import CharField, JSONField, TextField
from django.test import Client

from tests.browser import test_accessibility
from tests.world import World

page_urls = test_accessibility.page_urls
VOID: Final = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
NO_LANGUAGE: Final = frozenset(
    {"script", "style", "code", "kbd", "pre", "samp", "time"}
)
READ: Final = frozenset({"title", "aria-label", "placeholder", "alt"})
WORD: Final = re.compile(r"[A-Za-zÄÖÜäöüß]{3,}")
# The same word in both languages; names of products, files and standards.
SAME: Final = frozenset(
    """
    Crew
    Crewship
    Fusion
    Index
    Memory
    convex
    dense
    hybrid
    nobody
    refund
    """.split()
)


class Texts(HTMLParser):
    """Collects what a reader sees or hears of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        no_words = (
            "translate" in attributes or "id" in (attributes.get("class") or "").split()
        )
        if tag in VOID:
            pass
        elif self.silent or tag in NO_LANGUAGE or no_words:
            self.silent += 1
        if not self.silent:
            self.texts += [value for name, value in attrs if name in READ and value]

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag not in VOID:
            self.silent -= 1

    def handle_data(self, data: str) -> None:
        if not self.silent and data.strip():
            self.texts.append(" ".join(data.split()))


def texts(html: str) -> list[str]:
    parser = Texts()
    parser.feed(html)
    return parser.texts


def stored_text() -> str:
    """Return everything that the tables hold as text: people's own words, and names."""
    values: list[str] = []
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, CharField | TextField | JSONField):
                rows = model._default_manager.values_list(field.attname, flat=True)
                values += [str(value) for value in rows]
    return " ".join(" ".join(values).split())


def english(german: list[str], original: list[str], own: str) -> list[str]:
    """Return the texts of a German page that are as they are in English."""
    same = set(original)
    return [
        text
        for text in dict.fromkeys(german)
        if text in same
        and text not in own
        and any(word not in SAME for word in WORD.findall(text))
    ]


def page(browser: Client, path: str, language: str) -> list[str]:
    response = browser.get(path, follow=True, headers={"Accept-Language": language})
    return texts(response.content.decode())


def test_no_page_in_german_has_an_english_word(
    shared_world: World, page_urls: dict[str, str], subtests: pytest.Subtests
) -> None:
    browser = shared_world.page("owner")
    own = stored_text()
    for name, (path, _status) in test_accessibility.PAGES.items():
        with subtests.test(name):
            url = path.format(**page_urls)
            german, original = page(browser, url, "de"), page(browser, url, "en")
            left = english(german, original, own)
            assert not left, f"{name}: {left}"


def test_nor_has_a_page_before_signing_in(
    shared_world: World, page_urls: dict[str, str], subtests: pytest.Subtests
) -> None:
    own = stored_text()
    for name, (path, _status) in test_accessibility.OPEN.items():
        with subtests.test(name):
            url = path.format(**page_urls)
            german, original = page(Client(), url, "de"), page(Client(), url, "en")
            left = english(german, original, own)
            assert not left, f"{name}: {left}"
