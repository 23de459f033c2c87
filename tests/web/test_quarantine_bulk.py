"""Many held texts at once, on the quarantine's own list."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from pytest_django import Settings

from memory.models import HeldFile, HeldState
from memory.review import queue
from memory.review.decide import Decision
from memory.rules import bulk, errors
from memory.rules.bulk import Pick
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

REASON = "Looked at with care"
PRESET = "An order that nobody of ours gave"
MANY = "/quarantine/many/"
TICK = 'type="checkbox" name="items"'


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep written files of one test from the next."""
    settings.DATA_DIR = tmp_path


@pytest.fixture
def held(world: World) -> list[HeldFile]:
    labels = ("AGENT.md", "pins.md", "daily/2026-05-21.md")
    return [hold_text(world, label=label) for label in labels]


def ticks(*cases: HeldFile, **fields: object) -> dict[str, Any]:
    """Return what the ticks of rows send."""
    body = {"decision": "discard", "reason": REASON} | fields
    return body | {"items": [f"{case.id}:{case.version}" for case in cases]}


def states() -> list[str]:
    return list(
        HeldFile.objects.order_by("received_at").values_list("state", flat=True)
    )


def test_the_ticked_are_decided_and_exactly_those_come_back(
    world: World, held: list[HeldFile]
) -> None:
    page = world.page("operator")
    html = page.get("/quarantine/").content.decode()
    assert html.count(TICK) == 3
    assert html.count('data-key="t"') == 1
    body = ticks(*held[:2], decision="release")
    html = page.post(f"{MANY}?source=tool", body).content.decode()
    assert "2 texts decided" in html
    assert f'action="{MANY}?source=tool&amp;state=held"' in html
    assert states() == ["released", "released", "held"]
    # Sent twice, the same ticks change nothing more.
    assert page.post(MANY, body).content.decode().count("not changed") == 2
    undo = {"items": [f"{case.id}:2:" for case in held[:2]], "undo": "1"}
    assert "2 texts wait again" in page.post(MANY, undo).content.decode()
    assert states() == ["held"] * 3


@pytest.mark.parametrize("decision", [decision.value for decision in Decision])
def test_each_decision_of_one_text_can_be_taken_of_many(
    world: World, held: list[HeldFile], decision: str
) -> None:
    page = world.page("owner")
    body = ticks(held[0], decision=decision, reason="", preset=PRESET)
    reply = page.post(MANY, body)
    case = HeldFile.objects.get(pk=held[0].pk)
    # What is left of a text that is an attack as a whole is nothing to release.
    if decision == Decision.REDACT:
        assert case.state in (HeldState.REDACTED, HeldState.HELD)
    else:
        assert case.decision == decision
        assert case.reason == PRESET
    assert reply.status_code == 200


def test_decisions_are_undone_from_the_list_of_decided_texts(
    world: World, held: list[HeldFile]
) -> None:
    page = world.page("operator")
    page.post(MANY, ticks(*held))
    listed = "/quarantine/?state=discarded"
    html = page.get(listed).content.decode()
    assert html.count(TICK) == 3
    assert "Undo the ticked decisions" in html
    body = {"items": [f"{held[0].id}:2"], "undo": "1"}
    html = page.post(f"{MANY}?state=discarded", body).content.decode()
    assert "1 text waits again" in html
    assert states() == ["held", "discarded", "discarded"]
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert TICK not in world.page("operator").get(listed).content.decode()


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
    world: World, held: list[HeldFile], fields: dict[str, object], sentence: str
) -> None:
    reply = world.page("operator").post(MANY, ticks(held[0]) | fields)
    html = reply.content.decode()
    assert reply.status_code == 422
    assert 'role="alert"' in html
    assert sentence in html
    assert states() == ["held"] * 3


@pytest.mark.parametrize("person", ["viewer", "compliance"])
def test_who_may_not_decide_sees_no_ticks_and_decides_nothing(
    world: World, held: list[HeldFile], person: str
) -> None:
    page = world.page(person)
    assert TICK not in page.get("/quarantine/").content.decode()
    assert page.post(MANY, ticks(*held)).status_code == 403
    undo = {"items": [f"{held[0].id}:1"], "undo": "1"}
    assert page.post(MANY, undo).status_code == 403
    assert states() == ["held"] * 3


@pytest.mark.parametrize("role", ["viewer", "compliance", "ada"])
def test_the_service_refuses_roles_without_the_permission(
    world: World, held: list[HeldFile], role: str
) -> None:
    actor, picks = world.actor(role), [Pick(held[0].id, "1")]
    with pytest.raises(errors.Forbidden):
        queue.decide_many(actor, picks, Decision.DISCARD, reason=REASON)
    with pytest.raises(errors.Forbidden):
        queue.undo_many(actor, picks)
    assert states() == ["held"] * 3


@pytest.mark.parametrize("role", ["operator", "owner"])
def test_the_service_decides_and_undoes_for_those_with_it(
    world: World, held: list[HeldFile], role: str
) -> None:
    actor = world.actor(role)
    picks = [Pick(case.id, "1") for case in held]
    items = queue.decide_many(actor, picks, Decision.DISCARD, reason=REASON)
    assert [item.ok for item in items] == [True] * 3
    back = queue.undo_many(actor, bulk.parse([item.pick for item in items]))
    assert [item.state for item in back] == ["held"] * 3


def test_another_workspace_finds_none_of_them(
    world: World, held: list[HeldFile]
) -> None:
    html = world.page("stranger").post(MANY, ticks(*held)).content.decode()
    assert html.count("not changed") == 3
    assert held[0].label not in html
    assert states() == ["held"] * 3


def test_the_address_of_the_result_leads_back_to_the_list(world: World) -> None:
    reply = world.page("operator").get(f"{MANY}?q=refund")
    assert reply["Location"] == "/quarantine/?q=refund&state=held"
