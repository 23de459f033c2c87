"""The list of agents: who stands out and why, in any order, in pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from episodic.agents import facts as agent_facts
from episodic.agents import overview
from episodic.agents.facts import AgentFacts
from episodic.agents.overview import AgentFilter
from episodic.models import Embedding
from memory.models import Agent, AgentKey, JournalEntry, MemoryFile
from memory.review import decide
from memory.rules import errors
from tests import factories
from tests.world import World


def facts(world: World, slug: str, *, person: str = "operator") -> AgentFacts:
    rows = agent_facts.facts_of(world.actor(person), agent_id=world.agents[slug].id)
    assert [row.agent.slug for row in rows] == [slug]
    return rows[0]


def marks(world: World, slug: str, *, person: str = "operator") -> set[str]:
    return {mark.name for mark in facts(world, slug, person=person).marks}


def slugs(world: World, **fields: str | int) -> list[str]:
    filters = AgentFilter(**fields)  # type: ignore[arg-type]
    page = overview.listing(world.actor("viewer"), filters)
    return [row.agent.slug for row in page.rows]


def many(world: World, count: int) -> None:
    crew = world.crews["billing"]
    Agent.objects.bulk_create(
        Agent(workspace=world.acme, crew=crew, slug=f"clerk-{n:03}", name=f"clerk {n}")
        for n in range(count)
    )


# ── Marks ────────────────────────────────────────────────────────────────────
def test_an_agent_that_never_wrote(world: World) -> None:
    assert marks(world, "bob") == {"unwritten"}
    world.entry(by="bob")
    assert "unwritten" not in marks(world, "bob")


def test_what_people_do_with_its_text_is_no_sign_of_an_agent(world: World) -> None:
    held = world.held()
    JournalEntry.objects.filter(agent_id=held.agent_id).update(ts=factories.ago(8))
    decide.view(held, by=world.actor("operator"))
    assert held.agent
    assert "silent" in marks(world, held.agent.slug)


@pytest.mark.parametrize(("days", "is_silent"), [(6.9, False), (7.1, True)])
def test_silent_from_seven_days_on(
    world: World, days: float, *, is_silent: bool
) -> None:
    row = world.entry(by="bob")
    JournalEntry.objects.filter(pk=row.pk).update(ts=factories.ago(days))
    assert ("silent" in marks(world, "bob")) is is_silent


@pytest.mark.parametrize(("size", "is_over"), [(4_000, False), (4_001, True)])
def test_a_file_is_over_its_cap_by_one_byte(
    world: World, size: int, *, is_over: bool
) -> None:
    file = world.file()
    MemoryFile.objects.filter(pk=file.pk).update(bytes=size)
    assert ("over_cap" in marks(world, "ada")) is is_over
    assert facts(world, "ada").over_cap == int(is_over)


def test_a_file_that_is_gone_is_over_no_cap(world: World) -> None:
    file = world.file()
    MemoryFile.objects.filter(pk=file.pk).update(bytes=9_999, sha256="")
    assert "over_cap" not in marks(world, "ada")


def test_keys_that_expired_and_no_key(world: World) -> None:
    keys = AgentKey.objects.filter(agent=world.agents["bob"])
    keys.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired" in marks(world, "bob")
    keys.update(revoked_at=timezone.now())
    assert "no_key" in marks(world, "bob")
    assert "expired" not in marks(world, "bob")
    # Of ada's keys one expired, and others work.
    assert not marks(world, "ada") & {"expired", "no_key"}


def test_recalled_is_judged_by_the_newest_entries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.indexed(by="bob")
    assert "unrecalled" in marks(world, "bob")
    Embedding.objects.filter(entry=first).update(reference_count=1)
    assert "unrecalled" not in marks(world, "bob")
    monkeypatch.setattr(agent_facts, "RECALL_SAMPLE", 1)
    world.indexed("A later one", by="bob")
    assert "unrecalled" in marks(world, "bob")


def test_held_texts_are_for_reviewers(world: World) -> None:
    world.held()
    assert facts(world, "ada").held == 1
    assert "held" in marks(world, "ada")
    assert facts(world, "ada", person="viewer").held == 0
    assert "held" not in marks(world, "ada", person="viewer")


def test_last_seen_is_an_entry_or_the_use_of_a_key(world: World) -> None:
    keys = AgentKey.objects.filter(agent=world.agents["bob"])
    keys.update(last_used_at=None)
    assert facts(world, "bob").last_seen is None
    row = world.entry(by="bob")
    keys.update(last_used_at=row.ts - timedelta(hours=1))
    assert facts(world, "bob").last_seen == row.ts
    keys.update(last_used_at=row.ts + timedelta(hours=1))
    assert facts(world, "bob").last_seen == row.ts + timedelta(hours=1)


# ── The list ─────────────────────────────────────────────────────────────────
def test_the_worst_comes_first(world: World) -> None:
    world.entry(by="bob")
    MemoryFile.objects.filter(pk=world.file().pk).update(bytes=5_000)
    old = world.entry(by="lena")
    JournalEntry.objects.filter(pk=old.pk).update(ts=factories.ago(30))
    assert slugs(world) == ["ada", "lena", "bob"]
    assert slugs(world, sort="name") == ["ada", "bob", "lena"]
    assert slugs(world, sort="crew") == ["bob", "lena", "ada"]
    assert slugs(world, sort="quiet")[:2] == ["lena", "bob"]


def test_search_and_filters_narrow_together(world: World) -> None:
    assert slugs(world, q="ADA") == ["ada"]
    assert slugs(world, q="support len") == ["lena"]
    assert slugs(world, q=world.agents["bob"].id) == ["bob"]
    assert slugs(world, crew_id=world.crews["billing"].id) == ["bob"]
    assert slugs(world, show="lead") == ["lena"]
    assert slugs(world, show="lead", q="bob") == []
    assert slugs(world, q="%") == []


def test_an_unknown_list_or_order_is_refused(world: World) -> None:
    for field in ("show", "sort"):
        with pytest.raises(errors.Invalid) as refusal:
            slugs(world, **{field: "zeppelin"})
        assert refusal.value.problem_code == f"unknown_{field}"


def test_pages_hold_fifty_and_end(world: World) -> None:
    many(world, 98)
    listed = [*slugs(world, page=1), *slugs(world, page=2), *slugs(world, page=3)]
    assert (len(listed), len(set(listed))) == (101, 101)
    actor = world.actor("viewer")
    page = overview.listing(actor, AgentFilter(page=99))
    assert (page.first, page.last, page.newer, page.older) == (101, 101, 2, None)


def test_the_number_of_queries_does_not_grow(world: World) -> None:
    actor = world.actor("owner")
    with CaptureQueriesContext(connection) as few:
        overview.listing(actor, AgentFilter())
    many(world, 120)
    with CaptureQueriesContext(connection) as lots:
        overview.listing(actor, AgentFilter())
    assert len(lots) == len(few) == 4


def test_another_workspace_is_not_counted(world: World) -> None:
    assert "olga" not in slugs(world)
    olga = world.agents["olga"].id
    assert agent_facts.facts_of(world.actor("owner"), agent_id=olga) == []
    with pytest.raises(errors.Forbidden):
        agent_facts.facts_of(world.actor("ada"))
