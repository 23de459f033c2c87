"""What a recall's parameters mean, and which score a mode gives; no database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final

import pytest

from episodic.recall import ranking, request
from episodic.recall.ranking import Rankings
from episodic.recall.request import Mode, Request, Timings
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from memory.fulltext import WordHit
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.fusion import Fusion
from tests.world import World

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK: Final = timedelta(milliseconds=1)


def settled(**fields: Any) -> Request:
    """Return a settled request that names its fusion, so that no workspace is read."""
    asked = Request(**{"query": "refund", "fusion": Fusion.RRF, **fields})
    return request.settled(asked, "ws_1")


# ── Filters ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("fields", "is_match"),
    [
        ({}, True),
        ({"entry_types": ("peer.note", "a.b")}, True),
        ({"entry_types": ("a.b",)}, False),
        ({"since": NOON}, True),
        ({"since": NOON + TICK}, False),
        ({"until": NOON}, True),
        ({"until": NOON - TICK}, False),
        ({"as_of": NOON + TICK}, True),
        ({"as_of": NOON}, False),
        ({"since": NOON, "until": NOON, "as_of": NOON + TICK}, True),
        ({"until": NOON, "entry_types": ("a.b",)}, False),
    ],
)
def test_an_entry_matches_up_to_and_at_every_bound(
    fields: dict[str, Any], is_match: bool
) -> None:
    # It tells of noon, and was recorded right after.
    entry = JournalEntry(entry_type="peer.note", ts=NOON, recorded_at=NOON + TICK)
    assert Request(query="refund", **fields).matches(entry) is is_match


# ── Settling ─────────────────────────────────────────────────────────────────
def test_a_question_is_within_its_limits() -> None:
    longest = "x" * request.QUERY_CHARS
    assert settled(query=longest).query == longest
    with pytest.raises(errors.TooLarge) as refusal:
        settled(query=longest + "x")
    assert refusal.value.fields["limit"] == request.QUERY_CHARS
    for query in ("", " \n\t"):
        with pytest.raises(errors.Invalid) as empty:
            settled(query=query)
        assert empty.value.problem_code == "empty_query"
    assert [settled(k=k).k for k in (-9, 0, 1, 50, 51)] == [1, 1, 1, 50, 50]


def test_a_range_may_be_a_moment_and_not_less() -> None:
    assert settled(since=NOON, until=NOON).since == NOON
    with pytest.raises(errors.Invalid) as refusal:
        settled(since=NOON + TICK, until=NOON)
    assert refusal.value.problem_code == "bad_range"


@pytest.mark.django_db
def test_without_a_fusion_the_workspaces_holds(world: World) -> None:
    asked = Request(query="refund")
    with pytest.raises(ValueError, match="settle it"):
        _ = asked.fused_by
    assert request.settled(asked, world.acme.id).fused_by is Fusion.CONVEX
    world.set(fusion="rrf")
    assert request.settled(asked, world.acme.id).fused_by is Fusion.RRF
    assert request.settled(asked, world.other.id).fused_by is Fusion.CONVEX
    named_rows = replace(asked, fusion=Fusion.CONVEX)
    assert request.settled(named_rows, world.acme.id).fused_by is Fusion.CONVEX


# ── Timings ──────────────────────────────────────────────────────────────────
def test_a_stage_counts_milliseconds_also_of_what_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([10.0, 10.0023456, 20.0, 20.5])
    clock = SimpleNamespace(perf_counter=lambda: next(moments))
    monkeypatch.setattr(request, "time", clock)
    timings = Timings(load=1.0)
    with timings.stage("load"):
        pass
    assert timings.load == pytest.approx(3.346, abs=1e-9)
    with pytest.raises(OSError, match="down"), timings.stage("embed"):
        raise OSError("down")
    assert (timings.embed, timings.total) == (500.0, 0.0)


# ── Scores ───────────────────────────────────────────────────────────────────
def _rankings() -> Rankings:
    """Return rankings that found a and b by meaning, b and c by words."""
    close = [
        VectorHit("a", 0.9, 0.9, 0.9, 0.8),
        VectorHit("b", 0.8, 0.8, 0.5, 0.4),
    ]
    return Rankings(
        VectorScope(workspace_id="ws_1", model="m"),
        dense=SearchResult(close, 9, lowest=0.0, highest=0.8),
        words=[WordHit("b", 6.0), WordHit("c", 3.0)],
    )


BY_RANK: Final = {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62}


@pytest.mark.parametrize(
    ("mode", "fusion", "scores"),
    [
        (Mode.HYBRID, Fusion.RRF, BY_RANK),
        (Mode.DENSE, Fusion.RRF, {"a": 0.8, "b": 0.4}),
        (Mode.DENSE, Fusion.CONVEX, {"a": 0.8, "b": 0.4}),
    ],
)
def test_each_mode_and_fusion_scores_its_own_way(
    mode: Mode, fusion: Fusion, scores: dict[str, float]
) -> None:
    request = settled(mode=mode, fusion=fusion)
    assert ranking.fuse(request, _rankings()) == pytest.approx(scores)


@pytest.mark.parametrize("fusion", list(Fusion))
@pytest.mark.parametrize("mode", [Mode.SPARSE, Mode.DENSE])
def test_words_alone_are_scored_by_rank(mode: Mode, fusion: Fusion) -> None:
    rankings = replace(_rankings(), dense=SearchResult([], 0))
    rankings.degraded = "down" if mode is Mode.DENSE else None
    scores = ranking.fuse(settled(mode=mode, fusion=fusion), rankings)
    assert scores == pytest.approx({"b": 1 / 61, "c": 1 / 62})
