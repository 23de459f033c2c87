"""The glossary: every word that a page explains has a meaning, shown on one page."""

from __future__ import annotations

import re

import pytest
from django.template import Context, Template
from django.utils.html import escape

from crewship_memory import glossary
from tests.project.test_template_names import templates
from tests.world import World

TERM = re.compile(r"{% term (\"[^\"]+\"|[^ %]+)( [^%]+)? %}")


def used() -> list[str]:
    """Return the words that templates explain, once for each place."""
    words = [name for _, text in templates() for name, _ in TERM.findall(text)]
    return [word.strip('"') for word in words]


def test_every_word_that_a_page_explains_has_a_meaning() -> None:
    assert len(used()) > 15
    assert set(used()) <= set(glossary.meanings())


def test_no_template_explains_a_word_twice() -> None:
    for name, text in templates():
        words = [word for word, _ in TERM.findall(text)]
        assert len(words) == len(set(words)), name


@pytest.mark.parametrize("user", ["owner", "viewer", "stranger"])
def test_the_page_shows_every_meaning(world: World, user: str) -> None:
    html = world.page(user).get("/glossary/").content.decode()
    for word, meaning in glossary.meanings().items():
        assert f">{escape(word.capitalize())}</dt><dd>{escape(meaning)}</dd>" in html


def test_the_page_is_for_members(world: World) -> None:
    assert world.page("nobody").get("/glossary/").status_code == 302


def test_the_glossary_is_one_step_from_every_page(world: World) -> None:
    html = world.page("viewer").get("/").content.decode()
    assert html.count('href="/glossary/"') == 2


def test_a_word_is_a_button_with_its_meaning() -> None:
    template = Template('{% term "dry run" label %}')
    html = template.render(Context({"label": "<b>Plan"}))
    assert 'popovertarget="term-dry-run"' in html
    assert 'id="term-dry-run" role="note" popover>A plan of what' in html
    assert "&lt;b&gt;Plan</button>" in html
