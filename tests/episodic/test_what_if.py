"""An answer as it would be with another priority: computed only, then applied."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.index import decay
from episodic.index import sweep as index
from episodic.models import Embedding, EmbeddingChange
from episodic.recall import results, what_if
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.recall.what_if import WhatIf
from memory.models import JournalEntry, PriorityChange
from memory.rules import errors
from memory.rules.entries import Priority
from memory.rules.fusion import Fusion
from tests import factories
from tests.world import World

WAYS: list[dict[str, Any]] = [
    {"mode": Mode.DENSE},
    {"fusion": Fusion.RRF},
    {"fusion": Fusion.CONVEX},
]


def fill(world: World, count: int = 60) -> list[Any]:
    """Embed more entries than a ranking holds; the oldest have lost importance."""
    names = [
        f"Refund {n} {'receipt ' * (n % 4)}{'parcel ' * (n % 7)}" for n in range(count)
    ]
    rows = factories.append_many(world.actor("ada"), names)
    index.sweep()
    for number, row in enumerate(rows):
        moment = timezone.now() - timedelta(days=number)
        Embedding.objects.filter(pk=row.pk).update(indexed_at=moment)
    decay.run(world.acme.id)
    return rows


def request(**fields: Any) -> Request:
    return Request(query="refund receipt", mark=False, **fields)


def order(world: World, **fields: Any) -> list[str]:
    """Return every entry that the rankings hold, best first."""
    answer = recall.search(request(**fields), by=world.actor("operator"))
    hits = results.hits(
        answer.request, answer.reach, answer.rankings, answer.scores, 1_000
    )
    return [hit.entry.id for hit in hits]


def compute(
    world: World, entry_id: str, priority: Priority = Priority.HIGH, **fields: Any
) -> WhatIf:
    actor = world.actor("operator")
    answer = recall.search(request(**fields), by=actor)
    return what_if.compute(answer, entry_id, priority, by=actor)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", [0, 20, -1])
def test_what_is_expected_is_what_comes_true(
    world: World, way: dict[str, Any], place: int
) -> None:
    fill(world)
    entry_id = order(world, **way)[place]
    operator = world.actor("operator")
    for priority in (Priority.PERMANENT, Priority.NORMAL):
        expected = what_if.apply(request(**way), entry_id, priority, "", by=operator)
        assert [row.id for row in expected.after] == order(world, **way)


def test_an_entry_beyond_the_dense_ranking_comes_into_it(world: World) -> None:
    rows = fill(world)
    outside = {row.id for row in rows} - set(order(world, mode=Mode.DENSE))
    entry_id = max(outside)
    case = compute(world, entry_id, Priority.PERMANENT, mode=Mode.DENSE)
    assert case.rank is None
    assert case.expected_rank is not None
    assert case.effect in ("enters", "up")
    assert len(case.after) == len(case.before) == 50


def test_computing_writes_nothing(world: World) -> None:
    fill(world, 8)
    entry_id = order(world)[-1]
    before = (
        JournalEntry.objects.count(),
        EmbeddingChange.objects.count(),
        list(Embedding.objects.values_list("entry_id", "importance_score")),
    )
    case = compute(world, entry_id)
    assert case.expected_importance > case.importance
    assert (
        JournalEntry.objects.count(),
        EmbeddingChange.objects.count(),
        list(Embedding.objects.values_list("entry_id", "importance_score")),
    ) == before
    assert not PriorityChange.objects.exists()


def test_applying_sets_priority_and_importance_and_leaves_a_trace(
    world: World,
) -> None:
    fill(world, 8)
    entry_id, operator = order(world)[-1], world.actor("operator")
    case = what_if.apply(request(), entry_id, Priority.HIGH, "for refunds", by=operator)
    row = Embedding.objects.get(pk=entry_id)
    assert row.importance_score == pytest.approx(case.expected_importance, abs=1e-4)
    change = PriorityChange.objects.get(entry_id=entry_id)
    assert (change.reason, change.set_by) == ("for refunds", operator.label)
    last = JournalEntry.objects.filter(workspace=world.acme).latest("seq")
    assert last.entry_type == "memory.priority_changed"


def test_the_effect_by_its_name(world: World) -> None:
    fill(world, 12)
    ids = order(world, k=5)
    assert compute(world, ids[0], k=5).effect == "same"
    assert compute(world, ids[5], Priority.PERMANENT, k=5).effect == "enters"
    assert compute(world, ids[5], mode=Mode.SPARSE, k=5).effect == "unweighed"
    far = world.indexed("Anchor chain", by="bob")
    ada = world.agents["ada"].id
    for way in WAYS:
        assert compute(world, far.id, agent_id=ada, **way).effect == "absent"


def test_a_condition_leaves_an_entry_out_of_what_would_be(world: World) -> None:
    fill(world, 8)
    old = world.indexed("Refund of yore", ts=factories.ago(9))
    since = factories.ago(1)
    for way in WAYS:
        assert compute(world, old.id, since=since, **way).effect == "absent"


@pytest.mark.parametrize("person", ["viewer", "compliance", "ada"])
def test_only_those_who_set_priorities_apply(world: World, person: str) -> None:
    row = fill(world, 3)[0]
    with pytest.raises(errors.Forbidden):
        what_if.apply(request(), row.id, Priority.HIGH, "", by=world.actor(person))
    assert not PriorityChange.objects.exists()


def test_an_entry_next_door_is_not_found(world: World) -> None:
    fill(world, 3)
    foreign = world.indexed("Refund of theirs", by="olga")
    with pytest.raises(errors.NotFound):
        compute(world, foreign.id)
    with pytest.raises(errors.NotFound):
        what_if.apply(
            request(), foreign.id, Priority.HIGH, "", by=world.actor("operator")
        )
