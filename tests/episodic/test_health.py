"""Measuring health: the inputs, the snapshots, the past, the journal's word of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone

from episodic.health import bands
from episodic.health import snapshots as health
from episodic.health.metrics import freshness
from episodic.health.metrics import table as metrics
from episodic.index import engine, snapshot
from episodic.index import sweep as index
from episodic.models import Embedding, HealthSnapshot, MemoryRelation, State
from episodic.vectors import cosine as vectors_cosine
from episodic.vectors import stored
from episodic.vectors.matrix import Matrix
from memory.jobs import registry as jobs
from memory.models import JournalEntry
from memory.rules import errors
from tests import factories
from tests.episodic import doubles
from tests.world import World


def fill(world: World, count: int = 8, *, by: str = "ada", **fields: Any) -> None:
    """Append and embed entries of one topic, a day apart, the newest today."""
    for n in range(count):
        world.entry(f"Refund {n} of order", by=by, ts=factories.ago(n), **fields)
    index.sweep()


def measure(world: World) -> HealthSnapshot:
    """Measure acme and return its own snapshot."""
    return health.take(world.acme.id)[0]


def test_the_inputs_are_what_the_database_holds(world: World) -> None:
    fill(world, 9)
    world.entry("waits")
    snapshot = measure(world)
    details = snapshot.details
    assert details["coverage"]["indexed"] == 9
    assert details["coverage"]["embeddable"] == 10
    assert snapshot.coverage == 90.0
    assert details["freshness"]["median_days"] == pytest.approx(4, abs=0.01)
    assert snapshot.freshness == freshness.value(4)
    assert details["efficiency"]["questions"] == 9
    linked = MemoryRelation.objects.values_list("src", "dst")
    linked_ids = {entry_id for pair in linked for entry_id in pair}
    assert details["reachability"] == details["reachability"] | {
        "connected": len(linked_ids), "embeddings": 9,
    }  # fmt: skip
    assert snapshot.score == metrics.score(metrics.values(snapshot))


def test_nothing_to_measure_is_no_data_and_no_zero(world: World) -> None:
    snapshot = measure(world)
    assert metrics.values(snapshot) == dict.fromkeys(metrics.names())
    assert snapshot.score is None
    assert bands.band(snapshot.score) is bands.Band.NONE


def test_two_entries_are_too_few_for_coherence(world: World) -> None:
    fill(world, 2)
    snapshot = measure(world)
    assert snapshot.coherence is None
    assert snapshot.efficiency is not None
    assert snapshot.details["known_weight"] == 0.8


def test_a_crew_is_measured_by_itself(world: World) -> None:
    fill(world, 6)
    world.indexed("Invoice", by="bob", ts=factories.ago(60))
    by_crew = {row.crew_id: row for row in health.take(world.acme.id)}
    support, billing = world.crews["support"].id, world.crews["billing"].id
    assert set(by_crew) == {"", support, billing}
    assert by_crew[support].details["freshness"]["entries"] == 6
    assert by_crew[billing].freshness == 25.0
    assert by_crew[billing].efficiency is None


def test_other_workspaces_do_not_count(world: World) -> None:
    fill(world, 3, by="olga")
    assert measure(world).score is None


def test_a_day_has_one_snapshot_a_scope(world: World) -> None:
    fill(world, 3)
    first = measure(world)
    fill(world, 2)
    second = measure(world)
    assert first.pk == second.pk
    assert HealthSnapshot.objects.filter(crew_id="").count() == 1
    assert second.details["freshness"]["entries"] == 5


def test_the_same_memory_measures_the_same(world: World) -> None:
    fill(world, 12)
    details = [measure(world).details for _ in range(2)]
    for name in ("coherence", "efficiency", "reachability"):
        assert details[0][name] == details[1][name]


def test_a_query_that_fails_is_no_zero(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(snapshot, "_edges", broken)
    fill(world, 3)
    with pytest.raises(DatabaseError):
        health.take(world.acme.id)
    assert not HealthSnapshot.objects.exists()


@pytest.mark.postgres
def test_a_measurement_reads_every_vector_where_no_process_keeps_them(
    world: World,
) -> None:
    fill(world, 8)
    arrays = snapshot.load(world.acme.id)
    assert arrays is not None
    rows = list(Embedding.objects.filter(workspace=world.acme))
    vectors = stored.vectors(world.acme.id, [row.pk for row in rows])
    assert len(arrays.matrix) == len(rows) == len(vectors) == 8
    crew = rows[0].crew_id
    assert len(arrays.rows(crew, timezone.now())) == 8
    ids = arrays.entry_ids(arrays.rows(None, timezone.now()))
    assert set(ids) == vectors.keys()
    values = metrics.measure(world.acme.id, None, arrays, timezone.now()).values
    assert values["coherence"] is not None


# ── Neighbours ───────────────────────────────────────────────────────────────
def test_neighbours_in_parts_are_those_of_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors_cosine, "ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(40, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(40)
    cosines = vectors_cosine.top(vectors, rows, rows[:5], 3)
    cosine = vectors[:5] @ vectors.T
    cosine[np.arange(5), np.arange(5)] = -2
    assert cosines == pytest.approx(-np.sort(-cosine, axis=1)[:, :3])


def test_neighbours_stay_in_their_group_and_may_have_to_be_older() -> None:
    vectors = np.eye(3, dtype=np.float32)[[0, 0, 0, 1]]
    groups = np.array([0, 1, 0, 0], dtype=np.int32)
    times = np.array([1, 2, 3, 4], dtype=np.int64)
    rows = np.arange(4)
    grouped = vectors_cosine.top(vectors, rows, rows, 1, groups)
    assert grouped[:, 0].tolist() == [1.0, -2.0, 1.0, 0.0]
    older = vectors_cosine.top(vectors, rows, rows, 1, groups, times)
    assert older[:, 0].tolist() == [-2.0, -2.0, 1.0, 0.0]


def test_codes_tell_their_names() -> None:
    matrix = Matrix(2)
    code = matrix.crews.add("crew_a")
    assert matrix.crews.names() == {code: "crew_a"}


# ── Bands change ─────────────────────────────────────────────────────────────
def _band_changes() -> list[tuple[str, str]]:
    rows = JournalEntry.objects.filter(
        entry_type=health.BAND_CHANGED, crew_id__isnull=True
    ).order_by("seq")
    return list(rows.values_list("severity", "summary"))


def test_a_new_band_is_written_down_with_its_direction(world: World) -> None:
    fill(world, 6)
    snapshot = measure(world)
    HealthSnapshot.objects.filter(pk=snapshot.pk).update(score=10.0)
    assert _band_changes() == []
    measure(world)
    assert len(_band_changes()) == 1
    HealthSnapshot.objects.filter(pk=snapshot.pk).update(score=99.0)
    Embedding.objects.update(state=State.PENDING)
    measure(world)
    (up, rose), (down, fell) = _band_changes()
    assert (up, down) == ("notice", "warn")
    assert "rose from red" in rose
    assert "fell from green to red" in fell


def test_the_same_band_is_not_told_again(world: World) -> None:
    fill(world, 6)
    for _ in range(3):
        health.take(world.acme.id)
    assert _band_changes() == []


# ── The past ─────────────────────────────────────────────────────────────────
def test_a_first_measurement_brings_its_past(world: World) -> None:
    fill(world, 10)
    assert health.begin() > 10
    rows = list(HealthSnapshot.objects.filter(crew_id="").order_by("date"))
    marked = [row.details.get("backfilled", False) for row in rows]
    assert marked == [True] * 9 + [False]
    assert [row.details["coverage"]["embeddable"] for row in rows] == [
        *range(1, 10), 10,
    ]  # fmt: skip
    assert health.begin() == 0


def test_a_first_measurement_waits_for_the_first_tries(world: World) -> None:
    fill(world, 2)
    world.entry("new")
    index.discover(world.acme.id)
    assert health.begin() == 0
    index.sweep()
    assert health.begin() > 0


def test_a_workspace_that_refuses_to_embed_is_measured_all_the_same(
    world: World,
) -> None:
    fill(world, 2)
    engine.use(doubles.Down())
    world.entry("refused")
    index.sweep()
    assert health.begin() > 0


# ── Reading ──────────────────────────────────────────────────────────────────
def test_before_the_first_there_is_none(world: World) -> None:
    with pytest.raises(health.NoSnapshot) as caught:
        health.latest(world.actor("viewer"))
    assert caught.value.problem_code == "no_snapshot"


def test_an_agent_reads_its_crew_and_nobody_elses(world: World) -> None:
    health.take(world.acme.id)
    ada = world.actor("ada")
    assert health.latest(ada).crew_id == world.crews["support"].id
    with pytest.raises(errors.NotFound):
        health.latest(ada, world.crews["billing"].id)
    with pytest.raises(errors.NotFound):
        health.latest(world.actor("viewer"), world.crews["other/support"].id)


def test_history_is_oldest_first_and_ends(world: World) -> None:
    snapshot = measure(world)
    for back in (1, 5, 40):
        HealthSnapshot.objects.create(
            workspace=world.acme,
            date=snapshot.date - timedelta(days=back),
            computed_at=timezone.now(),
        )
    rows = health.history(world.actor("viewer"), 30)
    assert [(snapshot.date - row.date).days for row in rows] == [5, 1, 0]


# ── The clock and the command ────────────────────────────────────────────────
def test_the_nightly_job_measures_a_workspace(world: World) -> None:
    outcome = jobs.get("health").act(world.acme.id)
    assert outcome.counts == {"snapshots": 3}


def test_the_command_tells_what_it_kept(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(world, 6)
    call_command("episodic_health", workspace="acme", crew="support", as_json=True)
    (payload,) = json.loads(capsys.readouterr().out)["snapshots"]
    assert payload["crew_id"] == world.crews["support"].id
    assert payload["metrics"]["coverage"] == 100.0
    call_command("episodic_health", workspace="acme")
    assert world.acme.id in capsys.readouterr().out
    for wrong in ({"workspace": "nowhere"}, {"crew": "nobody"}):
        with pytest.raises(CommandError, match="There is no"):
            call_command("episodic_health", **wrong)
