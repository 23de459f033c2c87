"""The recall log as JSON."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from episodic.embedders.base import Unreachable
from episodic.index import engine
from episodic.recall.question_log import question_log
from tests.episodic import doubles
from tests.world import World

PATH = "/episodic/questions"


@pytest.fixture
def asked(world: World) -> World:
    world.set(recall_log=True)
    world.kept["entry"] = world.indexed("Refund denied")
    for text in ("refund one", "refund two"):
        world.api("ada").post("/episodic/recall", {"query": text})
    question_log.flush()
    return world


def test_a_question_with_its_hits(asked: World) -> None:
    answer = asked.api("viewer").get(PATH).data
    assert answer["next_cursor"] is None
    first, second = answer["items"]
    assert (first["query"], second["query"]) == ("refund two", "refund one")
    assert first | {"id": 0, "asked_at": "", "latency_ms": 0, "hits": []} == {
        "id": 0, "asked_at": "", "latency_ms": 0, "hits": [],
        "query": "refund two", "agent_id": asked.agents["ada"].id,
        "crew_id": asked.crews["support"].id, "asked_by": None, "scope": "own",
        "mode": "hybrid", "fusion": "convex", "k": 5, "found_nothing": False,
        "degraded": None, "model": engine.embedder().model,
    }  # fmt: skip
    (hit,) = first["hits"]
    assert (hit["entry_id"], hit["via"]) == (asked.kept["entry"].id, "both")
    assert first["asked_at"].endswith("Z")


def test_filters_and_pages(asked: World) -> None:
    engine.use(doubles.Down(Unreachable("Nobody answers.")))
    asked.api("lena").post("/episodic/recall", {"query": "zeppelin"})
    question_log.flush()
    viewer = asked.api("viewer")

    def queries(**query: object) -> list[str]:
        return [item["query"] for item in viewer.get(PATH, query).data["items"]]

    assert queries(found_nothing="true") == queries(degraded="true") == ["zeppelin"]
    assert queries(found_nothing="false") == ["refund two", "refund one"]
    assert queries(agent_id=asked.agents["lena"].id) == ["zeppelin"]
    since = (timezone.now() + timedelta(minutes=1)).isoformat()
    assert queries(since=since) == []
    page = viewer.get(PATH, {"limit": 2}).data
    rest = viewer.get(PATH, {"limit": 2, "cursor": page["next_cursor"]}).data
    texts = [item["query"] for item in [*page["items"], *rest["items"]]]
    assert texts == ["zeppelin", "refund two", "refund one"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    "query",
    [
        {"found_nothing": "perhaps"},
        {"since": "yesterday"},
        {"limit": "0"},
        {"limit": "201"},
        {"cursor": "nonsense"},
        {"colour": "red"},
        {"agent_id": "a" * 200},
    ],
)
def test_a_wrong_parameter_is_refused(world: World, query: dict[str, str]) -> None:
    assert world.api("viewer").get(PATH, query).status == 422


def test_another_workspace_sees_nothing_of_it(asked: World) -> None:
    assert asked.api("stranger").get(PATH).data["items"] == []
    cursor = asked.api("viewer").get(PATH, {"limit": 1}).data["next_cursor"]
    reply = asked.api("stranger").get(PATH, {"limit": 1, "cursor": cursor})
    assert reply.status == 404
