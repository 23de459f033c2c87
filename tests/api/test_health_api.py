"""Health over JSON: the pinned shape, who may ask, whose health it is."""

from __future__ import annotations

import pytest

from tests.world import World

KEYS = {
    "workspace_id", "crew_id", "date", "computed_at", "score", "band", "metrics",
    "details", "causes",
}  # fmt: skip
METRICS = {"freshness", "coverage", "coherence", "efficiency", "reachability"}


def test_before_the_first_there_is_no_snapshot(world: World) -> None:
    for person in ("viewer", "ada"):
        reply = world.api(person).get("/memory/health")
        assert (reply.status, reply.code) == (404, "no_snapshot")
    assert world.api("viewer").get("/memory/health/history").data == {"snapshots": []}


def test_a_fresh_snapshot_is_told_and_kept(world: World) -> None:
    for n in range(6):
        world.indexed(f"Refund {n}")
    world.entry("waits")
    reply = world.api("operator").post("/memory/health/recompute")
    assert reply.status == 200
    assert set(reply.data) == KEYS
    assert set(reply.data["metrics"]) == METRICS
    assert reply.data["crew_id"] is None
    assert reply.data["metrics"]["coverage"] == 85.7
    (cause,) = [item for item in reply.data["causes"] if item["metric"] == "coverage"]
    assert cause["action"] == {
        "kind": "index", "label": "Index now", "method": "POST",
        "url": "/api/v1/episodic/index",
    }  # fmt: skip
    stored = world.api("viewer").get("/memory/health").data
    assert stored["computed_at"] == reply.data["computed_at"]


def test_no_data_is_null_and_its_own_band(world: World) -> None:
    data = world.api("operator").post("/memory/health/recompute").data
    assert (data["score"], data["band"]) == (None, "no data")
    assert data["metrics"] == dict.fromkeys(METRICS)


def test_an_agent_sees_its_crew_only(world: World) -> None:
    world.api("operator").post("/memory/health/recompute")
    support, billing = world.crews["support"].id, world.crews["billing"].id
    ada = world.api("ada")
    assert ada.get("/memory/health").data["crew_id"] == support
    assert ada.get("/memory/health", {"crew_id": support}).status == 200
    for path in ("/memory/health", "/memory/health/history"):
        assert ada.get(path, {"crew_id": billing}).status == 404


@pytest.mark.parametrize("path", ["/memory/health", "/memory/health/history"])
def test_crews_of_others_are_not_there(world: World, path: str) -> None:
    foreign = world.crews["other/support"].id
    assert world.api("viewer").get(path, {"crew_id": foreign}).status == 404
    body = {"crew_id": foreign}
    assert world.api("operator").post("/memory/health/recompute", body).status == 404


def test_a_crew_is_measured_alone(world: World) -> None:
    body = {"crew_id": world.crews["support"].id}
    data = world.api("operator").post("/memory/health/recompute", body).data
    assert data["crew_id"] == body["crew_id"]
    assert world.api("viewer").get("/memory/health").status == 404


@pytest.mark.parametrize("days", ["0", "401", "x"])
def test_days_have_limits(world: World, days: str) -> None:
    reply = world.api("viewer").get("/memory/health/history", {"days": days})
    assert reply.status == 422


def test_history_tells_what_latest_tells(world: World) -> None:
    reply = world.api("operator").post("/memory/health/recompute").data
    del reply["causes"]
    data = world.api("viewer").get("/memory/health/history", {"days": 7}).data
    assert data == {"snapshots": [reply]}
