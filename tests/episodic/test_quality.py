"""The formulas of the quality benchmark, by hand, and the set it is made from."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from crewship_memory.bench import dataset, quality, scoring
from memory.rules import entries
from tests.world import World


@pytest.mark.parametrize(
    ("rank", "five", "ten", "mrr", "ndcg"),
    [
        (1, 1, 1, 1.0, 1.0),
        (2, 1, 1, 0.5, 0.63093),
        (3, 1, 1, 0.33333, 0.5),
        (5, 1, 1, 0.2, 0.38685),
        (7, 0, 1, 0.14286, 0.33333),
        (10, 0, 1, 0.1, 0.28906),
        (11, 0, 0, 0.0, 0.0),
        (None, 0, 0, 0.0, 0.0),
    ],
)
def test_one_right_answer(
    rank: int | None, five: float, ten: float, mrr: float, ndcg: float
) -> None:
    metrics = {name: float(v[0]) for name, v in scoring.metrics([rank]).items()}
    hand = {"recall@5": five, "recall@10": ten, "mrr@10": mrr, "ndcg@10": ndcg}
    assert metrics == pytest.approx(hand, abs=1e-5)


def test_the_mean_of_three_questions() -> None:
    table = scoring.table({"m": [1, 3, None]})["m"]
    assert table["mrr@10"][0] == pytest.approx((1 + 1 / 3) / 3, abs=1e-4)
    assert table["ndcg@10"][0] == pytest.approx(0.5, abs=1e-4)
    assert table["recall@5"][0] == pytest.approx(2 / 3, abs=1e-4)


def test_the_interval_covers_the_mean_and_shrinks_with_more_questions() -> None:
    small = scoring.estimate(np.array([0.0, 1.0] * 20))
    large = scoring.estimate(np.array([0.0, 1.0] * 500))
    assert small.low < small.mean == 0.5 < small.high
    # Four standard errors wide: 2 · 1.96 · 0.5 / √n.
    assert large.high - large.low == pytest.approx(
        3.92 * 0.5 / math.sqrt(1000), rel=0.1
    )
    assert scoring.estimate(np.array([])).as_list() == [0.0, 0.0, 0.0]


def test_the_verdict_wants_a_clear_gain() -> None:
    unchanged = {"a": [1, 2, None] * 50, "b": [1, 2, None] * 50}
    assert scoring.verdict(unchanged, "a", ["b"]).startswith("a should stay")
    better = {"a": [None, 2, None] * 50, "b": [1, 1, None] * 50}
    assert scoring.verdict(better, "a", ["b"]).startswith("b should be the default")
    slight = {"a": [1, 2, 3, 4, 5], "b": [2, 1, 3, 4, 1]}
    assert "not a clear gain" in scoring.verdict(slight, "a", ["b"])


def test_of_equals_the_newer_is_ahead() -> None:
    scores, seq = {"old": 1.0, "new": 1.0, "best": 2.0}, {"old": 1, "new": 2, "best": 0}
    ranks = [quality.rank(scores, e, seq) for e in ("best", "new", "old", "gone")]
    assert ranks == [1, 2, 3, None]


def test_a_long_text_is_split_and_nothing_of_it_is_lost() -> None:
    for text in ("short", "wörd " * 2_000, "x" * 9_000):
        head, rest = quality.split(text)
        assert head + rest == text
        assert len(head.encode()) <= quality.HEAD_BYTES < entries.SUMMARY_BYTES


def journal(folder: Path) -> Path:
    """Write a journal of a few long entries and one short one."""
    words = "anchor beacon compass dinghy estuary fender galley halyard".split()
    rows = [
        {"ts": f"2026-02-1{n}T10:00:00+01:00", "entry_type": "exec.command",
         "severity": "info", "summary": f"About the {word}",
         "payload": {"text": f"The {word} was repaired. " * 12}}
        for n, word in enumerate(words)
    ]  # fmt: skip
    rows.append({**rows[0], "payload": {"text": "too short"}})
    path = folder / "journal.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_the_set_asks_by_summary_for_the_text_alone(
    world: World, tmp_path: Path
) -> None:
    shop = dataset.open_workspace("quality")
    items = quality.fill(shop, journal(tmp_path))
    assert len(items) == 8
    assert items[0].question == "About the anchor"
    ranks = quality.ask(shop, items)
    assert ranks["sparse"] == [1] * 8
    assert ranks[quality.DEFAULT] == [1] * 8
    assert {len(row) for row in ranks.values()} == {8}
    assert "control: random" in ranks
