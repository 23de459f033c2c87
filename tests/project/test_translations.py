"""Every text of a page is marked, and every marked text has its German."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from tests.project import source

TOOLS = source.ROOT / ".ci"


@pytest.fixture(scope="module")
def template_text() -> ModuleType:
    """Return the reader of templates, which stands outside the packages."""
    path = TOOLS / "template_text.py"
    spec = importlib.util.spec_from_file_location("template_text", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_language_is_complete_and_compiled() -> None:
    result = subprocess.run(
        [sys.executable, str(TOOLS / "translations.py"), "check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout) == (0, ""), result.stderr


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("<p>Hello there</p>", "Hello there"),
        ("<p>{{ number }} of them</p>", "of them"),
        ('<a title="Open it" href="/">{{ name }}</a>', "Open it"),
        ('<button aria-label="Close">×</button>', "Close"),
        ('<input placeholder="Search" name="search">', "Search"),
        ('<p>{{ name|default:"No name" }}</p>', '"No name"'),
        ('{% include "_empty.html" with title="Nothing yet" %}', '"Nothing yet"'),
        ("<li{% if open %} class='on'{% endif %}>Open</li>", "Open"),
    ],
)
def test_a_text_without_a_mark_is_told(
    template_text: ModuleType, template: str, words: str
) -> None:
    assert list(template_text.unmarked(template)) == [words]


@pytest.mark.parametrize(
    "template",
    [
        '<p>{% translate "Hello" %}</p>',
        "<p>{% blocktranslate trimmed %}Hello {{ name }}{% endblocktranslate %}</p>",
        '<p>{{ name|default:_("No name") }}</p>',
        '<p>{{ number|plural:"entry,entries" }}</p>',
        "<p><code>GET /journal</code> <kbd>Esc</kbd></p>",
        '<p translate="no">langgraph.store</p>',
        "<script>const word = 'Hello';</script>",
    ],
)
def test_what_is_marked_or_no_language_is_left_alone(
    template_text: ModuleType, template: str
) -> None:
    assert list(template_text.unmarked(template)) == []
