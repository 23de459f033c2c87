"""Pairs of records that say nearly the same, and making one of two."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.utils import timezone

from episodic.health import duplicates
from episodic.health import snapshots as health
from episodic.index import sweep as index
from memory import records
from memory.models import JournalEntry, Record, RecordStatus
from memory.records import Provenance
from memory.records.drafts import Draft
from memory.rules import errors
from memory.rules.scopes import Scope
from tests.world import World

TEXT = "Refunds end at $200 <b>"


def saved(world: World, text: str = TEXT, user: str = "u1", **fields: Any) -> Record:
    ada = world.actor("ada")
    owner, scope = records.owner_for(ada), Scope(user=user)
    draft = Draft(content=text, owner=owner, scope=scope, **fields)
    provenance = Provenance.AGENT_EXTRACTED
    return records.save(draft, provenance=provenance, by=ada).record


@pytest.fixture
def pair(world: World) -> tuple[World, Record, Record]:
    """Save the same statement twice, and embed it."""
    older = saved(world, external_id="limit-1", subjects=("jan@example.com",))
    newer = saved(world, external_id="limit-2")
    index.sweep()
    health.take(world.acme.id)
    return world, newer, older


def form(newer: Record, older: Record, reason: str = "Said twice") -> dict[str, str]:
    return {"newer": newer.id, "older": older.id, "reason": reason}


def test_health_leads_to_the_pairs(pair: tuple[World, Record, Record]) -> None:
    world, newer, older = pair
    client = world.page("operator")
    page = client.get("/health/").content.decode()
    assert "Review 1 pair of records</h3>" in page
    assert 'href="/health/duplicates/"' in page
    page = client.get("/health/duplicates/").content.decode()
    assert "1 pair of records says nearly the same" in page
    assert f"/records/{newer.id}/" in page
    assert f"/records/{older.id}/" in page
    assert "$200 &lt;b&gt;" in page


def test_one_record_is_left_and_the_two_stay_in_the_history(
    pair: tuple[World, Record, Record],
) -> None:
    world, newer, older = pair
    client = world.page("operator")
    answer = client.post("/health/duplicates/merge/", form(newer, older))
    assert answer.headers["Location"] == "/health/duplicates/"
    current = Record.objects.get(status=RecordStatus.CURRENT)
    assert (current.content, current.external_id) == (TEXT, "limit-2")
    assert "jan@example.com" in records.subjects_of(current)
    for row in (newer, older):
        row.refresh_from_db()
        assert (row.status, row.superseded_by_id) == ("superseded", current.id)
    assert JournalEntry.objects.filter(actor_id=world.actor("operator").id).exists()
    assert "No pair of records was found" in html.unescape(
        client.get("/health/duplicates/").content.decode()
    )
    answer = client.post("/health/duplicates/merge/", form(newer, older), follow=True)
    assert "They are no pair any more." in answer.content.decode()


def test_a_reason_is_needed(pair: tuple[World, Record, Record]) -> None:
    world, newer, older = pair
    client = world.page("operator")
    for reason in (" ", "a\0b", "x" * 501):
        client.post("/health/duplicates/merge/", form(newer, older, reason))
    assert Record.objects.filter(status=RecordStatus.CURRENT).count() == 2


@pytest.mark.parametrize(
    ("person", "seen", "done"),
    [("viewer", 200, 403), ("compliance", 200, 403), ("nobody", 302, 302)],
)
def test_who_sees_and_who_decides(
    pair: tuple[World, Record, Record], person: str, seen: int, done: int
) -> None:
    world, newer, older = pair
    client = world.page(person)
    page = client.get("/health/duplicates/")
    assert page.status_code == seen
    assert b"Make one record of two" not in page.content
    answer = client.post("/health/duplicates/merge/", form(newer, older))
    assert answer.status_code == done
    assert Record.objects.filter(status=RecordStatus.CURRENT).count() == 2


def test_another_workspace_sees_no_pair(pair: tuple[World, Record, Record]) -> None:
    world, newer, older = pair
    stranger = world.actor("stranger")
    assert duplicates.pairs(stranger) == []
    with pytest.raises(errors.AppError):
        duplicates.merge(stranger, newer.id, older.id, "mine")
    address = f"/health/duplicates/?crew_id={world.crews['support'].id}"
    assert world.page("stranger").get(address).status_code == 404
    billing = world.crews["billing"].id
    assert duplicates.pairs(world.actor("operator"), billing) == []


def test_records_of_two_users_are_no_pair(world: World) -> None:
    saved(world)
    saved(world, user="u2")
    index.sweep()
    assert duplicates.pairs(world.actor("operator")) == []


def test_a_record_past_its_end_is_no_half_of_a_pair(
    pair: tuple[World, Record, Record],
) -> None:
    world, _, older = pair
    operator = world.actor("operator")
    assert duplicates.count(operator) == 1
    Record.objects.filter(pk=older.pk).update(expires_at=timezone.now())
    assert (duplicates.count(operator), duplicates.pairs(operator)) == (0, [])
