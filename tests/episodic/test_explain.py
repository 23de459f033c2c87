"""Why not this one? One test for every cause."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from episodic.index import engine
from episodic.index import sweep as index
from episodic.index.reference_counts import reference_counts
from episodic.recall import explain, unanswered
from episodic.recall.explain import Explanation
from episodic.recall.request import Mode, Request
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Severity
from memory.rules.fusion import Fusion
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
    assert explanation.finding == (
        "It is in the answer, at rank 1. Says refund, among the nearest in meaning."
    )
    request = ["policy", "state", "scope", "filters", "dense", "words"]
    signals = ["context", "neighbours", "conversation", "importance"]
    assert list(verdicts(explanation)) == [*request, *signals, "cut"]
    solo = dict.fromkeys(("context", "neighbours", "conversation"), "none")
    passed = dict.fromkeys(verdicts(explanation), "pass")
    assert verdicts(explanation) == passed | solo
    by_rank = ask(world, explanation.entry, fusion=Fusion.RRF)
    assert by_rank.finding == "It is in the answer, at rank 1."
    assert list(verdicts(by_rank)) == [*request, "cut"]


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


def test_the_word_ranking_is_not_asked(world: World) -> None:
    row = world.indexed("refund")
    assert text_of(ask(world, row, mode=Mode.DENSE), "words") == (
        "the mode does not ask the word ranking"
    )


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


# ── What convex adds up, in words ────────────────────────────────────────────
def talk(world: World) -> list[JournalEntry]:
    """Return a conversation in which the one in the middle says no word asked for."""
    texts = (
        "Deploy of the tracker failed",
        "It was done by hand in the end",
        "The rollback took an hour",
    )
    # A second apart: which of one millisecond stands first, their ids would say.
    moments = [factories.ago(seconds=9 - number) for number in range(len(texts))]
    rows = [
        world.entry(text, trace_id="t1", ts=ts)
        for text, ts in zip(texts, moments, strict=True)
    ]
    factories.append_many(world.actor("bob"), [f"Rain and wind {n}" for n in range(9)])
    index.sweep()
    return rows


def test_the_words_around_it_and_its_conversation(world: World) -> None:
    first, middle, last = talk(world)
    explanation = ask(world, middle, "deploy rollback failed")
    assert text_of(explanation, "words") == "no word of the question is in it"
    assert text_of(explanation, "context") == (
        "rank 2: deploy and failed stand in the entry before it, "
        "rollback stands in the entry after it"
    )
    neighbours = text_of(explanation, "neighbours")
    assert neighbours.startswith(f"{first.id} and {last.id} directly beside it: ")
    assert text_of(explanation, "conversation") == (
        f"{first.id} is the best of its conversation"
    )
    own = ask(world, first, "deploy rollback failed")
    assert text_of(own, "conversation") == "it is the best of its conversation itself"


def test_pairs_of_words(world: World) -> None:
    row = world.indexed("The gas stove of the customer exploded")
    explanation = ask(world, row, "exploded gas stove")
    assert text_of(explanation, "words") == (
        "rank 1 by exploded, gas, stove; side by side as in the question: “gas stove”"
    )


def test_a_preference_is_named(world: World) -> None:
    lenas, bobs = world.indexed("refund", by="lena"), world.indexed("refund", by="bob")
    question = "refund that lena decided"
    fits = text_of(ask(world, lenas, question), "preference")
    assert fits == "Prefers entries of lena. It fits."
    other = ask(world, bobs, question)
    assert verdicts(other)["preference"] == "none"
    assert text_of(other, "preference").endswith("It does not fit, and loses nothing.")


def test_a_time_seen_from_now_is_no_word_to_search_for(world: World) -> None:
    about_refunds = world.indexed("Refunds over a hundred need a second look")
    about_weeks = world.indexed("The shop was twice as slow as the last week")
    explanation = ask(world, about_refunds, "refunds of last week")
    assert text_of(explanation, "words") == (
        "rank 1 by refunds; “last week” is a time, and not searched as words"
    )
    assert explanation.answer.rankings.word_ids == [about_refunds.id]
    other = ask(world, about_weeks, "refunds of last week")
    assert verdicts(other)["words"] == "none"
    # Without a preference the words are all that speaks for the time.
    plain = ask(world, about_weeks, "refunds of last week", fusion=Fusion.RRF)
    assert text_of(plain, "words") == "rank 1 by last, week"
    twice = ask(world, about_weeks, "last week, refunds? Only those of last week")
    assert twice.answer.rankings.word_query.terms == ("refunds",)
    named = ask(world, about_refunds, "refunds in May 2023")
    assert named.answer.rankings.word_query.terms == ("refunds", "may", "2023")


def test_it_fits_in_part_what_is_preferred_twice(world: World) -> None:
    row = world.indexed("refund", by="lena", ts=factories.ago(400))
    explanation = ask(world, row, "refund that lena decided yesterday")
    assert text_of(explanation, "preference").endswith("It fits in part.")
    assert "in part as the question prefers" in explanation.finding


def test_far_from_ordinary_importance_is_worth_a_word(world: World) -> None:
    row = world.indexed("refund", severity=Severity.ERROR)
    assert ask(world, row).finding.endswith(", important.")


def test_the_nearest_is_not_close_for_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.indexed("zeppelin")
    model = engine.embedder().model
    monkeypatch.setitem(unanswered.NEAR_COSINE, model, 0.4)
    assert "close in meaning" in ask(world, row, "zeppelin").finding
    far = ask(world, row, "why is the sky blue")
    assert far.finding.endswith(
        "Says no word of the question, among the nearest in meaning."
    )


def test_importance_is_a_factor(world: World) -> None:
    row = world.indexed("refund")
    assert text_of(ask(world, row), "importance") == (
        "importance 0.70 multiplies its score by 1.04"
    )


def test_below_the_cut_the_last_hit_is_what_it_is_compared_with(world: World) -> None:
    close = world.entry("refund without a receipt")
    far = world.entry("refund zeppelin submarine torpedo dirigible")
    index.sweep()
    question = "refund without a receipt"
    explanation = ask(world, far, question, k=1)
    finding = explanation.finding
    assert finding.startswith("It is rank 2 of 2: one place below the cut. Against hit")
    assert "behind by its meaning (cosine 0." in finding
    assert finding.endswith(") and its words.")
    assert close.id != far.id
    [hit] = explanation.answer.hits
    assert f"hit 1 has {hit.score:.4f}" in text_of(explanation, "cut")


def test_a_neighbour_of_a_hit_is_not_the_last_hit(world: World) -> None:
    """Steps along relations follow the ranked hits and say nothing about the cut."""
    rows = factories.append_many(
        world.actor("ada"), [f"refund number {n} alpha beta gamma" for n in range(6)]
    )
    index.sweep()
    answer = ask(world, rows[0], "refund", k=2, walk_depth=1).answer
    assert len(answer.hits) > 2
    below = answer.below[-1]
    explanation = ask(world, below.entry, "refund", k=2, walk_depth=1)
    assert f"hit 2 has {answer.hits[1].score:.4f}" in text_of(explanation, "cut")
    assert all(hit.parts is None for hit in answer.hits[2:])


def test_a_neighbour_is_in_the_answer(world: World) -> None:
    rows = factories.append_many(
        world.actor("ada"), [f"refund number {n} alpha beta gamma" for n in range(6)]
    )
    index.sweep()
    request: dict[str, Any] = {"k": 2, "walk_depth": 1}
    neighbour = ask(world, rows[0], **request).answer.hits[2]
    explanation = ask(world, neighbour.entry, **request)
    assert explanation.returned
    assert explanation.finding.startswith(
        f"It is in the answer as a neighbour of {neighbour.via.split(':')[1]}, one step"
    )


def test_too_far_for_the_least_cosine(world: World) -> None:
    row = world.indexed("refund zeppelin submarine torpedo dirigible")
    explanation = ask(world, row, min_score=0.9)
    assert explanation.rank is None
    assert explanation.finding == (
        "It cannot be in the answer: its cosine is below min_score."
    )
    assert text_of(explanation, "cut") == "a filter takes it off the list"


def test_words_and_context_explain_an_answer_without_an_embedder(world: World) -> None:
    _, middle, _ = talk(world)
    engine.use(doubles.Down())
    explanation = ask(world, middle, "deploy rollback failed")
    assert verdicts(explanation)["dense"] == "none"
    assert verdicts(explanation)["context"] == "pass"
    assert explanation.returned
    assert "meaning" not in explanation.finding


def test_nothing_outside_the_scope_is_said_to_stand_beside_it(world: World) -> None:
    secret = world.entry("Deploy password zebra", by="lena", trace_id="t1")
    own = world.entry("It was done by hand", trace_id="t1")
    index.sweep()
    ada = world.agents["ada"].id
    explanation = ask(world, own, "zebra", agent_id=ada, scope="own")
    assert text_of(explanation, "context") == "nothing in scope stands beside it"
    assert secret.id not in " ".join(check.text for check in explanation.checks)


def test_words_behind_an_entry_outside_the_scope(world: World) -> None:
    world.entry("The password is zebra", trace_id="t1")
    hidden = world.entry("Something else", by="lena", trace_id="t1")
    own = world.entry("It was done by hand", trace_id="t1")
    index.sweep()
    ada = world.agents["ada"].id
    explanation = ask(world, own, "zebra", agent_id=ada, scope="own")
    assert text_of(explanation, "context") == (
        "rank 1: words of the question stand further off in its thread"
    )
    assert hidden.id not in " ".join(check.text for check in explanation.checks)
