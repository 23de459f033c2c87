"""Another priority of one entry on the recall page: computed, applied, compared."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.template.loader import render_to_string

from episodic.index import sweep as index
from episodic.web import comparison
from episodic.web.comparison import Comparison
from memory.accounts import sessions
from memory.models import JournalEntry, PriorityChange
from tests import factories
from tests.world import World


def fill(world: World, count: int = 9) -> list[Any]:
    """Append and embed entries that only their age tells apart."""
    rows = [world.entry(ts=factories.ago(n)) for n in range(count)]
    index.sweep()
    return rows


def panel(world: World, person: str = "operator", **query: Any) -> str:
    """Return the panel of the page."""
    fields = {"query": "refund", "k": "3", **query}
    response = world.page(person).get("/recall/", fields)
    assert response.status_code == 200, response.content
    text = str(response.content.decode())
    return text.split('id="h-what-if"', 1)[1].split("</section>", 1)[0]


def last(world: World) -> str:
    """Return the id of an entry below the cut."""
    return str(re.findall(r'<option value="(j_\w+)"', panel(world))[-1])


def apply(world: World, person: str, entry_id: str, **fields: Any) -> Any:
    data = {
        "query": "refund", "k": "3", "if_entry_id": entry_id,
        "if_priority": "permanent", "reason": "It was missed", **fields,
    }  # fmt: skip
    return world.page(person).post("/recall/what-if/", data)


def test_the_expected_order_stands_beside_the_present_one(world: World) -> None:
    fill(world)
    text = panel(world, if_entry_id=last(world), if_priority="permanent")
    assert "It would come into the answer, at rank 1 instead of 9." in text
    assert "its importance would be 0.95" in text
    assert ">up 8 places<" in text.replace('<span aria-hidden="true">↑ </span>', "")
    assert ">left<" in text
    assert not PriorityChange.objects.exists()


def test_without_a_priority_it_is_the_next_higher(world: World) -> None:
    fill(world)
    assert "Set its priority to high" in panel(world, if_entry_id=last(world))


def test_applying_shows_what_was_expected_and_what_came(world: World) -> None:
    fill(world)
    entry_id = last(world)
    browser = world.page("operator")
    data = {
        "query": "refund", "k": "3", "if_entry_id": entry_id,
        "if_priority": "permanent", "reason": "It was missed",
    }  # fmt: skip
    response = browser.post("/recall/what-if/", data)
    text = browser.get(response["Location"]).content.decode()
    assert "It was expected at rank 1, and that is where it is." in text
    assert 'data-label="Expected:">1<' in text
    assert 'data-label="Before:">9<' in text
    change = PriorityChange.objects.get(entry_id=entry_id)
    assert (change.priority, change.reason) == ("permanent", "It was missed")
    # A second press changes nothing, and says so.
    text = browser.post("/recall/what-if/", data, follow=True).content.decode()
    assert "Its priority is permanent already; nothing was changed." in text
    assert PriorityChange.objects.count() == 1
    # Another question shows no expectation of this one.
    other = browser.get("/recall/", {**data, "query": "denied"}).content.decode()
    assert "It was expected at rank" not in other


def test_the_session_keeps_no_words_of_the_question(world: World) -> None:
    fill(world)
    browser = world.page("operator")
    data = {
        "query": "refund ada@example.com", "k": "3", "if_entry_id": last(world),
        "if_priority": "permanent",
    }  # fmt: skip
    browser.post("/recall/what-if/", data)
    note = json.dumps(browser.session[sessions.EXPECTED])
    assert "refund" not in note
    assert "example.com" not in note


def test_what_was_expected_and_did_not_come_is_no_arrival(world: World) -> None:
    rows = fill(world, 2)
    row = comparison.Row(rows[0], first=None, second=None, expected=2)
    table = Comparison("Before", "Now", [row], "", "Expected")
    text = render_to_string(
        "episodic/_moves.html", {"moves": table, "title": "Ranks", "entry_id": ""}
    )
    assert "did not come" in text
    assert table.entered_count == 0


@pytest.mark.parametrize(
    ("person", "status"), [("viewer", 403), ("compliance", 403), ("stranger", 404)]
)
def test_who_may_not_apply(world: World, person: str, status: int) -> None:
    fill(world)
    entry_id = last(world)
    assert apply(world, person, entry_id).status_code == status
    assert not PriorityChange.objects.exists()
    if person != "stranger":
        text = panel(world, person, if_entry_id=entry_id)
        assert "It would" in text
        assert "Set its priority" not in text


@pytest.mark.parametrize(
    "fields",
    [{"if_priority": "divine"}, {"if_priority": ""}, {"query": ""}, {"k": "99"}],
)
def test_what_is_no_priority_or_question_changes_nothing(
    world: World, fields: dict[str, str]
) -> None:
    fill(world)
    assert apply(world, "operator", last(world), **fields).status_code == 302
    assert not PriorityChange.objects.exists()


def test_a_reason_that_is_too_long_is_refused_on_the_page(world: World) -> None:
    fill(world)
    browser = world.page("operator")
    data = {"query": "refund", "if_entry_id": last(world), "if_priority": "high"}
    reason = "r" * 100_000
    response = browser.post("/recall/what-if/", {**data, "reason": reason}, follow=True)
    assert "reason is too long" in response.content.decode()
    assert not PriorityChange.objects.exists()


def test_an_entry_next_door_is_a_fault_and_no_text(world: World) -> None:
    fill(world)
    foreign = world.indexed("Theirs", by="olga")
    fields = {"query": "refund", "if_entry_id": foreign.id}
    response = world.page("operator").get("/recall/", fields)
    assert response.status_code == 422
    assert "There is no such entry here." in response.content.decode()
    assert "Theirs" not in response.content.decode()


def test_a_hostile_summary_is_text(world: World) -> None:
    row = world.indexed("refund </option><script>alert(1)</script>")
    assert "<script" not in panel(world, if_entry_id=row.id)


def test_words_alone_say_that_nothing_moves(world: World) -> None:
    fill(world)
    text = panel(world, if_entry_id=last(world), mode="sparse")
    assert "the word ranking does not weigh importance" in text
    assert "Set its priority" not in text
    assert "<table" not in text


def test_an_erased_entry_is_no_choice(world: World) -> None:
    row = fill(world)[0]
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=row.ts)
    fields = {"query": "refund", "if_entry_id": row.id}
    assert world.page("operator").get("/recall/", fields).status_code == 422
