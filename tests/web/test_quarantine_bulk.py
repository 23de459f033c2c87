"""Many held texts at once, on the quarantine's own list."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from pytest_django import Settings

from memory.models import HeldFile, JournalEntry
from memory.review import queue
from memory.review.decide import Decision
from memory.rules import bulk, errors
from memory.rules.bulk import Pick
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

REASON = "Looked at with care"
PRESET = "An order that nobody of ours gave"
BULK_URL = "/quarantine/many/"
TICK = 'type="checkbox" name="items"'


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep written files of one test from the next."""
    settings.DATA_DIR = tmp_path


@pytest.fixture
def cases(world: World) -> list[HeldFile]:
    labels = ("AGENT.md", "pins.md", "daily/2026-05-21.md")
    return [hold_text(world, label=label) for label in labels]


def ticks(*rows: HeldFile, **fields: object) -> dict[str, Any]:
    """Return what the ticks of rows send."""
    body = {"decision": "discard", "reason": REASON} | fields
    return body | {"items": [f"{case.id}:{case.version}" for case in rows]}


def states() -> list[str]:
    return list(
        HeldFile.objects.order_by("received_at").values_list("state", flat=True)
    )


def test_the_ticked_are_decided_and_exactly_those_come_back(
    world: World, cases: list[HeldFile]
) -> None:
    page = world.page("operator")
    html = page.get("/quarantine/").content.decode()
    assert html.count(TICK) == 3
    assert html.count('data-key="t"') == 1
    body = ticks(*cases[:2], decision="release")
    html = page.post(f"{BULK_URL}?source=tool", body).content.decode()
    assert "2 texts decided" in html
    assert f'action="{BULK_URL}?source=tool&amp;state=held"' in html
    assert states() == ["released", "released", "held"]
    # Sent twice, the same ticks change nothing more.
    assert page.post(BULK_URL, body).content.decode().count("not changed") == 2
    undo = {"items": [f"{case.id}:2:" for case in cases[:2]], "undo": "1"}
    assert "2 texts wait again" in page.post(BULK_URL, undo).content.decode()
    assert states() == ["held"] * 3


@pytest.mark.parametrize(
    "decision", [item.value for item in Decision if item is not Decision.REDACT]
)
def test_each_decision_of_one_text_can_be_taken_of_many(
    world: World, cases: list[HeldFile], decision: str
) -> None:
    page = world.page("owner")
    body = ticks(cases[0], decision=decision, reason="", preset=PRESET)
    reply = page.post(BULK_URL, body)
    case = HeldFile.objects.get(pk=cases[0].pk)
    assert (case.decision, case.reason) == (decision, PRESET)
    assert reply.status_code == 200


def test_of_many_the_clean_rests_are_released_and_the_others_refused(
    world: World,
) -> None:
    whole_attack = hold_text(world)
    mixed = hold_text(world, f"Refunds go by card.\n{kit.POISON}.\n", "pins.md")
    unclean = hold_text(world, f"A line.\n{kit.POISON}.\n", "daily/2026-05-21.md")
    # As if one rule alone had seen it, and only in the first line.
    finding = {**unclean.findings[0], "start": 0, "end": 6}
    HeldFile.objects.filter(pk=unclean.pk).update(findings=[finding])
    body = ticks(whole_attack, mixed, unclean, decision="redact")
    reply = world.page("owner").post(BULK_URL, body)
    assert reply.status_code == 200
    items = reply.context["page"].report.items
    assert [(item.id, item.state, item.code) for item in items] == [
        (whole_attack.id, "redacted", None),
        (mixed.id, "redacted", None),
        (unclean.id, "", "not_clean"),
    ]
    assert states() == ["redacted", "redacted", "held"]
    mixed.refresh_from_db()
    assert (mixed.decision, mixed.reason) == (Decision.REDACT, REASON)
    assert "Refunds go by card." in kit.on_disk(world, "pins.md").read_text()


