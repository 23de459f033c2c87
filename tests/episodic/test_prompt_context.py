"""The prompt context as a service: one answer, its block, what was marked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from episodic.index import reference_counts
from episodic.index import sweep as index
from episodic.models import MemoryRelation
from episodic.recall import prompt_block, prompt_context, ranking
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from memory.models import Agent, JournalEntry
from memory.rules import errors
from tests import factories
from tests.world import World


def fill(world: World, count: int = 3) -> list[Any]:
    """Append and embed a few entries that share a word."""
    rows = factories.append_many(
        world.actor("ada"), [f"Refund number {n}" for n in range(count)]
    )
    index.sweep()
    return rows


def test_the_block_is_made_of_the_answers_hits(world: World) -> None:
    fill(world)
    context = prompt_context.build(Request(query="refund"), by=world.actor("ada"))
    assert set(context.block.entry_ids) == {hit.entry.id for hit in context.answer.hits}
    assert context.block.text == "" or context.block.chars <= prompt_block.BUDGET


def test_only_what_was_rendered_is_marked(world: World) -> None:
    fill(world)
    by = world.actor("ada")
    full = prompt_context.build(Request(query="refund"), by=by).block.chars
    reference_counts.reference_counts._counts.clear()
    context = prompt_context.build(Request(query="refund"), by=by, max_chars=full - 1)
    assert context.block.skipped == 1
    assert set(reference_counts.reference_counts._counts) == set(
        context.block.entry_ids
    )
    assert len(context.block.entry_ids) == 2


def test_walked_neighbours_are_in_the_block(world: World) -> None:
    hit, neighbour = world.indexed("Refund"), world.entry("Anchor chain")
    MemoryRelation.objects.create(
        workspace=world.acme, src=neighbour, dst=hit, relation="similar", weight=0.9
    )
    Agent.objects.filter(slug="ada").update(memory_walk_depth=1)
    request = Request(query="refund", mode=Mode.SPARSE)
    context = prompt_context.build(request, by=world.actor("ada"))
    assert neighbour.id in context.block.entry_ids


def test_a_person_without_an_agent_gets_no_nudge(world: World) -> None:
    fill(world, 30)
    context = prompt_context.build(Request(query="refund"), by=world.actor("viewer"))
    assert context.nudges == []
    request = Request(query="refund", agent_id=world.agents["ada"].id, mark=False)
    assert prompt_context.build(request, by=world.actor("viewer")).nudges != []


def test_a_foreign_agent_is_refused(world: World) -> None:
    request = Request(query="refund", agent_id=world.agents["olga"].id)
    with pytest.raises(errors.NotFound):
        prompt_context.build(request, by=world.actor("owner"))


# ── As of ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("mode", list(Mode))
def test_as_of_looks_further_until_enough_is_old_enough(
    world: World, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = factories.append_many(
        world.actor("ada"), [f"Refund number {n}" for n in range(30)]
    )
    old = rows[:4]
    past = rows[0].recorded_at - timedelta(days=2)
    # Before any index reads it: when an entry was recorded never changes.
    JournalEntry.objects.filter(pk__in=[r.id for r in old]).update(recorded_at=past)
    index.sweep()
    monkeypatch.setattr(ranking, "MIN_RANKING", 2)
    request = Request(
        query="refund number", k=1, mode=mode, as_of=past + timedelta(days=1)
    )
    answer = recall.search(request, by=world.actor("ada"))
    assert len(answer.hits) == 1
    assert {h.entry.id for h in answer.hits} <= {r.id for r in old}
    ids = {*answer.rankings.dense_ids, *answer.rankings.word_ids}
    assert ids <= {r.id for r in old}


def test_before_the_first_entry_there_is_nothing(world: World) -> None:
    rows = fill(world)
    before = rows[0].recorded_at - timedelta(days=1)
    request = Request(query="refund", as_of=before)
    assert recall.search(request, by=world.actor("ada")).hits == []
