"""The dense ranking of large scopes on PostgreSQL: quick, whole, and truly counted."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from episodic.vectors import pg
from episodic.vectors.base import SearchResult, VectorScope
from episodic.vectors.pg import PgIndex
from tests.episodic import pg_rows
from tests.episodic.pg_rows import Floats, Place

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
COUNT, QUESTIONS = 3_000, 20
FIRST_AGENT = Place(crew_id="crew_a", agent_id="agent_a")
SECOND_AGENT = Place(crew_id="crew_a", agent_id="agent_b")


@pytest.fixture
def vectors() -> Floats:
    """Two agents of a crew: the first has a tenth of the entries."""
    rows = pg_rows.unit_vectors(COUNT)
    rng = np.random.default_rng(1)
    first_count = COUNT // 10
    weights = rng.uniform(0.2, 1.0, COUNT).tolist()
    pg_rows.put(
        rows[:first_count], FIRST_AGENT, prefix="j_a", importances=weights[:first_count]
    )
    pg_rows.put(
        rows[first_count:],
        SECOND_AGENT,
        prefix="j_b",
        importances=weights[first_count:],
    )
    return rows


def _questions() -> Floats:
    return pg_rows.unit_vectors(COUNT + QUESTIONS)[COUNT:]


def _searched(
    question: Floats, scope: VectorScope, entry_cost: int, *, centred: bool
) -> SearchResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pg, "ENTRY_COST", entry_cost)
        patch.setattr(pg, "VISIT_COST", 0)
        return PgIndex().search(question, scope, 10, centred=centred)


def _recall(scope: VectorScope, *, centred: bool) -> float:
    """Return the share of the exact first ten that the index finds."""
    hit_count = 0
    for question in _questions():
        quick = _searched(question, scope, 10, centred=centred)
        exact = _searched(question, scope, COUNT, centred=centred)
        assert quick.considered == exact.considered
        assert quick.highest == pytest.approx(exact.highest, abs=0.02)
        hit_count += len(
            {hit.entry_id for hit in quick.hits} & {hit.entry_id for hit in exact.hits}
        )
    return hit_count / (10 * QUESTIONS)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("agent_id", [None, "agent_a"])
def test_the_index_finds_what_the_exact_search_finds(
    vectors: Floats, agent_id: str | None, *, centred: bool
) -> None:
    scope = pg_rows.scope(FIRST_AGENT, agent_id=agent_id)
    assert _recall(scope, centred=centred) >= 0.98


def test_the_index_is_what_answers(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pg._Search, "_exact", None)
    scope = pg_rows.scope(FIRST_AGENT)
    assert len(_searched(vectors[0], scope, 10, centred=True).hits) == 10


def test_where_the_index_brings_too_few_everything_is_compared(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = pg_rows.scope(FIRST_AGENT, agent_id="agent_a")
    exact = _searched(vectors[5], scope, COUNT, centred=True)
    early_end = {"hnsw.max_scan_tuples": "1", "hnsw.ef_search": "1"}
    monkeypatch.setattr(pg, "SETTINGS", pg.SETTINGS | early_end)
    assert _searched(vectors[5], scope, 10, centred=True).hits == exact.hits


def test_times_are_counted(vectors: Floats) -> None:
    ids = pg_rows.put(vectors[:40], FIRST_AGENT, prefix="j_old")
    month_ago = timezone.now() - timedelta(days=30)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journal_vectors SET ts = %s"
            " WHERE workspace_id = %s AND entry_id = ANY(%s)",
            [month_ago, FIRST_AGENT.workspace_id, ids],
        )
    scope = pg_rows.scope(FIRST_AGENT, until=month_ago + timedelta(days=1))
    answer = _searched(vectors[0], scope, 10, centred=True)
    assert (answer.considered, len(answer.hits)) == (40, 10)
    assert {hit.entry_id for hit in answer.hits} <= set(ids)


@pytest.mark.django_db(transaction=True)
def test_the_settings_end_with_the_search(vectors: Floats) -> None:
    assert _searched(vectors[0], pg_rows.scope(FIRST_AGENT), 10, centred=True).hits
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('hnsw.iterative_scan')")
        assert cursor.fetchone() == ("off",)


@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_the_lowest_of_many_is_about_where_a_normal_spread_ends(size: int) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0.1, 0.05, size)
    low, middle, smallest = np.quantile(values[:256], (0.1, 0.5, 0.0)).tolist()
    lowest = pg.lowest_of(low, middle, smallest, size)
    assert lowest == pytest.approx(values.min(), abs=0.04)
    assert pg.lowest_of(-20 * low, middle, smallest, size) == -1.0


def test_the_lowest_is_near_that_of_everything(vectors: Floats) -> None:
    scope = pg_rows.scope(FIRST_AGENT)
    for question in _questions():
        quick = _searched(question, scope, 10, centred=True)
        exact = _searched(question, scope, COUNT, centred=True)
        span = exact.highest - exact.lowest
        assert abs(quick.lowest - exact.lowest) <= 0.1 * span


def test_a_larger_index_is_searched_with_more_candidates() -> None:
    counts = [pg.candidates(size) for size in (0, 250_000, 1_000_000, 10_000_000)]
    assert counts == [200, 200, 800, 1_000]
