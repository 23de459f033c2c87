"""The quality bench: its metrics by hand, and labelled sets asked tenant by tenant."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from crewship_memory.bench import memories, quality, scoring, sets
from crewship_memory.bench.scoring import Ranking
from crewship_memory.bench.sets import Document, LabelledSet, Question
from episodic.recall.request import Request
from episodic.recall.search import search
from memory.models import Agent, JournalEntry
from memory.rules import entries
from tests.world import World

THIRD, FIFTH = 1 / math.log2(3), 1 / math.log2(5)


# ── Metrics ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("ids", "relevant", "five", "ten", "mrr", "ndcg"),
    [
        ("a", "a", 1, 1, 1, 1),
        ("xa", "a", 1, 1, 0.5, THIRD),
        ("xxxxxxa", "a", 0, 1, 1 / 7, 1 / 3),
        ("xxxxxxxxxxa", "a", 0, 0, 0, 0),
        ("", "a", 0, 0, 0, 0),
        # Two of three right ones, at ranks 2 and 4.
        ("xaxb", "abc", 2 / 3, 2 / 3, 0.5, (THIRD + FIFTH) / (1 + THIRD + 0.5)),
        # One in the first five, all in ten.
        ("axxxxb", "ab", 0.5, 1, 1, (1 + 1 / math.log2(7)) / (1 + THIRD)),
        # More are right than there are places: the share falls, the order is ideal.
        ("abcdefghij", "abcdefghijkl", 5 / 12, 10 / 12, 1, 1),
        # A right one that is named twice is one right one.
        ("aa", "ab", 0.5, 0.5, 1, 1 / (1 + THIRD)),
    ],
)
def test_metrics_by_hand(
    ids: str, relevant: str, five: float, ten: float, mrr: float, ndcg: float
) -> None:
    ranking = Ranking(list(ids), set(relevant))
    metrics = {name: float(v[0]) for name, v in scoring.metrics([ranking]).items()}
    hand = {"recall@5": five, "recall@10": ten, "mrr@10": mrr, "ndcg@10": ndcg}
    assert metrics == pytest.approx(hand)


def test_the_mean_of_three_questions() -> None:
    rankings = [Ranking(list(ids), {"a"}) for ids in ("a", "xxa", "x")]
    table = scoring.table({"m": scoring.metrics(rankings)})["m"]
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


def test_a_difference_is_resampled_in_pairs() -> None:
    better = scoring.metrics([Ranking(["a"], {"a"}), Ranking(["x", "a"], {"a"})] * 40)
    worse = scoring.metrics([Ranking(["x", "a"], {"a"}), Ranking([], {"a"})] * 40)
    apart = scoring.difference(better, worse)["mrr@10"]
    # Every pair differs by exactly one half, so the interval has no width.
    assert apart.as_list() == [0.5, 0.5, 0.5]
    assert apart.is_clear


# ── The report ───────────────────────────────────────────────────────────────
def test_a_default_below_words_is_named() -> None:
    first, second, absent = (Ranking(list(ids), {"a"}) for ids in ("a", "xa", "x"))
    report = quality.report({"sparse": [first] * 30, "default": [second] * 30})
    assert report["default_minus_words"]["mrr@10"] == [-0.5, -0.5, -0.5]
    assert report["default_below_words"] == {
        "mrr@10": "clearly", "ndcg@10": "clearly",
    }  # fmt: skip
    mixed = [absent, *[first] * 29]
    report = quality.report({"sparse": [first] * 30, "default": mixed})
    assert report["default_below_words"]["recall@10"] == "within the interval"
    report = quality.report({"sparse": [second] * 30, "default": [first] * 30})
    assert report["default_below_words"] == {}


def test_the_table_has_a_row_for_each_half() -> None:
    ranking = Ranking(["a"], {"a"})
    half = quality.report({"sparse": [ranking], "default": [ranking]})
    plan = quality.Plan(arms=("sparse", "default"))
    lines = quality.table({"boats": {"train": half, "test": half}}, plan)
    assert lines[0] == "| Set | Half | Questions | sparse | default | default − words |"
    row = "| 1 | 100.0 / 100.0 | 100.0 / 100.0 | +0.0 [+0.0, +0.0] |"
    assert lines[2:] == [f"| boats | train {row}", f"| boats | test {row}"]


def test_a_half_without_questions_has_no_figures() -> None:
    plan = quality.Plan(arms=("sparse", "default"), splits=("train",))
    half = quality.report({"sparse": [], "default": []})
    assert half == {"questions": 0, "arms": {}}
    lines = quality.table({"boats": {"train": half}}, plan)
    assert lines[2:] == ["| boats | train | 0 | – | – | – |"]


# ── Filling and asking ───────────────────────────────────────────────────────
WORDS = "anchor beacon compass dinghy estuary fender galley halyard".split()


def boats() -> LabelledSet:
    """Return a set of two harbours that say the same of other boats."""
    documents = [
        Document(
            id=f"{harbour}:{number}",
            text=f"The {word} of the {harbour} boat was repaired.",
            tenant=harbour,
            thread=f"{harbour}-day-{number // 4}",
            order=number % 4,
            speaker=("Lena Ø.", "Ada")[number % 2],
        )
        for harbour in ("north", "south")
        for number, word in enumerate(WORDS)
    ]
    questions = [
        Question(f"{harbour}:{word}", f"What about the {word}?",
                 (f"{harbour}:{number}",), harbour, sets.SPLITS[number % 2])
        for harbour in ("north", "south")
        for number, word in enumerate(WORDS)
    ]  # fmt: skip
    return LabelledSet("boats", tuple(documents), tuple(questions))


def test_a_question_is_asked_in_its_own_tenant_in_every_arm(world: World) -> None:
    labelled = boats()
    messages: list[str] = []
    report = quality.measure([labelled], quality.Plan(), messages.append)
    of_set = report["sets"]["boats"]
    assert (of_set["documents"], of_set["tenants"]) == (16, 2)
    tenants = [message.split(" (")[0] for message in messages[:2]]
    assert tenants == ["boats, north", "boats, south"]
    assert messages[2:] == ["\n".join(report["table"])]
    for split in sets.SPLITS:
        half = of_set[split]
        assert half["questions"] == 8
        assert set(half["arms"]) == set(quality.ARMS)
        # The word is in one document of each tenant: a hit of the other tenant would
        # take a place, and words alone would no longer be perfect.
        assert half["arms"]["sparse"]["ndcg@10"] == [1.0, 1.0, 1.0]
        assert half["arms"]["random"]["ndcg@10"][0] < 1.0
    assert len(report["table"]) == 2 + 2


def test_an_arm_asks_what_its_name_says(world: World) -> None:
    memory = memories.fill("boats", [d for d in boats().documents if "north" in d.id])
    answers = {arm: quality.ask(memory, "the anchor", arm) for arm in quality.ARMS}
    # By words the others do not match; by meaning everything is near or far.
    assert answers["sparse"] == ["north:0"]
    assert sorted(answers["dense"]) == sorted(memory.documents.values())
    assert answers["default"] in (answers["rrf"], answers["convex"])
    assert answers["random"] == quality.ask(memory, "the anchor", "random")


def test_a_limit_asks_the_same_few_questions_of_the_halves_named(world: World) -> None:
    labelled, plan = boats(), quality.plan("sparse", "test", 3)
    assert labelled.sample("test", 3) == labelled.sample("test", 3)
    report = quality.measure_set(labelled, "few", plan, str)
    assert report["test"]["questions"] == 3
    assert "train" not in report


def test_a_document_is_an_entry_of_its_speaker_and_thread(world: World) -> None:
    memory = memories.fill("boats", [d for d in boats().documents if "north" in d.id])
    rows = JournalEntry.objects.filter(pk__in=memory.documents).order_by("seq")
    assert [memory.documents[row.id] for row in rows] == [
        f"north:{number}" for number in range(8)
    ]
    names = dict(Agent.objects.values_list("pk", "name"))
    assert [names[row.agent_id or ""] for row in rows[:2]] == ["Lena Ø.", "Ada"]
    assert [row.trace_id for row in rows[3:5]] == ["north-day-0", "north-day-1"]
    apart = [later.ts - row.ts for row, later in pairwise(rows)]
    assert {gap == memories.LINES_APART for gap in (*apart[:3], *apart[4:])} == {True}
    assert apart[3] == memories.THREADS_APART - 3 * memories.LINES_APART


def test_a_time_of_the_set_is_kept() -> None:
    document = Document("a", "text", "t", ts="2026-02-11T16:18:32+01:00")
    ((_, ts),) = memories.timed([document])
    assert ts.isoformat() == document.ts


def test_a_long_text_is_split_and_nothing_of_it_is_lost() -> None:
    for text in ("short", "wörd " * 2_000, "x" * 9_000):
        head, rest = memories.summary_and_rest(text)
        assert head + rest == text
        assert len(head.encode()) <= memories.HEAD_BYTES < entries.SUMMARY_BYTES


def test_half_an_answer_is_no_measurement(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memories.fill("boats", boats().documents[:3])
    answer = search(Request(query="anchor", mark=False), by=memory.asker)
    answer.rankings.degraded = "dense ranking unavailable (down): words only"
    monkeypatch.setattr(quality, "search", Mock(return_value=answer))
    with pytest.raises(RuntimeError, match="words only"):
        quality.ask(memory, "anchor", "default")


# ── The command ──────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs --data"),
        ({"data": Path("nowhere")}, "nowhere is no labelled set"),
        ({"data": Path(), "arms": "sparse,best"}, "No such arm: best"),
        ({"data": Path(), "most": 0}, "At least one question"),
    ],
)
def test_what_is_wrong_shows_before_anything_is_measured(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("bench", "quality", **options)


def test_a_journal_in_json_lines_is_a_set_too(tmp_path: Path) -> None:
    row = {"ts": "2026-02-10T10:00:00+01:00", "summary": "About the anchor",
           "crew": "harbour", "agent": "ada",
           "payload": {"text": "The anchor was repaired. " * 12}}  # fmt: skip
    path = tmp_path / "journal.jsonl"
    short = {**row, "payload": {"text": "too short"}}
    path.write_text("\n".join(json.dumps(line) for line in (short, row)))
    (labelled,) = quality.load(path)
    assert [(d.id, d.speaker, d.thread) for d in labelled.documents] == [
        ("entry-2", "ada", "harbour/ada")
    ]
    assert labelled.questions[0].text == "About the anchor"
    assert labelled.questions[0].relevant == ("entry-2",)
