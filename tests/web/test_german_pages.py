"""In German no page shows a word of English that is not somebody's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

import pytest
from django.apps import apps
from django.db.models import BinaryField, CharField, JSONField, TextField
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
# The same word in both languages; names of products, files, tiers and standards.
SHARED_WORDS: Final = frozenset(
    """
    Admin Agent App Apr April AtomicMemory Aug August Bytes Code Compliance convex
    Crew Crewship CSV JSON Median November September
    dense Export Feb Filter Fusion Gateway hybrid Import Index Info Installation
    instructions Jan Journal Jul Jun keeper MCP mem Memory Mission Name nobody Nov
    Operator orchestrator Original override Person Plan refund Scanner Sep sidecar
    CREW PERSONA daily learned lessons peers pins
    Status System Text Ticket Trace UTC Variable Version Webhook Webhooks
    """.split()
)

# Two of them in one text are English.
FUNCTION_WORDS: Final = frozenset(
    """
    the of and is are was were not with for from by its this that to has have
    """.split()
)
# Stored, but no words of people: pages translate them.
OF_PROGRAMS: Final = frozenset({"memory.JobRun.error", "memory.JobRun.items"})


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


def strings(value: object) -> Iterator[str]:
    """Yield the texts in a stored value, however deep."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (str(key), *strings(item))
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, bytes | memoryview):
        yield bytes(value).decode(errors="replace")
    elif value is not None:
        yield str(value)


def stored_texts() -> frozenset[str]:
    """Return what the tables hold as text, and its lines: people's words, and names."""
    values: set[str] = set()
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, CharField | TextField | JSONField | BinaryField)
            if not is_text or str(field) in OF_PROGRAMS:
                continue
            for value in model._default_manager.values_list(field.attname, flat=True):
                for text in strings(value):
                    values |= {
                        " ".join(line.split()) for line in (text, *text.split("\n"))
                    }
    return frozenset(values)


def is_stored(text: str, stored: frozenset[str]) -> bool:
    """Return whether people wrote a text, its names, or a text that it begins."""
    words = text.removesuffix(" · Crewship Memory").removesuffix("·").strip()
    start = words.removesuffix("…").strip()
    is_start = len(start.split()) > 2 or start != words
    return (
        words in stored
        or all(part in stored for part in words.split(", "))
        or (is_start and any(line.startswith(start) for line in stored))
    )


def english(
    german: list[str], original: list[str], stored: frozenset[str]
) -> list[str]:
    """Return the texts of a German page that are English, or as they are in English."""
    unchanged = set(original)
    return [
        text
        for text in dict.fromkeys(german)
        if not text.startswith("https://")
        and not is_stored(text, stored)
        and (
            len(FUNCTION_WORDS & set(text.lower().split())) > 1
            or (
                text in unchanged
                and any(word not in SHARED_WORDS for word in WORD.findall(text))
            )
        )
    ]


def page(browser: Client, path: str, language: str) -> list[str]:
    response = browser.get(path, follow=True, headers={"Accept-Language": language})
    return texts(response.content.decode())


@pytest.mark.parametrize(
    "text", ["Held", "The parcel", "Nur the rest of Warten", "too long"]
)
def test_an_english_text_is_reported_though_a_stored_one_contains_it(text: str) -> None:
    stored_text = frozenset(
        {"Held text of ada", "The parcel is late", "It is too long"}
    )
    assert english([text], [text], stored_text) == [text]
    assert not english(["The parcel is late"], ["The parcel is late"], stored_text)


def test_a_sentence_that_is_english_in_part_is_reported() -> None:
    assert english(["Fragen of the Agenten"], ["Questions"], frozenset())
    assert not english(["Was wartet"], ["What waits"], frozenset())


def test_no_page_in_german_has_an_english_word(
    shared_world: World, page_urls: dict[str, str], subtests: pytest.Subtests
) -> None:
    browser = shared_world.page("owner")
    stored_text = stored_texts()
    for name, (path, _status) in test_accessibility.PAGES.items():
        with subtests.test(name):
            url = path.format(**page_urls)
            german, original = page(browser, url, "de"), page(browser, url, "en")
            findings = english(german, original, stored_text)
            assert not findings, f"{name}: {findings}"


def test_nor_has_a_page_before_signing_in(
    shared_world: World, page_urls: dict[str, str], subtests: pytest.Subtests
) -> None:
    stored_text = stored_texts()
    for name, (path, _status) in test_accessibility.OPEN.items():
        with subtests.test(name):
            url = path.format(**page_urls)
            german, original = page(Client(), url, "de"), page(Client(), url, "en")
            findings = english(german, original, stored_text)
            assert not findings, f"{name}: {findings}"
