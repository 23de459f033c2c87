"""Recall: scopes, filters, modes, order, degraded answers, limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from episodic.embedders.base import BadAnswer, Damaged, TooSlow, Unreachable
from episodic.embedders.none import NoEmbedder
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.recall.search import Answer
from memory.accounts import workspaces
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority, Severity
from memory.rules.fusion import Fusion
from memory.rules.permissions import AgentRole, KeyScope
from tests import factories
from tests.episodic import doubles
from tests.world import World


def ask(
    world: World, query: str = "refund", *, person: str = "ada", **fields: Any
) -> Answer:
    return recall.search(Request(query=query, **fields), by=world.actor(person))


def ids(world: World, query: str = "refund", **fields: Any) -> list[str]:
    """Return the summaries of the hits."""
    return [hit.entry.summary for hit in ask(world, query, **fields).hits]


def erase(row: JournalEntry) -> None:
    """Erase an entry but leave its vector, as if the sweep had not run yet."""
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=timezone.now())


# ── Whose memory ─────────────────────────────────────────────────────────────
@pytest.fixture
def crews(world: World) -> World:
    """One refund story per agent."""
    for person in ("ada", "lena", "bob", "olga"):
        world.entry(f"refund by {person}", by=person)
    index.sweep()
    return world


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("person", "fields", "agents"),
    [
        ("ada", {}, {"ada"}),
        ("ada", {"scope": "own"}, {"ada"}),
        ("ada", {"scope": "crew_shared"}, {"ada", "lena"}),
        ("lena", {}, {"ada", "lena"}),
        ("lena", {"scope": "own"}, {"lena"}),
        ("bob", {"scope": "crew_shared"}, {"bob"}),
        ("olga", {"scope": "crew_shared"}, {"olga"}),
        ("viewer", {}, {"ada", "lena", "bob"}),
        ("stranger", {}, {"olga"}),
    ],
)
def test_everybody_recalls_their_own(
    crews: World, mode: Mode, person: str, fields: dict[str, Any], agents: set[str]
) -> None:
    hits = set(ids(crews, person=person, mode=mode, **fields))
    assert hits == {f"refund by {agent}" for agent in agents}


def test_a_person_recalls_as_an_agent_or_a_crew(crews: World) -> None:
    ada, billing = crews.agents["ada"].id, crews.crews["billing"].id
    assert ids(crews, person="viewer", agent_id=ada) == ["refund by ada"]
    assert ids(crews, person="viewer", crew_id=billing) == ["refund by bob"]


def test_an_entry_without_a_crew_is_the_workspaces(world: World) -> None:
    system_actor = world.system()
    [row] = journal.write(
        [factories.new(summary="refund by the system")], by=system_actor
    )
    index.sweep()
    assert ids(world, person="viewer") == [row.summary]
    assert ids(world, person="lena") == []


# ── Filters ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("mode", list(Mode))
def test_filters_hold_in_every_ranking(world: World, mode: Mode) -> None:
    old = world.entry("old refund", ts=factories.ago(10))
    new = world.entry("new refund", entry_type="summary.generated")
    index.sweep()
    limit = factories.ago(5)
    assert ids(world, mode=mode, since=limit) == [new.summary]
    assert ids(world, mode=mode, until=limit) == [old.summary]
    assert ids(world, mode=mode, since=old.ts, until=old.ts) == [old.summary]
    types = ("summary.generated",)
    assert ids(world, mode=mode, entry_types=types) == [new.summary]
    assert ids(world, mode=mode, entry_types=("llm.call",)) == []


def test_naming_a_type_opens_the_word_leg_to_what_is_not_embedded(world: World) -> None:
    world.entry("refund chatter", entry_type="llm.call")
    assert ids(world) == []
    assert ids(world, entry_types=("llm.call",)) == ["refund chatter"]


def test_a_least_cosine_cuts_what_has_a_vector_and_is_far(world: World) -> None:
    world.indexed("refund receipt")
    world.indexed("refund zeppelin submarine torpedo dirigible")
    world.unembedded("refund not indexed yet")
    hits = ids(world, "refund receipt", min_score=0.5)
    assert hits == ["refund receipt", "refund not indexed yet"]
    # "ada" is a part of what is embedded.
    close = ids(world, "refund receipt", mode=Mode.DENSE, min_score=0.8)
    assert close == ["refund receipt"]
    assert ids(world, "ada: refund receipt", mode=Mode.DENSE, min_score=0.99) == close


@pytest.mark.parametrize(
    ("mode", "fusion"), [(Mode.DENSE, Fusion.RRF), (Mode.HYBRID, Fusion.RRF)]
)
@pytest.mark.parametrize("explain", [False, True])
def test_who_is_too_far_leaves_its_place_to_others(
    world: World, mode: Mode, fusion: Fusion, explain: bool
) -> None:
    """The far ones have a better score by their importance."""
    far = [f"refund receipt zeppelin torpedo {n}" for n in range(20)]
    factories.append_many(world.actor("ada"), far, severity=Severity.ERROR)
    world.entry("refund receipt", entry_type="memory.recorded")
    index.sweep()
    request: dict[str, Any] = {"mode": mode, "fusion": fusion, "explain": explain}
    answer = ask(world, "refund receipt", k=2, min_score=0.75, **request)
    assert [hit.entry.summary for hit in answer.hits] == ["refund receipt"]
    first = ask(world, "refund receipt", k=2, **request).hits[0]
    assert first.entry.summary in far


@pytest.mark.parametrize("mode", list(Mode))
def test_the_erased_are_never_recalled(world: World, mode: Mode) -> None:
    erase(world.indexed("refund"))
    assert ids(world, mode=mode) == []


# ── Order ────────────────────────────────────────────────────────────────────
def test_dense_orders_by_cosine_times_importance(world: World) -> None:
    world.entry("refund", severity=Severity.INFO)
    world.entry("refund ", severity=Severity.ERROR)
    index.sweep()
    answer = ask(world, mode=Mode.DENSE)
    assert [hit.importance for hit in answer.hits] == pytest.approx([0.95, 0.70])
    for hit in answer.hits:
        assert hit.cosine is not None
        assert hit.score == pytest.approx(hit.cosine * hit.importance)
        assert hit.via == "dense"


def test_hybrid_adds_reciprocal_ranks(world: World) -> None:
    world.indexed("refund receipt lost")
    world.indexed("refund")
    for hit in ask(world, "refund receipt", fusion=Fusion.RRF).hits:
        ranks = [rank for rank in (hit.dense_rank, hit.sparse_rank) if rank]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
        assert hit.score == hit.rrf
        assert hit.via == "both"


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("k", [1, 3, 16, 17, 50])
def test_equal_entries_come_newest_first(world: World, mode: Mode, k: int) -> None:
    factories.append_many(world.actor("ada"), ["refund"] * 60, ts=factories.ago(1))
    world.entry("refund", ts=factories.ago(2))
    index.sweep()
    hits = ask(world, mode=mode, k=k).hits
    assert len(hits) == k
    keys = [(-h.score, -h.entry.ts.timestamp(), h.entry.id) for h in hits]
    assert keys == sorted(keys)
    assert ask(world, mode=mode, k=k, mark=False).hits[0].entry == hits[0].entry


def test_the_word_leg_sees_an_entry_at_once(world: World) -> None:
    world.unembedded("refund")
    [hit] = ask(world).hits
    assert (hit.via, hit.cosine, hit.dense_rank, hit.sparse_rank) == (
        "words",
        None,
        None,
        1,
    )
    assert hit.importance == pytest.approx(0.70)


def test_convex_fusion_scores_lie_in_the_unit(world: World) -> None:
    factories.append_many(world.actor("ada"), ["refund", "refund receipt", "parcel"])
    index.sweep()
    answer = ask(world, "refund receipt", fusion=Fusion.CONVEX)
    assert all(0 <= hit.score <= 1 for hit in answer.hits)
    assert answer.hits[0].entry.summary == "refund receipt"


def test_a_pinned_entry_rises(world: World) -> None:
    plain = world.entry("refund case one")
    pinned = world.entry("refund case two", ts=factories.ago(3))
    journal.prioritise(pinned, Priority.PERMANENT, "", by=world.actor("operator"))
    index.sweep()
    assert ids(world, "refund case", mode=Mode.DENSE) == [
        pinned.summary,
        plain.summary,
    ]


def test_the_least_cosine_is_enough(world: World) -> None:
    world.indexed("refund receipt")
    [hit] = ask(world, "refund").hits
    assert hit.cosine is not None
    assert len(ask(world, "refund", min_score=hit.cosine).hits) == 1
    assert ask(world, "refund", min_score=hit.cosine + 1e-6).hits == []


def test_a_hit_says_how_old_it_is_and_what_found_it(world: World) -> None:
    old = world.indexed("refund", ts=factories.ago(1))
    ahead = world.indexed("refund ahead", ts=factories.ago(seconds=-60))
    rows = {hit.entry.id: hit for hit in ask(world).hits}
    assert 86_400 <= rows[old.id].age_seconds < 2 * 86_400
    assert rows[ahead.id].age_seconds == 0.0
    [words] = ask(world, mode=Mode.SPARSE, k=1).hits
    assert (words.via, words.dense_rank, words.sparse_rank) == ("words", None, 1)
    assert words.rrf == pytest.approx(1 / 61)
    assert words.importance == pytest.approx(0.70)
    [dense] = ask(world, mode=Mode.DENSE, k=1).hits
    assert (dense.via, dense.dense_rank, dense.sparse_rank) == ("dense", 1, None)


def test_a_hit_by_words_has_the_weight_of_the_index(world: World) -> None:
    row = world.indexed("refund")
    Embedding.objects.filter(pk=row.pk).update(importance_score=0.25)
    assert ask(world, mode=Mode.SPARSE).hits[0].importance == pytest.approx(0.25)


# ── Limits ───────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("k", "count"),
    [(-3, 1), (0, 1), (1, 1), (5, 5), (16, 16), (17, 17), (50, 50), (51, 50)],
)
def test_k_is_clamped_inside(world: World, k: int, count: int) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(60)])
    index.sweep()
    for mode in Mode:
        assert len(ask(world, k=k, mode=mode, mark=False).hits) == count


@pytest.mark.parametrize(
    ("query", "error"),
    [("", errors.Invalid), ("  \n", errors.Invalid), ("x" * 4_001, errors.TooLarge)],
)
def test_questions_that_are_none(
    world: World, query: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(world, query)


def test_a_range_that_ends_before_it_begins(world: World) -> None:
    now = timezone.now()
    with pytest.raises(errors.Invalid):
        ask(world, since=now, until=now - timedelta(seconds=1))


def test_a_question_without_a_word_is_answered_by_meaning_alone(world: World) -> None:
    world.indexed("refund 🚀")
    answer = ask(world, "🚀 ***")
    assert [hit.via for hit in answer.hits] == ["dense"]
    assert answer.rankings.word_query.is_empty


@settings(
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(query=st.text(min_size=1, max_size=80).filter(str.strip))
def test_any_question_can_be_asked(world: World, query: str) -> None:
    if not Embedding.objects.exists():
        world.indexed("refund")
    answer = ask(world, query, explain=True, mark=False)
    assert len(answer.hits) <= 1


def test_an_empty_memory_answers_nothing(world: World) -> None:
    answer = ask(world)
    assert (answer.hits, answer.rankings.degraded) == ([], None)


# ── Degraded ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.DENSE])
@pytest.mark.parametrize(
    "error",
    [Unreachable("x"), TooSlow("x"), BadAnswer("x"), Damaged("x")],
    ids=lambda error: error.reason,
)
def test_without_an_embedder_words_answer_and_say_so(
    world: World, mode: Mode, error: Any
) -> None:
    world.indexed("refund")
    engine.use(doubles.Down(error))
    answer = ask(world, mode=mode)
    assert [hit.via for hit in answer.hits] == ["words"]
    assert answer.rankings.degraded == (
        f"dense ranking unavailable ({error.reason}): words only"
    )


def test_none_configured_is_words_alone(world: World) -> None:
    world.entry("refund")
    engine.use(NoEmbedder())
    answer = ask(world)
    assert [hit.entry.summary for hit in answer.hits] == ["refund"]
    assert answer.model is None
    assert answer.rankings.degraded is not None
    assert ask(world, mode=Mode.SPARSE).rankings.degraded is None


def test_it_recovers_by_itself(world: World) -> None:
    world.indexed("refund")
    engine.use(doubles.Down())
    assert ask(world).rankings.degraded
    engine.use(None)
    assert ask(world).rankings.degraded is None


# ── Another model ────────────────────────────────────────────────────────────
@pytest.mark.parametrize("other", [doubles.Other, doubles.Renamed])
def test_vectors_of_two_models_never_meet(world: World, other: type[Any]) -> None:
    world.indexed("refund old")
    engine.use(other())
    assert ids(world, mode=Mode.DENSE) == []
    assert ids(world) == ["refund old"]
    assert ask(world).hits[0].cosine is None
    world.entry("refund new")
    newest = Embedding.objects.filter(entry__summary="refund new")
    index.discover(world.acme.id)
    index.embed(list(newest.values_list("pk", flat=True)))
    assert ids(world, mode=Mode.DENSE) == ["refund new"]
    index.sweep()
    assert set(ids(world, mode=Mode.DENSE)) == {"refund new", "refund old"}


# ── Meaning ──────────────────────────────────────────────────────────────────
def test_the_model_that_comes_along_knows_meaning(world: World, minilm: Any) -> None:
    world.entry("The customer wants their money back")
    world.entry("The deployment failed on Tuesday night")
    index.sweep()
    answer = ask(world, "reimbursement request", mode=Mode.DENSE)
    assert answer.hits[0].entry.summary == "The customer wants their money back"
    assert answer.model == minilm.model


# ── Neighbours ───────────────────────────────────────────────────────────────
def test_the_walk_brings_neighbours_and_never_leaves_the_reach(world: World) -> None:
    common = "alpha beta gamma delta epsilon eta theta iota kappa lambda my ny xi"
    world.indexed(common, by="lena")
    own = world.indexed(f"{common} zeta", by="ada")
    depth: dict[str, Any] = {"walk_depth": 1, "mode": Mode.SPARSE, "k": 1}
    crew_answer = ask(world, "zeta", person="lena", **depth)
    assert [hit.entry.agent_id for hit in crew_answer.hits] == [
        world.agents["ada"].id,
        world.agents["lena"].id,
    ]
    assert crew_answer.hits[1].via == f"similar:{own.id}"
    assert [hit.entry.id for hit in ask(world, "zeta", **depth).hits] == [own.id]


def test_the_walk_obeys_the_filters(world: World) -> None:
    world.indexed("alpha beta gamma delta epsilon", entry_type="summary.generated")
    world.indexed("alpha beta gamma delta epsilon zeta")
    types = ("peer.escalation",)
    hits = ask(world, "zeta", walk_depth=1, entry_types=types).hits
    assert {hit.entry.entry_type for hit in hits} == set(types)


def test_an_agent_may_walk_by_default(world: World) -> None:
    world.indexed("alpha beta gamma delta epsilon")
    world.indexed("alpha beta gamma delta epsilon zeta")
    assert len(ask(world, "zeta", mode=Mode.SPARSE).hits) == 1
    workspaces.change_agent(
        world.agents["ada"], by=world.actor("owner"), role=AgentRole.AGENT, walk_depth=1
    )
    assert len(ask(world, "zeta", mode=Mode.SPARSE).hits) == 2
    assert len(ask(world, "zeta", mode=Mode.SPARSE, walk_depth=0).hits) == 1


# ── What comes along ─────────────────────────────────────────────────────────
def test_timings_add_up_and_explain_shows_what_was_below(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(8)])
    index.sweep()
    answer = ask(world, k=3, explain=True)
    assert (len(answer.hits), len(answer.below)) == (3, 5)
    t = answer.timings
    assert t.embed + t.dense + t.sparse + t.fuse + t.load <= t.total + 0.1
    assert ask(world, k=3).below == []


def test_ten_entries_below_the_cut_are_explained(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(15)])
    index.sweep()
    answer = ask(world, k=3, explain=True)
    assert (len(answer.hits), len(answer.below)) == (3, 10)


def test_a_neighbour_in_the_answer_is_not_below_it(world: World) -> None:
    world.indexed("alpha beta gamma delta epsilon")
    world.indexed("alpha beta gamma delta epsilon zeta")
    world.indexed("zeta in a wholly different boat")
    fields: dict[str, Any] = {"mode": Mode.DENSE, "k": 1, "explain": True}
    still = ask(world, "epsilon zeta", walk_depth=0, **fields)
    assert (len(still.hits), len(still.below)) == (1, 2)
    walk_answer = ask(world, "epsilon zeta", walk_depth=1, **fields)
    assert (len(walk_answer.hits), len(walk_answer.below)) == (2, 1)
    assert {hit.entry.id for hit in walk_answer.hits} & {
        hit.entry.id for hit in walk_answer.below
    } == set()


def test_who_may_not_read_recalls_nothing(world: World) -> None:
    writer = replace(world.actor("ada"), scopes=frozenset({KeyScope.WRITE}))
    with pytest.raises(errors.Forbidden):
        recall.search(Request(query="refund"), by=writer)


def test_an_importance_is_read_once(world: World) -> None:
    """Without vectors, scoring and showing the hits ask for it together."""
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(8)])
    index.sweep()
    engine.use(doubles.Down())
    with CaptureQueriesContext(connection) as captured:
        answer = ask(world, "refund", min_score=0.5, mark=False)
    assert answer.rankings.degraded
    assert len(answer.hits) == 5
    read = [q["sql"] for q in captured if "importance_score" in q["sql"]]
    assert len(read) == 1
