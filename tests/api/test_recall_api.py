"""POST /episodic/recall with ``explain``: the rule, its weights, parts and context."""

from __future__ import annotations

from typing import Any

import pytest

from episodic.index import engine
from episodic.index import sweep as index
from memory.rules import convex
from tests import factories
from tests.episodic import doubles
from tests.world import World

PARTS = [
    *("meaning", "words", "context", "substance"),
    *("neighbours", "conversation", "preference"),
]


def ask(world: World, query: str = "deploy failed", **fields: Any) -> Any:
    body = {"query": query, "explain": True, **fields}
    reply = world.api("lena").post("/episodic/recall", body)
    assert reply.status == 200, reply.body
    return reply.data


@pytest.fixture
def talk(world: World) -> World:
    """A conversation whose second entry says no word that is asked for."""
    world.entry("Deploy of the tracker failed", trace_id="t1")
    world.entry("It was done by hand in the end", trace_id="t1")
    factories.append_many(world.actor("ada"), [f"Rain and wind {n}" for n in range(9)])
    index.sweep()
    return world


def test_convex_tells_its_version_weights_and_parts(talk: World) -> None:
    answer = ask(talk)
    explain = answer["explain"]
    assert answer["fusion"] == explain["fusion"]["name"] == "convex"
    assert explain["fusion"]["version"] == convex.VERSION
    assert explain["fusion"]["weights"] == convex.weights()
    for hit in [*answer["hits"], *explain["below"]]:
        assert sorted(hit["parts"]) == sorted(PARTS)
        assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=1e-5)
        assert 0 <= hit["score"] <= 1


def test_the_context_ranking_beside_the_others(talk: World) -> None:
    first, second, *_ = ask(talk)["explain"]["context"]
    assert (first["rank"], second["rank"]) == (1, 2)
    assert first["words"] == second["words"] == ["deploy", "failed"]
    assert first["cosine"] is None


def test_what_the_question_prefers(talk: World) -> None:
    preferences = ask(talk, "what failed for ada last Friday")["explain"]["preferences"]
    assert preferences["times"][0]["text"] == "last Friday"
    assert preferences["names"][0]["name"] == "ada"
    assert len(preferences["sentences"]) == 2
    no_values: dict[str, list[str]] = {"times": [], "names": [], "sentences": []}
    assert ask(talk, "deploy")["explain"]["preferences"] == no_values


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"fusion": "rrf"}, "rrf"),
        ({"mode": "sparse"}, "rrf"),
        ({"mode": "dense"}, "product"),
    ],
)
def test_other_rules_have_no_parts(
    talk: World, fields: dict[str, str], name: str
) -> None:
    answer = ask(talk, **fields)
    rule = {"name": name, "version": None, "weights": None}
    assert answer["explain"]["fusion"] == rule
    assert answer["explain"]["context"] == []
    assert {hit["parts"] is None for hit in answer["hits"]} == {True}


def test_without_explain_there_are_no_parts(talk: World) -> None:
    answer = ask(talk, explain=False)
    assert answer["explain"] is None
    assert [hit["parts"] for hit in answer["hits"]] == [None] * len(answer["hits"])


def test_an_outage_leaves_words_and_context(talk: World) -> None:
    engine.use(doubles.Down())
    answer = ask(talk)
    assert "words only" in answer["degraded"]
    assert [hit["via"] for hit in answer["hits"]] == ["words", "context"]
    assert answer["explain"]["dense"] == []
    assert {hit["parts"]["meaning"] for hit in answer["hits"]} == {0}


def test_why_tells_every_signal(talk: World) -> None:
    entry_id = ask(talk)["hits"][1]["entry_id"]
    body = {"query": "deploy failed", "entry_id": entry_id, "k": 1}
    reply = talk.api("lena").post("/episodic/why", body)
    assert reply.status == 200, reply.body
    assert [check["name"] for check in reply.data["checks"]] == [
        *("policy", "state", "scope", "filters", "dense", "words", "context"),
        *("neighbours", "conversation", "importance", "cut"),
    ]
    assert "Against hit 1 it is " in reply.data["finding"]
