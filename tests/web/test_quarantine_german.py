"""The quarantine in German: shown in German, stored as ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import translation
from pytest_django import Settings

from memory.files import scanner_words
from memory.models import HeldFile, JournalEntry
from memory.review.detail import REASONS
from memory.scanner import registry
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

GERMAN = {"Accept-Language": "de"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep written files of one test from the next."""
    settings.DATA_DIR = tmp_path


def test_a_decision_on_a_german_page_is_stored_in_english(world: World) -> None:
    case, page = hold_text(world), world.page("operator")
    html = page.get(f"/quarantine/{case.id}/", headers=GERMAN).content.decode()
    assert f'<option value="{REASONS[0]}">Fehlalarm' in html
    body = {"decision": "discard", "version": 1, "preset": REASONS[0]}
    page.post(f"/quarantine/{case.id}/decision/", body, headers=GERMAN)
    case.refresh_from_db()
    assert (case.state, case.reason) == ("discarded", REASONS[0])
    entry = JournalEntry.objects.get(entry_type="memory.held_discarded")
    assert entry.payload["reason"] == REASONS[0]
    refusal = page.post(f"/quarantine/{case.id}/decision/", body, headers=GERMAN)
    assert "er ist jetzt verworfen" in refusal.content.decode()


def test_many_decisions_on_a_german_page_are_stored_in_english(world: World) -> None:
    case, page = hold_text(world), world.page("operator")
    body = {"decision": "release", "items": [f"{case.id}:1"], "preset": REASONS[1]}
    html = page.post("/quarantine/many/", body, headers=GERMAN).content.decode()
    assert ">freigegeben</span>" in html
    case.refresh_from_db()
    assert (case.state, case.decision, case.reason) == (
        "released",
        "release",
        REASONS[1],
    )


def test_findings_are_stored_in_english_and_shown_in_german(world: World) -> None:
    case = hold_text(world)
    reason = case.findings[0]["why"]
    assert reason == registry.rule(case.findings[0]["rule"]).why
    page = world.page("operator")
    german = page.get(f"/quarantine/{case.id}/", headers=GERMAN).content.decode()
    assert reason not in german
    assert "Funde, schwerste zuerst" in german
    stored = HeldFile.objects.get(pk=case.pk)
    assert stored.findings == case.findings


def test_programs_get_english_whatever_they_ask_for(world: World) -> None:
    case = hold_text(world)
    api = world.api("operator", Accept_Language="de")
    answer = api.get(f"/quarantine/{case.id}")
    assert answer.status == 200
    assert case.findings[0]["why"] in answer.body.decode()


def test_a_rule_is_found_by_its_german_words(world: World) -> None:
    page = world.page("operator")
    html = page.get("/quarantine/rules/?q=systemprompt", headers=GERMAN)
    assert "Fragt nach dem Systemprompt." in html.content.decode()
    assert "exfiltration.prompt" in html.content.decode()


def test_every_rule_says_in_german_what_it_looks_for(world: World) -> None:
    page = world.page("operator")
    for rule in registry.rules():
        path = f"/quarantine/rules/{rule.id}/"
        assert f"<h1>{rule.why}" not in page.get(path, headers=GERMAN).content.decode()


@pytest.mark.parametrize("family", ["tool_abuse", "tool abuse"])
def test_a_family_has_one_word_however_it_is_written(family: str) -> None:
    assert scanner_words.word(family) == "tool abuse"
    with translation.override("de"):
        assert scanner_words.word(family) == "Werkzeugmissbrauch"


def test_a_mode_keeps_its_capital_letter() -> None:
    with translation.override("de"):
        words = [scanner_words.word(value) for value in ("off", "Off", "unknown")]
        assert words == ["aus", "Aus", "unknown"]
        assert str(scanner_words.word_lazy("Hold")) == "Zurückhalten"
    keys = [key.replace(" ", "_").lower() for key in scanner_words.WORDS]
    assert len(keys) == len(set(keys))
    texts = [str(text).lower() for text in scanner_words.WORDS.values()]
    assert len(texts) == len(set(texts))
