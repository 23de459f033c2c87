"""Exports of the journal's list: what is in them, what they leave behind."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from memory.journal import export
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Severity
from tests import factories
from tests.web.test_journal_page import get
from tests.world import World

PATH = "/journal/export/?entry_type=peer.escalation"


def exported(browser: Client, path: str = PATH, name: str = "jsonl") -> str:
    """Return the text of an export."""
    response: Any = browser.post(path, {"format": name})
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def rows_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_export_has_every_entry_once_in_the_order_of_the_list(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PAGE", 2)
    moment = factories.ago(1)
    rows = [world.entry(f"Entry {number}", ts=moment) for number in range(5)]
    browser = world.page("viewer")
    ids = [row["id"] for row in rows_of(exported(browser))]
    assert ids == [row.id for row in reversed(rows)]
    table = list(csv.DictReader(io.StringIO(exported(browser, name="csv"))))
    assert [row["id"] for row in table] == ids
    assert list(table[0]) == list(export.COLUMNS)


def test_lines_hold_the_entry_as_it_is(world: World) -> None:
    payload = {"text": "Größe\n2"}
    row = world.entry("Größe", payload=payload)
    [line] = rows_of(exported(world.page("viewer")))
    assert line["summary"] == "Größe"
    assert line["payload"] == payload
    assert line["agent_id"] == world.agents["ada"].id
    assert line["entry_hash"] == row.entry_hash


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_is_no_formula(world: World, start: str) -> None:
    row = world.entry("Plain")
    summary = f'{start}HYPERLINK("https://evil.example")'
    JournalEntry.objects.filter(pk=row.pk).update(summary=summary)
    text = exported(world.page("viewer"), name="csv")
    [line] = csv.DictReader(io.StringIO(text, newline=""))
    assert line["summary"] == f"'{summary}"


def test_the_journal_records_an_export_and_no_words(world: World) -> None:
    world.entry("Marta", severity=Severity.WARN, subjects=("marta@example.com",))
    query = "?severity=warn&subject=marta%40example.com&q=marta"
    text = exported(world.page("viewer"), f"/journal/export/{query}")
    assert len(text.splitlines()) == 1
    row = JournalEntry.objects.get(entry_type=export.EXPORTED)
    assert (row.actor_type, row.actor_id) == ("user", str(world.people["viewer"].pk))
    assert row.payload == {
        "format": "jsonl",
        "entries": 1,
        "filter": {
            "q": "set",
            "subject": "set",
            "severity": ["warn"],
            "has_agent": True,
            "include_archive": False,
        },
    }
    assert "marta" not in f"{row.payload_text}{row.summary}".lower()


def test_an_export_is_of_the_chain_when_it_began(world: World) -> None:
    world.entry("Refund")
    filters = JournalFilter(entry_type=("peer.escalation", export.EXPORTED))
    content = export.export(world.actor("viewer"), filters, "jsonl")
    world.entry("Later")
    assert [row["summary"] for row in rows_of("".join(content.lines))] == ["Refund"]
    assert content.entries == 1


def test_memory_is_bounded_by_the_page(
    world: World, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(export, "PAGE", 2)
    for number in range(5):
        world.entry(f"Entry {number}")
    filters = JournalFilter(entry_type=("peer.escalation",))
    lines = export.export(world.actor("viewer"), filters, "jsonl").lines
    with django_assert_num_queries(1):
        next(lines), next(lines)
    with django_assert_num_queries(1):
        next(lines), next(lines)


def test_an_export_of_another_workspace_holds_nothing_of_this_one(world: World) -> None:
    world.entry("Refund")
    assert exported(world.page("stranger")) == ""


def test_an_agent_exports_nothing(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        export.export(world.actor("ada"), JournalFilter(), "csv")


@pytest.mark.parametrize(
    ("query", "name"),
    [("", "xlsx"), ("", ""), ("?severity=loud", "csv"), ("?show=ghosts", "csv")],
)
def test_what_is_unknown_is_refused_and_not_recorded(
    world: World, query: str, name: str
) -> None:
    response = world.page("viewer").post(f"/journal/export/{query}", {"format": name})
    assert response.status_code == 422
    assert not JournalEntry.objects.filter(entry_type=export.EXPORTED).exists()


def test_an_export_is_a_download_that_is_not_cached(world: World) -> None:
    response = world.page("viewer").post(PATH, {"format": "csv"})
    assert response["Content-Disposition"] == 'attachment; filename="journal.csv"'
    assert response["Cache-Control"] == "no-store"


def test_a_link_exports_nothing(world: World) -> None:
    assert world.page("viewer").get(PATH).status_code == 405
    assert Client().post(PATH, {"format": "csv"}).status_code == 302


def test_the_list_offers_the_export_of_its_filter(world: World) -> None:
    world.entry("Refund")
    _, text = get(world.page("viewer"), "/journal/", q="refund", show="all")
    assert 'action="/journal/export/?q=refund&amp;show=all"' in text
