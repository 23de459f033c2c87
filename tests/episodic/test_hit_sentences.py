"""The sentence on why a hit is in an answer: each clause by example."""

from __future__ import annotations

from typing import Any

import pytest

from episodic.embedders.none import NoEmbedder
from episodic.index import decay, engine, importance
from episodic.index import sweep as index
from episodic.models import Embedding
from episodic.recall import hit_sentences
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import Priority
from tests import factories
from tests.world import World


def sentence(world: World, row: JournalEntry, **fields: Any) -> str:
    """Return the sentence of one hit of a question about a refund."""
    request = Request(query="refund", explain=True, mark=False, **fields)
    answer = recall.search(request, by=world.actor("viewer"))
    return hit_sentences.sentences(answer, answer.hits)[row.id]


def test_words_cosine_weight_and_places(world: World) -> None:
    row = world.indexed("Refund of a parcel")
    answer = recall.search(Request(query="refund"), by=world.actor("viewer"))
    [hit] = answer.hits
    text = sentence(world, row)
    assert text.startswith("Says refund, ")
    assert f"; cosine {hit.cosine:.2f}; weight {hit.importance:.2f} from " in text
    assert text.endswith("; 1st by words and 1st by meaning.")


def test_without_an_embedder_no_cosine_and_no_place_by_meaning(world: World) -> None:
    row = world.indexed("Refund of a parcel")
    engine.use(NoEmbedder())
    text = sentence(world, row)
    assert "cosine" not in text
    assert text.endswith("; 1st by words.")


@pytest.mark.parametrize(
    ("priority", "cause"),
    [
        (Priority.NORMAL, "from type and severity"),
        (Priority.HIGH, "from priority high"),
        (Priority.PERMANENT, "because it is permanent"),
    ],
)
def test_the_cause_of_a_weight(world: World, priority: Priority, cause: str) -> None:
    row = world.indexed("Refund of a parcel")
    journal.prioritise(row, priority, "", by=world.actor("operator"))
    Embedding.objects.filter(pk=row.pk).update(indexed_at=factories.ago(0))
    stored = importance.base(row.entry_type, row.severity, priority)
    parts = decay.parts(row, Embedding.objects.get(pk=row.pk), factories.ago(0))
    text = hit_sentences.weight(row, stored, parts)
    assert text == f"weight {stored:.2f} {cause}"


def test_age_and_recalls_are_causes(world: World) -> None:
    row = world.indexed("Refund of a parcel")
    stored = Embedding.objects.get(pk=row.pk)
    stored.indexed_at, stored.reference_count = factories.ago(12), 3
    parts = decay.parts(row, stored, factories.ago(0))
    assert parts is not None
    text = hit_sentences.weight(row, parts.value, parts)
    assert text.endswith("an age of 12 days and being recalled 3 times")


def test_a_weight_that_has_moved_names_no_cause(world: World) -> None:
    row = world.indexed("Refund of a parcel")
    Embedding.objects.filter(pk=row.pk).update(importance_score=0.2)
    text = sentence(world, row)
    assert "weight 0.20, which would be " in text
    assert " from " not in text


def test_an_entry_that_waits_does_not_age(world: World) -> None:
    row = world.entry("Refund of a parcel")
    waiting_text = sentence(world, row, mode=Mode.SPARSE)
    assert "which does not age before it is indexed" in waiting_text
    index.sweep()
    assert "does not age" not in sentence(world, row, mode=Mode.SPARSE)


def test_what_only_the_words_around_it_found(world: World) -> None:
    world.entry("Refund of a parcel", trace_id="t1")
    row = world.entry("It was done by hand", trace_id="t1")
    engine.use(NoEmbedder())
    assert sentence(world, row).endswith("; 1st by the words around it.")


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")],
)
def test_ordinals(number: int, text: str) -> None:
    assert hit_sentences.ordinal(number) == text
