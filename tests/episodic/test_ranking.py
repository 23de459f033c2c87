"""The score of convex over what is really stored: its scope, outages, cuts and ties."""

from __future__ import annotations

from typing import Any

import pytest

from episodic.index import engine, waiting
from episodic.index import sweep as index
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.recall.search import Answer
from memory.models import JournalEntry
from memory.rules import convex
from memory.rules.fusion import Fusion
from tests import factories
from tests.episodic import doubles
from tests.world import World


def ask(
    world: World, query: str = "deploy failed", person: str = "ada", **fields: Any
) -> Answer:
    request = Request(query=query, **{"explain": True, **fields})
    return recall.search(request, by=world.actor(person))


def scores(answer: Answer) -> list[tuple[str, float]]:
    return [(hit.entry.summary, round(hit.score, 9)) for hit in answer.hits]


def talk(world: World, by: str = "ada") -> list[JournalEntry]:
    """Return a conversation whose second entry says no word that is asked for."""
    rows = [
        world.entry("Deploy of the tracker failed", trace_id="t1", by=by),
        world.entry("It was done by hand in the end", trace_id="t1", by=by),
    ]
    factories.append_many(world.actor(by), [f"Rain and wind {n}" for n in range(9)])
    return rows


# ── Completing ───────────────────────────────────────────────────────────────
def test_every_candidate_has_its_real_values_in_every_ranking(world: World) -> None:
    names = [f"refund number {n}" for n in range(70)]
    factories.append_many(world.actor("ada"), names)
    index.sweep()
    answer = ask(world, "refund number 3")
    ranked = set(answer.rankings.word_ids) & set(answer.rankings.dense_ids)
    only = [e for e in answer.scores if e not in ranked]
    assert only
    for entry_id in only:
        signals = answer.rankings.signals[entry_id]
        assert signals.words > 0
        assert signals.meaning is not None


def test_an_entry_without_a_vector_is_in_the_answer_by_its_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is embedded with the question.
    monkeypatch.setattr(waiting, "embed_for", lambda _scope: None)
    world.indexed("Deploy of the tracker failed")
    row = world.entry("Deploy failed")
    [hit] = [h for h in ask(world).hits if h.entry == row]
    assert hit.cosine is None
    assert hit.parts is not None
    assert hit.parts.meaning == 0
    assert hit.parts.words > 0


def test_what_only_the_words_around_it_found(world: World) -> None:
    _, middle = talk(world)
    engine.use(doubles.Down())
    answer = ask(world)
    assert answer.rankings.degraded
    [hit] = [h for h in answer.hits if h.entry == middle]
    assert (hit.via, hit.dense_rank, hit.sparse_rank) == ("context", None, None)
    assert hit.context_rank is not None
    assert hit.parts is not None
    assert hit.parts.words == hit.parts.meaning == 0
    assert hit.parts.context > 0
    assert middle.id not in {h.entry.id for h in ask(world, fusion=Fusion.RRF).hits}


# ── Scope ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("person", ["ada", "bob"])
def test_what_the_asker_may_not_see_changes_no_score(world: World, person: str) -> None:
    """An entry of another agent in the same trace is no neighbour and no context.

    It may change how rare a word is in the workspace; so it holds no word asked for.
    """
    asker = {"ada": "lena", "bob": "ada"}[person]
    for number in range(3):
        world.entry(f"Deploy of the tracker failed {number}", by=person, trace_id="t1")
    index.sweep()
    before = ask(world, person=person, scope="own", mark=False)
    mean = before.rankings.dense.considered
    for text in ("zebra", "It was done by hand"):
        world.entry(text, by=asker, trace_id="t1")
    index.sweep()
    after = ask(world, person=person, scope="own", mark=False)
    assert after.rankings.dense.considered == mean
    ids = {row.entry.id for row in after.hits}
    for hit in after.hits:
        signals = after.rankings.signals[hit.entry.id]
        assert {signals.before, signals.after} - {None} <= ids
        assert hit.parts is not None
        twin = next(h for h in before.hits if h.entry == hit.entry)
        assert twin.parts is not None
        # Document frequencies and the mean of vectors are the workspace's; what is
        # beside it is not.
        plain, twin_parts = hit.parts.plain(0.5), twin.parts.plain(0.5)
        assert plain.context == pytest.approx(twin_parts.context)
        assert plain.substance == pytest.approx(twin_parts.substance)


def test_anothers_words_in_the_same_trace_find_nothing_of_mine(world: World) -> None:
    world.entry("The password is zebra", by="lena", trace_id="t1")
    own_rows = world.entry("Unrelated weather report", by="ada", trace_id="t1")
    index.sweep()
    answer = ask(world, "zebra password", scope="own")
    assert answer.rankings.context == []
    signals = answer.rankings.signals[own_rows.id]
    assert (signals.words, signals.context, signals.before) == (0, 0, None)
    # Her lead sees both, and there it counts.
    common = ask(world, "zebra password", person="lena", scope="crew_shared")
    assert common.rankings.signals[own_rows.id].context > 0


def test_a_conversation_of_two_agents_counts_for_each_apart(world: World) -> None:
    world.entry("Deploy failed", by="lena", trace_id="t1")
    own_rows = world.entry("Weather report of the deploy", by="ada", trace_id="t1")
    index.sweep()
    [hit] = ask(world, scope="own").hits
    assert hit.entry == own_rows
    assert hit.parts is not None
    plain = hit.parts.plain(hit.importance)
    own = plain.total - plain.conversation - plain.preference
    assert plain.neighbours == 0
    assert plain.conversation == pytest.approx(convex.CONVERSATION * own)


# ── Conditions ───────────────────────────────────────────────────────────────
def test_as_of_knows_nothing_of_what_came_later(world: World) -> None:
    first = world.indexed("Weather of the tracker", trace_id="t1")
    world.entry("Deploy failed", trace_id="t1")
    index.sweep()
    answer = ask(world, as_of=first.recorded_at)
    assert {hit.entry.id for hit in answer.hits} == {first.id}
    signals = answer.rankings.signals[first.id]
    assert (signals.context, signals.after) == (0, None)


def test_k_cuts_and_a_larger_k_begins_with_the_same(world: World) -> None:
    names = [f"refund number {n}" for n in range(30)]
    factories.append_many(world.actor("ada"), names)
    index.sweep()
    small, large = (scores(ask(world, "refund number 7", k=k)) for k in (3, 20))
    assert (len(small), len(large)) == (3, 20)
    assert large[:3] == small
    assert [s for _, s in large] == sorted((s for _, s in large), reverse=True)
    assert all(0 <= score <= 1 for _, score in large)


def test_equals_come_newest_first(world: World) -> None:
    for days in (3, 1, 2):
        world.entry("refund", ts=factories.ago(days))
    index.sweep()
    hits = ask(world, "refund").hits
    assert len({round(hit.score, 9) for hit in hits}) == 1
    assert [hit.entry.ts for hit in hits] == sorted(
        (hit.entry.ts for hit in hits), reverse=True
    )


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.SPARSE])
def test_one_ranking_alone_has_no_parts(world: World, mode: Mode) -> None:
    talk(world)
    index.sweep()
    answer = ask(world, mode=mode)
    assert answer.hits
    assert all(hit.parts is None for hit in answer.hits)
    assert answer.rankings.context == []
    assert not answer.rankings.preferences


def test_parts_come_with_explain_alone(world: World) -> None:
    world.indexed("Deploy failed")
    assert [hit.parts for hit in ask(world, explain=False).hits] == [None]
    [hit] = ask(world).hits
    assert hit.parts is not None
    assert hit.parts.total == pytest.approx(hit.score)
