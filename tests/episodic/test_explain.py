"""Why not this one? One test for every cause."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from episodic.index import engine
from episodic.index import sweep as index
from episodic.index.reference_counts import reference_counts
from episodic.recall import explain
from episodic.recall.explain import Explanation
from episodic.recall.request import Mode, Request
from memory.models import JournalEntry
from memory.rules import errors
from tests import factories
from tests.episodic import doubles
from tests.world import World


def ask(
    world: World,
    row: JournalEntry,
    query: str = "refund",
    *,
    person: str = "viewer",
    **fields: Any,
) -> Explanation:
    return explain.explain(
        Request(query=query, **fields), row.id, by=world.actor(person)
    )


def verdicts(explanation: Explanation) -> dict[str, str]:
    """Return name → verdict of the checks."""
    return {check.name: check.verdict for check in explanation.checks}


def text_of(explanation: Explanation, name: str) -> str:
    return next(check.text for check in explanation.checks if check.name == name)


def test_it_is_in_the_answer(world: World) -> None:
    explanation = ask(world, world.indexed("refund"))
    assert (explanation.returned, explanation.rank, explanation.would_need_k) == (
        True,
        1,
        None,
    )
    assert explanation.finding == "It is in the answer, at rank 1."
    assert set(verdicts(explanation).values()) == {"pass"}
    assert list(verdicts(explanation)) == [
        "policy", "state", "scope", "filters", "dense", "words", "cut",
    ]  # fmt: skip


def test_below_the_cut(world: World) -> None:
    row = world.entry("refund", ts=factories.ago(9))
    for _ in range(3):
        world.entry("refund", ts=factories.ago(1))
    index.sweep()
    explanation = ask(world, row, mode=Mode.DENSE, k=2)
    assert (explanation.returned, explanation.rank, explanation.would_need_k) == (
        False,
        4,
        4,
    )
    assert explanation.finding == "It is rank 4 of 4: 2 places below the cut."
    assert verdicts(explanation)["cut"] == "fail"
    assert ask(world, row, mode=Mode.DENSE, k=3).finding.endswith(
        "one place below the cut."
    )


def test_never_embedded(world: World) -> None:
    explanation = ask(world, world.entry("refund", entry_type="network.egress"))
    assert not explanation.returned
    assert verdicts(explanation)["policy"] == "fail"
    assert "never embedded" in explanation.finding


def test_waiting_for_the_sweep(world: World) -> None:
    explanation = ask(world, world.unembedded("nothing in common"))
    assert verdicts(explanation)["state"] == "fail"
    assert text_of(explanation, "state") == "waiting for the sweep"
    assert "waiting for the sweep" in explanation.finding


def test_the_embedder_failed(world: World) -> None:
    row = world.entry("nothing in common")
    engine.use(doubles.Down())
    index.sweep()
    engine.use(None)
    explanation = ask(world, row)
    assert "tried 1 times: unreachable: Nobody answers." in text_of(
        explanation, "state"
    )


def test_embedded_with_another_model(world: World) -> None:
    row = world.indexed("nothing in common")
    engine.use(doubles.Other())
    explanation = ask(world, row)
    assert (
        text_of(explanation, "state")
        == "embedded with hashing-512-v1; recall now uses other-8"
    )
    assert verdicts(explanation)["dense"] == "none"


def test_outside_the_scope(world: World) -> None:
    row = world.indexed("refund", by="lena")
    explanation = ask(world, row, agent_id=world.agents["ada"].id)
    assert verdicts(explanation)["scope"] == "fail"
    assert explanation.finding == "It cannot be in the answer: outside the scope own."


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"entry_types": ("llm.call",)}, "its type is filtered out"),
        ({"since": factories.ago(1)}, "it is older than since"),
        ({"until": factories.ago(9)}, "it is newer than until"),
    ],
)
def test_left_out_by_a_filter(world: World, fields: dict[str, Any], fault: str) -> None:
    row = world.indexed("refund", ts=factories.ago(5))
    explanation = ask(world, row, **fields)
    assert (verdicts(explanation)["filters"], text_of(explanation, "filters")) == (
        "fail",
        fault,
    )
    assert fault in explanation.finding


def test_erased(world: World) -> None:
    row = world.indexed("refund")
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=timezone.now())
    explanation = ask(world, row)
    assert text_of(explanation, "filters") == "it was erased"
    assert not explanation.returned


def test_no_word_in_common_and_too_far(world: World) -> None:
    row = world.indexed("zeppelin")
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(60)])
    index.sweep()
    explanation = ask(world, row)
    assert text_of(explanation, "words") == "no word of the question is in it"
    assert verdicts(explanation)["dense"] == "fail"
    assert "rank 61" in text_of(explanation, "dense")
    assert "the ranking ends at 50" in text_of(explanation, "dense")
    assert explanation.finding.startswith("No ranking put it on the list: rank 61")


def test_a_question_without_words(world: World) -> None:
    explanation = ask(world, world.indexed("zeppelin"), "🚀")
    assert text_of(explanation, "words") == "the question left no word to search for"


def test_the_dense_leg_is_out_or_not_asked(world: World) -> None:
    row = world.indexed("refund")
    assert text_of(ask(world, row, mode=Mode.SPARSE), "dense") == (
        "the mode does not ask the dense ranking"
    )
    engine.use(doubles.Down())
    assert "unreachable" in text_of(ask(world, row), "dense")


def test_asking_why_counts_nothing(world: World) -> None:
    ask(world, world.indexed("refund"))
    assert reference_counts.flush() == 0


@pytest.mark.parametrize("person", ["ada", "stranger", "olga"])
def test_who_cannot_read_it_cannot_ask_why(world: World, person: str) -> None:
    row = world.indexed("refund", by="bob")
    with pytest.raises(errors.NotFound):
        ask(world, row, person=person)
