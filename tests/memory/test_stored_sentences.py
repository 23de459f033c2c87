"""Sentences that were stored in English, told in the reader's language."""

from __future__ import annotations

import pytest
from django.utils import translation

from memory.jobs import words
from memory.providers import words as provider_words
from memory.rules.stored_sentences import translated

TEMPLATES = ("{count} files of {name} are gone", "stopped: {why}", "lost")


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translate the templates, and nothing else, into German."""
    words_of = {
        "{count} files of {name} are gone": "Von {name} fehlen {count} Dateien",
        "stopped: {why}": "angehalten: {why}",
        "lost": "verloren",
    }
    monkeypatch.setattr(
        "memory.rules.stored_sentences.gettext", lambda text: words_of.get(text, text)
    )


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ("lost", "verloren"),
        ("3 files of ada are gone", "Von ada fehlen 3 Dateien"),
        ("3 files of a of b are gone", "Von a of b fehlen 3 Dateien"),
        ("stopped: lost", "angehalten: verloren"),
        ("stopped: 3 files of ada are gone", "angehalten: Von ada fehlen 3 Dateien"),
        ("stopped: {name}", "angehalten: {name}"),
        ("something else", "something else"),
        ("", ""),
    ],
)
@pytest.mark.usefixtures("german")
def test_a_stored_sentence_is_told_by_its_template(stored: str, sentence: str) -> None:
    assert translated(stored, TEMPLATES) == sentence


@pytest.mark.parametrize(
    "stored", ["lost", "3 files of ada are gone", "stopped: lost", "else", "{x}", ""]
)
def test_in_english_a_sentence_stays_as_it_was_stored(stored: str) -> None:
    assert translated(stored, TEMPLATES) == stored


def test_runs_and_checks_are_told_in_german() -> None:
    with translation.override("de"):
        assert words.summary({"indexed": 1200, "failed": 0}) == "eingebettet: 1.200"
        assert words.fault("3 promises were broken") == (
            "3 Versprechen wurden gebrochen"
        )
        assert words.unit("files") == "Dateien"
        assert provider_words.note("broken: it was kept twice").startswith("gebrochen:")
    assert words.summary({"versions_dropped": 2}) == "2 versions dropped"
