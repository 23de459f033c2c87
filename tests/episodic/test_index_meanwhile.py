"""What happens to entries while the embedder is busy with their words."""

from __future__ import annotations

import pytest
from django.utils import timezone

from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding
from episodic.vectors import stored
from memory.journal import erasure
from memory.journal.erasure import Remains
from memory.models import Agent, JournalEntry
from tests.episodic import doubles
from tests.world import World


def vector_of(row: JournalEntry) -> tuple[str, bytes]:
    vectors = stored.vectors(row.workspace_id, [row.id])
    state = Embedding.objects.get(pk=row.id).state
    return state, vectors[row.id].tobytes() if vectors else b""


def sweep_alone() -> None:
    """Sweep with the usual embedder, as if every lease were over."""
    engine.use(None)
    Embedding.objects.update(lease_until=None, next_attempt_at=None)
    index.sweep()


def test_an_entry_erased_while_the_model_was_thinking_keeps_no_vector(
    world: World,
) -> None:
    row = world.entry("Jan Novák")

    def erase() -> None:
        JournalEntry.objects.filter(pk=row.pk).update(
            summary="", body="", salt=None, erased_at=timezone.now()
        )

    engine.use(doubles.Interrupted(erase))
    index.sweep()
    assert vector_of(row) == ("pending", b"")
    engine.use(None)
    Embedding.objects.update(lease_until=None, next_attempt_at=None)
    assert index.sweep().skipped == 1


def test_an_entry_deleted_while_the_model_was_thinking_is_no_fault(
    world: World,
) -> None:
    row = world.entry()
    deleted = JournalEntry.objects.filter(pk=row.pk)
    engine.use(doubles.Interrupted(deleted.delete))
    index.sweep()
    assert not Embedding.objects.exists()


@pytest.mark.parametrize("times_before", [0, 1])
def test_an_entry_redacted_while_the_model_was_thinking_has_the_vector_of_the_rest(
    world: World, times_before: int
) -> None:
    row, twin = world.entry("Refund for Jan Novák"), world.entry("Refund for [erased]")
    rest = {row.id: Remains("Refund for [erased]", {}, {}, {})}
    if times_before:
        half = {row.id: Remains("Refund for Jan [erased]", {}, {}, {})}
        erasure.redact(world.acme.id, half)
    engine.use(doubles.Interrupted(lambda: erasure.redact(world.acme.id, rest)))
    assert index.sweep(limit=2).indexed == 1
    sweep_alone()
    assert vector_of(row) == vector_of(twin)
    assert vector_of(row)[0] == "indexed"


def test_a_new_name_while_the_model_was_thinking_is_the_name_in_the_vector(
    world: World,
) -> None:
    row, other = world.entry("Refund denied"), world.entry("Refund denied", by="bob")
    agents = Agent.objects.filter(pk=world.agents["ada"].id)
    bob = Agent.objects.filter(pk=world.agents["bob"].id)

    def rename() -> None:
        agents.update(name="[erased]")

    engine.use(doubles.Interrupted(rename))
    index.sweep(limit=2)
    sweep_alone()
    renamed, unchanged = vector_of(row), vector_of(other)
    bob.update(name="[erased]")
    sweep_alone()
    assert renamed == vector_of(other) != unchanged
