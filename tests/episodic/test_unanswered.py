"""When a question counts as unanswered."""

from __future__ import annotations

import pytest

from episodic.embedders.none import NoEmbedder
from episodic.index import engine
from episodic.models import LoggedQuestion
from episodic.recall import search as recall
from episodic.recall import unanswered
from episodic.recall.question_log import question_log
from episodic.recall.request import Mode, Request
from tests.world import World

BAR = unanswered.NEAR_COSINE["all-MiniLM-L6-v2-int8"]


@pytest.mark.parametrize(
    ("cosines", "is_near"),
    [([], False), ([BAR - 0.001], False), ([BAR], True), ([0.1, None, 0.9], True),
     ([None], False)],
)  # fmt: skip
def test_the_bar_belongs_to_a_model(cosines: list[float | None], is_near: bool) -> None:
    assert unanswered.is_near("all-MiniLM-L6-v2-int8", cosines) is is_near


def test_without_a_bar_any_cosine_is_an_answer() -> None:
    assert unanswered.is_near("nomic-embed-text", [-0.2])
    assert not unanswered.is_near("nomic-embed-text", [None])


@pytest.mark.parametrize(
    ("terms", "matches", "holds"),
    [
        (["a", "b"], [["a"], ["b"]], False),
        (["a", "b"], [["a", "b"]], True),
        (["a", "b", "c"], [["a", "b"], []], True),
        (["a"], [["a"]], True),
        (["a"], [], False),
        ([], [[]], False),
    ],
)
def test_more_than_half_of_the_words_in_one_entry(
    terms: list[str], matches: list[list[str]], holds: bool
) -> None:
    assert unanswered.holds_words(terms, matches) is holds


def test_stop_words_do_not_count() -> None:
    assert unanswered.words("What did the customer say about the tent?") == [
        "customer", "say", "tent",
    ]  # fmt: skip
    assert len(unanswered.words(" ".join(f"w{n}" for n in range(500)))) == 32


def found_nothing(world: World, query: str, mode: Mode = Mode.HYBRID) -> bool:
    recall.search(Request(query=query, mode=mode), by=world.actor("ada"))
    question_log.flush()
    return LoggedQuestion.objects.latest("id").unanswered


@pytest.mark.parametrize("mode", list(Mode))
def test_of_a_question_and_what_came_back(
    world: World, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    monkeypatch.setitem(unanswered.NEAR_COSINE, engine.embedder().model, 0.4)
    world.set(recall_log=True)
    assert found_nothing(world, "refund", mode)
    world.indexed("Refunds of gift cards were denied")
    assert not found_nothing(world, "Was the refund of a gift card denied?", mode)
    assert found_nothing(world, "Who parked the yellow submarine?", mode)
    assert found_nothing(world, "Who parked the yellow refund machine?", mode)


def test_words_decide_without_an_embedder(world: World) -> None:
    world.set(recall_log=True)
    engine.use(NoEmbedder())
    world.entry("Refunds of gift cards were denied")
    assert not found_nothing(world, "refunds denied")
    assert found_nothing(world, "refunds in Graz and Linz")