def test_decisions_are_undone_from_the_list_of_decided_texts(
    world: World, cases: list[HeldFile]
) -> None:
    page = world.page("operator")
    page.post(BULK_URL, ticks(*cases))
    decided_url = "/quarantine/?state=discarded"
    html = page.get(decided_url).content.decode()
    assert html.count(TICK) == 3
    assert "Undo the ticked decisions" in html
    body = {"items": [f"{cases[0].id}:2"], "undo": "1"}
    html = page.post(f"{BULK_URL}?state=discarded", body).content.decode()
    assert "1 text waits again" in html
    assert states() == ["held", "discarded", "discarded"]
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert TICK not in world.page("operator").get(decided_url).content.decode()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"items": []}, "Tick between 1 and 200 rows."),
        ({"items": [f"held_{n}:1" for n in range(201)]}, "Tick between 1 and 200"),
        ({"reason": " "}, "A decision needs a reason."),
        ({"decision": ""}, "Choose what happens to the text."),
    ],
)
def test_what_cannot_be_carried_out_says_why(
    world: World, cases: list[HeldFile], fields: dict[str, object], sentence: str
) -> None:
    reply = world.page("operator").post(BULK_URL, ticks(cases[0]) | fields)
    html = reply.content.decode()
    assert reply.status_code == 422
    assert states() == ["held"] * 3
    # It says so at the form, not in the pane of a text that nobody opened.
    form = re.search(r'<form class="many" id="bulk".*?</form>', html, re.DOTALL)
    assert form is not None
    assert 'role="alert"' in form[0]
    assert sentence in form[0]
    assert html.count(sentence) == 1
    assert "Not possible" not in html


def test_a_fault_keeps_the_ticks_and_the_reason(
    world: World, cases: list[HeldFile]
) -> None:
    body = ticks(*cases[:2], decision="", preset=PRESET, reason='Of "ours"')
    html = world.page("operator").post(BULK_URL, body).content.decode()
    rows = re.findall(rf"<input {TICK}[^>]*>", html)
    checked = [row for row in rows if " checked" in row]
    assert len(rows) == 3
    assert len(checked) == 2
    for case in cases[:2]:
        assert any(f'value="{case.id}:{case.version}"' in row for row in checked)
    assert f'<option value="{PRESET}" selected>' in html
    assert 'value="Of &quot;ours&quot;"' in html


def test_a_fault_is_shown_where_no_text_is_listed(
    world: World, cases: list[HeldFile]
) -> None:
    body = {"items": [], "undo": "1"}
    url = f"{BULK_URL}?state=released"
    html = world.page("operator").post(url, body).content.decode()
    assert html.count("Tick between 1 and 200 rows.") == 1


@pytest.mark.parametrize("decision", ["", "discard"])
def test_no_text_counts_as_read_by_deciding_many(
    world: World, cases: list[HeldFile], decision: str
) -> None:
    body = ticks(cases[0], decision=decision)
    html = world.page("operator").post(BULK_URL, body).content.decode()
    assert "No text is open." in html
    assert not JournalEntry.objects.filter(entry_type="memory.held_viewed").exists()


@pytest.mark.parametrize("person", ["viewer", "compliance"])
def test_who_may_not_decide_sees_no_ticks_and_decides_nothing(
    world: World, cases: list[HeldFile], person: str
) -> None:
    page = world.page(person)
    assert TICK not in page.get("/quarantine/").content.decode()
    assert page.post(BULK_URL, ticks(*cases)).status_code == 403
    undo = {"items": [f"{cases[0].id}:1"], "undo": "1"}
    assert page.post(BULK_URL, undo).status_code == 403
    assert states() == ["held"] * 3


@pytest.mark.parametrize("role", ["viewer", "compliance", "ada"])
def test_the_service_refuses_roles_without_the_permission(
    world: World, cases: list[HeldFile], role: str
) -> None:
    actor, picks = world.actor(role), [Pick(cases[0].id, "1")]
    with pytest.raises(errors.Forbidden):
        queue.decide_many(actor, picks, Decision.DISCARD, reason=REASON)
    with pytest.raises(errors.Forbidden):
        queue.undo_many(actor, picks)
    assert states() == ["held"] * 3


@pytest.mark.parametrize("role", ["operator", "owner"])
def test_the_service_decides_and_undoes_for_those_with_it(
    world: World, cases: list[HeldFile], role: str
) -> None:
    actor = world.actor(role)
    picks = [Pick(case.id, "1") for case in cases]
    items = queue.decide_many(actor, picks, Decision.DISCARD, reason=REASON)
    assert [item.ok for item in items] == [True] * 3
    back = queue.undo_many(actor, bulk.parse([item.pick for item in items]))
    assert [item.state for item in back] == ["held"] * 3


def test_another_workspace_finds_none_of_them(
    world: World, cases: list[HeldFile]
) -> None:
    html = world.page("stranger").post(BULK_URL, ticks(*cases)).content.decode()
    assert html.count("not changed") == 3
    assert cases[0].label not in html
    assert states() == ["held"] * 3


def test_the_address_of_the_result_leads_back_to_the_list(world: World) -> None:
    reply = world.page("operator").get(f"{BULK_URL}?q=refund")
    assert reply["Location"] == "/quarantine/?q=refund&state=held"
