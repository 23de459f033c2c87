"""Many records at once: expire and undo, hold again, forget after a list."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import records
from memory.models import JournalEntry, Record, RecordStatus
from memory.records import Amendment, Provenance, bulk
from memory.records.drafts import Draft
from memory.rules import errors
from memory.rules.bulk import LIMIT, Pick
from tests.world import World

REASON = "Out of date"


@pytest.fixture
def rows(world: World) -> list[Record]:
    ada = world.actor("ada")
    drafts = [
        Draft(content=f"{word} opens at nine.", owner=records.owner_for(ada))
        for word in ("Aachen", "<b>Bonn</b>", "Celle")
    ]
    origin = Provenance.AGENT_EXTRACTED
    return [records.save(draft, provenance=origin, by=ada).record for draft in drafts]


def ticks(*rows: Record, **fields: str) -> dict[str, Any]:
    """Return what a form with these rows ticked sends."""
    return {"items": [f"{row.id}:{row.version}" for row in rows], **fields}


def act(world: World, body: dict[str, Any], user: str = "operator") -> Any:
    return world.page(user).post("/records/many/?state=all", body)


def test_expired_records_leave_every_answer_and_come_back(
    world: World, rows: list[Record]
) -> None:
    due = timezone.now() + timedelta(days=9)
    change = Amendment(expires_at=due)
    origin = Provenance.AGENT_EXTRACTED
    rows[1] = records.amend(rows[1], change, provenance=origin, by=world.actor("ada"))
    html = act(world, ticks(*rows[:2], act="expire", reason=REASON)).content.decode()
    assert "2 records have expired now" in html
    assert [records.is_expired(row) for row in Record.objects.order_by("created_at")] \
        == [True, True, False]  # fmt: skip
    usable = JournalEntry.objects.filter(retired_at=None, entry_type="memory.revised")
    assert not usable.exists()
    undo = re.findall(r'name="items" value="([^"]+:)"', html)
    assert undo == [f"{rows[0].id}:2:", f"{rows[1].id}:3:"]
    html = act(world, {"items": undo, "undo": "1"}).content.decode()
    assert "2 records have their former expiry" in html
    for row in rows:
        row.refresh_from_db()
    assert [row.expires_at for row in rows[::2]] == [None, None]
    assert rows[1].expires_at is not None
    assert abs(rows[1].expires_at - due) < timedelta(seconds=1)
    assert {row.provenance for row in rows} == {Provenance.AGENT_EXTRACTED}
    assert usable.count() == 2


def test_an_undo_leaves_what_changed_since(world: World, rows: list[Record]) -> None:
    act(world, ticks(*rows[:2], act="expire", reason=REASON))
    first = Record.objects.get(pk=rows[0].pk)
    records.amend(
        first,
        Amendment(expires_at=None),
        provenance=Provenance.OPERATOR_CURATED,
        by=world.actor("operator"),
    )
    body = {"items": [f"{row.id}:2:" for row in rows[:2]], "undo": "1"}
    html = act(world, body).content.decode()
    assert "1 record has its former expiry" in html
    assert "The record changed since you read it." in html
    assert Record.objects.get(pk=first.pk).version == 3


def test_a_second_submit_changes_nothing(world: World, rows: list[Record]) -> None:
    body = ticks(*rows, act="expire", reason=REASON)
    act(world, body)
    html = act(world, body).content.decode()
    assert "0 records have expired now" in html
    assert html.count("not changed") == 3
    assert set(Record.objects.values_list("version", flat=True)) == {2}


def test_expired_records_hold_again(world: World, rows: list[Record]) -> None:
    body = ticks(*rows, act="unexpire", reason=REASON)
    assert act(world, body).content.decode().count("It has not expired.") == 3
    act(world, ticks(rows[0], act="expire", reason=REASON))
    rows[0].refresh_from_db()
    html = act(world, ticks(rows[0], act="unexpire", reason=REASON)).content.decode()
    assert "1 record holds again" in html
    assert not records.is_expired(Record.objects.get(pk=rows[0].pk))


def test_forgetting_lists_first_what_goes(world: World, rows: list[Record]) -> None:
    body = ticks(*rows[:2], act="forget", reason=REASON)
    html = act(world, body).content.decode()
    assert "Forget these 2 records?" in html
    assert "&lt;b&gt;Bonn&lt;/b&gt; opens at nine." in html
    assert f'value="{REASON}"' in html
    assert not Record.objects.filter(status=RecordStatus.FORGOTTEN).exists()
    html = act(world, {**body, "sure": "1"}).content.decode()
    assert "2 records forgotten" in html
    assert "Bonn" not in html
    assert 'name="undo"' not in html
    states = Record.objects.order_by("created_at").values_list("status", "content")
    assert list(states) == [
        ("forgotten", ""), ("forgotten", ""), ("current", rows[2].content),
    ]  # fmt: skip
    html = act(world, {**body, "sure": "1"}).content.decode()
    assert "0 records forgotten" in html


def test_what_changed_since_it_was_listed_is_not_forgotten(
    world: World, rows: list[Record]
) -> None:
    body = ticks(rows[0], act="forget", reason=REASON, sure="1")
    Record.objects.filter(pk=rows[0].pk).update(version=2)
    assert "changed since you read it" in act(world, body).content.decode()
    assert Record.objects.get(pk=rows[0].pk).status == RecordStatus.CURRENT


@pytest.mark.parametrize(
    "fields",
    [
        {"act": "expire", "reason": " "},
        {"act": "forget", "reason": "", "sure": "1"},
        {"act": "burn", "reason": REASON},
        {"act": "forget", "reason": REASON, "items": []},
        {"act": "expire", "reason": REASON, "items": []},
        {"act": "expire", "reason": "x" * 1_001},
    ],
)
def test_a_faulty_act_says_so_and_changes_nothing(
    world: World, rows: list[Record], fields: dict[str, Any]
) -> None:
    answer = act(world, {**ticks(*rows), **fields})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert set(Record.objects.values_list("version", flat=True)) == {1}


def test_more_than_the_limit_is_refused(world: World) -> None:
    picks = [Pick(f"r_{number}", "1") for number in range(LIMIT + 1)]
    with pytest.raises(errors.Invalid):
        bulk.expire(world.actor("operator"), picks, reason=REASON)


@pytest.mark.parametrize("name", ["expire", "unexpire", "forget"])
def test_who_may_act(world: World, rows: list[Record], name: str) -> None:
    body = ticks(*rows, act=name, reason=REASON, sure="1")
    assert act(world, body, "viewer").status_code == 403
    assert act(world, body, "compliance").status_code == 403
    foreign = act(world, body, "stranger").content.decode()
    assert foreign.count("not changed") == 3
    assert "Aachen" not in foreign
    assert set(Record.objects.values_list("version", flat=True)) == {1}
    listing = world.page("viewer").get("/records/").content.decode()
    assert 'name="items"' not in listing


def test_a_stranger_gets_no_list_of_what_goes(world: World, rows: list[Record]) -> None:
    body = ticks(*rows, act="forget", reason=REASON)
    answer = act(world, body, "stranger")
    assert answer.status_code == 422
    assert b"Aachen" not in answer.content


def test_each_change_names_its_actor_and_reason(
    world: World, rows: list[Record]
) -> None:
    act(world, ticks(*rows[:2], act="expire", reason=REASON))
    entries = JournalEntry.objects.filter(entry_type="memory.revised")
    assert {entry.actor_id for entry in entries} == {world.people["operator"].id}
    assert [entry.refs["reason"] for entry in entries] == [REASON, REASON]
