"""Journal, files and records in German: words change, what is stored does not."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from memory.models import JournalEntry, MemoryVersion, Record
from tests.world import ATTACK, World

GERMAN = {"Accept-Language": "de"}


@pytest.fixture
def browser(world: World) -> Any:
    """A person's browser that asks for German pages."""
    client = world.page("owner")
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    return client


def text(response: Any) -> str:
    return unescape(response.content.decode())


def summaries() -> str:
    """Return what the newest entries of the journal say."""
    return " | ".join(row.summary for row in JournalEntry.objects.order_by("-seq")[:3])


def test_a_priority_set_on_a_german_page_is_recorded_in_english(
    world: World, browser: Any
) -> None:
    row = world.entry()
    fields = {"priority": "pin", "reason": "weil"}
    page = text(browser.post(f"/journal/{row.id}/priority/", fields, follow=True))
    assert "Priorität ist jetzt" in page
    row.refresh_from_db()
    assert row.priority == "pin"
    assert f"Priority of {row.id} set to pin" in summaries()


def test_a_file_written_and_restored_on_german_pages_has_english_notes(
    world: World, browser: Any
) -> None:
    file = world.file()
    url = f"/files/{file.agent_id}/AGENT.md/"
    fields = {"mode": "replace", "text": "Neu.", "base": file.sha256}
    page = text(browser.post(url, fields, follow=True))
    assert "AGENT.md geschrieben, Version 2" in page
    page = text(browser.post(f"{url}restore/", {"number": "1"}, follow=True))
    assert "Version 1 als Version 3 wiederhergestellt" in page
    newest = MemoryVersion.objects.latest("number")
    assert newest.note == "version 1 restored"
    assert "Version 1 wiederhergestellt<" in page
    assert "AGENT.md updated" in summaries()


def test_a_refused_write_says_why_in_german_and_keeps_the_case_in_english(
    world: World, browser: Any
) -> None:
    file = world.file()
    url = f"/files/{file.agent_id}/AGENT.md/"
    fields = {"mode": "replace", "text": "x" * 4001, "base": file.sha256}
    page = text(browser.post(url, fields))
    assert "Nicht geschrieben. Die Obergrenze wäre überschritten." in page
    assert "Jetzt dort: 20 von 4.000 Bytes, 0 %." in page
    page = text(browser.post(url, {**fields, "text": ATTACK}))
    assert "Nicht geschrieben. Der Text wartet auf die Durchsicht." in page
    assert "held" in summaries()


def test_a_program_gets_english_whatever_it_asks_for(world: World) -> None:
    api = world.api("ada", **GERMAN)
    reply = api.post(
        "/memory/tools/memory.write",
        {"tier": "AGENT", "content": "x" * 4001, "mode": "replace"},
    )
    assert "AGENT.md may hold 4000 bytes" in str(reply.data)


def test_records_changed_on_german_pages_are_recorded_in_english(
    world: World, browser: Any
) -> None:
    row = world.record()
    pick = f"{row.id}:{row.version}"
    fields = {"act": "expire", "items": pick, "reason": "alt"}
    page = text(browser.post("/records/many/", fields))
    assert "1 Datensatz ist jetzt abgelaufen" in page
    assert "abgelaufen</span>" in page
    row.refresh_from_db()
    browser.post("/records/many/", {"undo": "1", "items": f"{row.id}:{row.version}"})
    entries = JournalEntry.objects.filter(refs_text__contains=row.id)
    written = " ".join(f"{e.summary} {e.refs_text} {e.payload_text}" for e in entries)
    assert "expiry undone" in written
    assert "abgelaufen" not in written


def test_a_record_is_edited_with_numbers_as_forms_send_them(
    world: World, browser: Any
) -> None:
    row = world.record()
    page = text(browser.get(f"/records/{row.id}/"))
    [control] = re.findall(r'<input type="number" name="confidence"[^>]*>', page)
    assert f'value="{row.confidence}"' in control
    assert "1,00" in page
    fields = {
        "content": row.content,
        "kind": row.kind,
        "confidence": "0.55",
        "version": str(row.version),
    }
    page = text(browser.post(f"/records/{row.id}/edit/", fields, follow=True))
    assert "Gewissheit: 1,00, dann 0,55" in page
    assert Record.objects.get(pk=row.pk).confidence == 0.55


def test_drawings_have_points_in_their_numbers(world: World, browser: Any) -> None:
    for number in range(7):
        world.entry(f"Entry {number}", by="bob" if number % 3 else "ada")
    agent_id = world.agents["ada"].id
    for url in ("/journal/counts/", f"/journal/calendar/?agent_id={agent_id}"):
        for drawing in re.findall(r"<svg.*?</svg>", text(browser.get(url)), re.DOTALL):
            assert not re.search(r'\b(?:x|y|width|height)="\d+,', drawing)
