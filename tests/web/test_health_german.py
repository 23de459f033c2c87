"""Health, rules and recall checks in German: read so, stored and sent in English."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from episodic.health import outcomes
from episodic.models import (
    AcceptedCause,
    ConsolidationProposal,
    MemoryRelation,
    RecallCheckRun,
)
from episodic.web.proposal_page import PRESETS
from memory.models import JournalEntry
from tests.episodic import test_recall_checks
from tests.web.test_health_page import accepted_cause, fill
from tests.web.test_proposals import at, form_of, proposed
from tests.world import World

GERMAN = {"Accept-Language": "de"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep learned files of one test from the next."""
    settings.DATA_DIR = tmp_path


def german_text(browser: Client, path: str) -> str:
    response = browser.get(path, headers=GERMAN)
    return html.unescape(response.content.decode())


def posted(browser: Client, path: str, form: dict[str, Any] | None = None) -> str:
    """Return the page that a form of a German page leads to."""
    response = browser.post(path, form or {}, follow=True, headers=GERMAN)
    return html.unescape(response.content.decode())


def newest(kind: str) -> str:
    """Return the newest entry of a type as the table has it."""
    entry = JournalEntry.objects.filter(entry_type=kind).latest("seq")
    return f"{entry.summary} {json.dumps(entry.payload)}"


def test_a_german_page_changes_nothing_of_what_a_program_gets(world: World) -> None:
    fill(world)
    key = world.api("operator", Accept_Language="de")
    before = key.get("/memory/health").data
    page = german_text(world.page("operator"), "/health/")
    assert "Der Arbeitsbereich ist " in page
    assert "Alter 3,5 Tage" in page
    after = key.get("/memory/health").data
    assert after == before
    titles = [cause["title"] for cause in after["causes"]]
    assert any(title.startswith("Half of what ") for title in titles)


def test_a_repair_on_a_german_page_is_stored_in_english(world: World) -> None:
    fill(world)
    MemoryRelation.objects.all().delete()
    browser = world.page("operator")
    posted(browser, "/health/fix/recompute/")
    page = posted(browser, "/health/fix/link/")
    assert "Beziehungen geschrieben. Erreichbarkeit " in page
    assert "relations written; score " in newest(outcomes.REPAIRED)
    assert "Beziehungen geschrieben</bdi>" in german_text(browser, "/health/")


def test_a_cause_accepted_on_a_german_page_is_stored_by_its_key(world: World) -> None:
    fill(world)
    form = accepted_cause(world, "So gewollt")
    page = posted(world.page("operator"), "/health/accept/", form)
    assert "Hingenommen bis " in page
    item = AcceptedCause.objects.get()
    assert (item.metric, item.key) == (form["metric"], form["key"])
    assert "A cause of low " in newest("memory.health_cause_accepted")


def test_a_reason_of_the_list_is_stored_in_english(world: World) -> None:
    proposal, browser = proposed(world), world.page("operator")
    assert "Richtig, aber zu trivial" in german_text(browser, at(proposal))
    form = form_of(proposal) | {"preset": PRESETS[0], "reason": "So ist es"}
    posted(browser, at(proposal, "reject/"), form)
    stored = ConsolidationProposal.objects.get(pk=proposal.pk)
    assert (stored.state, stored.reason) == ("rejected", f"{PRESETS[0]}: So ist es")
    assert "eine Regel: So ist es" in german_text(browser, at(proposal))


def test_a_rule_learned_on_a_german_page_is_stored_in_english(world: World) -> None:
    proposal, browser = proposed(world), world.page("operator")
    assert "Angenommen" in posted(browser, at(proposal, "approve/"), form_of(proposal))
    assert newest("memory.consolidated").startswith("Learned: ")


def test_what_a_check_finds_on_a_german_page_is_stored_in_english(world: World) -> None:
    first = test_recall_checks.fill(world)[0]
    check = test_recall_checks.saved(world, [first.id], k=1)
    JournalEntry.objects.filter(pk=first.pk).update(erased_at=first.ts)
    browser = world.page("operator")
    browser.post(f"/recall/checks/{check.id}/run/", headers=GERMAN)
    run = RecallCheckRun.objects.get()
    assert run.missing == [{"entry_id": first.id, "finding": "It was erased."}]
    assert "Er wurde gelöscht." in german_text(browser, "/recall/checks/")
