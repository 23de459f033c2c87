"""Quality of recall on labelled sets, asked the way the product answers.

Every tenant of a set becomes a workspace (``crewship_memory.bench.memories``), and
every question is asked there through ``episodic.recall.search`` by the lead of its
crew, once per arm:

dense, sparse   one ranking alone: by meaning, by words
rrf, convex     both rankings, fused in a named way
default         what a caller gets who names neither
random          documents of the tenant, drawn: the floor
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from crewship_memory.bench import convert, memories, scoring, sets
from crewship_memory.bench.memories import Memory
from crewship_memory.bench.scoring import TOP, Ranking
from crewship_memory.bench.sets import LabelledSet, Question, SetError
from episodic.recall.request import Mode, Request
from episodic.recall.search import search
from memory.rules.fusion import Fusion
from memory.workspace_settings import declarations

DEFAULT: Final = "default"
WORDS: Final = "sparse"
RANDOM: Final = "random"
ARMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "dense": {"mode": Mode.DENSE},
    WORDS: {"mode": Mode.SPARSE},
    **{fusion.value: {"fusion": fusion} for fusion in Fusion},
    DEFAULT: {},
    RANDOM: {},
}
NOT_MEASURED: Final = (
    "Importance: all entries of a set have one type, severity and age in the index.",
    "Relations between entries: the answers have no neighbours (walk_depth 0).",
)

Say = Callable[[str], object]
ByArm = dict[str, list[Ranking]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: arms, halves of a set, and how many questions of each half."""

    arms: tuple[str, ...] = tuple(ARMS)
    splits: tuple[str, ...] = sets.SPLITS
    limit: int | None = None


def plan(arms: str | None, split: str | None, limit: int | None) -> Plan:
    """Return a plan from the words of a command line, or raise SetError."""
    names = tuple(arm.strip() for arm in arms.split(",")) if arms else tuple(ARMS)
    if unknown := set(names) - set(ARMS):
        message = f"No such arm: {', '.join(sorted(unknown))}."
        raise SetError(f"{message} There are {', '.join(ARMS)}.")
    if limit is not None and limit < 1:
        raise SetError("At least one question has to be asked.")
    return Plan(names, (split,) if split else sets.SPLITS, limit)


def load(path: Path) -> list[LabelledSet]:
    """Return the sets of a folder, or the known items of a journal in JSON lines."""
    if path.is_file():
        return [convert.convert("journal", path)]
    return [sets.read(folder) for folder in sets.folders(path)]


# ── Asking ───────────────────────────────────────────────────────────────────
def ask(memory: Memory, question: str, arm: str) -> list[str]:
    """Return the documents that an arm answers with, best first.

    An entry of the answer that holds no document counts as a wrong one.
    """
    if arm == RANDOM:
        rng = random.Random(f"{scoring.SEED}:{question}")  # noqa: S311  (no secret)
        documents = list(memory.documents.values())
        return rng.sample(documents, min(TOP, len(documents)))
    request = Request(query=question, k=TOP, walk_depth=0, mark=False, **ARMS[arm])
    answer = search(request, by=memory.asker)
    if reason := answer.rankings.degraded:
        raise RuntimeError(f"Half an answer measures nothing: {reason}")
    ids = [hit.entry.id for hit in answer.hits[:TOP]]
    return [memory.documents.get(entry_id, entry_id) for entry_id in ids]


def ask_all(
    memory: Memory, questions: Sequence[Question], rankings: Mapping[str, ByArm]
) -> None:
    """Ask questions once per arm; add the rankings to those of their half."""
    for question in questions:
        for arm, of_arm in rankings[question.split].items():
            ids = ask(memory, question.text, arm)
            of_arm.append(Ranking(ids, question.relevant))


def measure_set(
    labelled: LabelledSet, slug: str, plan: Plan, say: Say
) -> dict[str, Any]:
    """Fill a workspace for every tenant with questions, ask them, and report."""
    rankings: dict[str, ByArm] = {s: {a: [] for a in plan.arms} for s in plan.splits}
    sample = [q for split in plan.splits for q in labelled.sample(split, plan.limit)]
    tenants = [t for t in labelled.tenants if any(q.tenant == t for q in sample)]
    seconds_to_index = seconds_to_ask = 0.0
    for number, tenant in enumerate(tenants, 1):
        documents = [d for d in labelled.documents if d.tenant == tenant]
        questions = [q for q in sample if q.tenant == tenant]
        say(
            f"{labelled.name}, {tenant} ({number} of {len(tenants)}): "
            f"{len(documents)} documents, {len(questions)} questions …"
        )
        start = time.perf_counter()
        memory = memories.fill(f"{slug}-{number}", documents)
        full = time.perf_counter()
        ask_all(memory, questions, rankings)
        seconds_to_index += full - start
        seconds_to_ask += time.perf_counter() - full
    return {
        "documents": len(labelled.documents),
        "tenants": len(tenants),
        "seconds_to_index": round(seconds_to_index, 1),
        "seconds_to_ask": round(seconds_to_ask, 1),
        **{split: report(by_arm) for split, by_arm in rankings.items()},
    }


# ── The report ───────────────────────────────────────────────────────────────
def measure(
    labelled_sets: Sequence[LabelledSet], plan: Plan, say: Say
) -> dict[str, Any]:
    """Measure sets by a plan, and return the report."""
    reports: dict[str, Any] = {}
    for number, labelled in enumerate(labelled_sets, 1):
        of_set = measure_set(labelled, f"bench-set-{number}", plan, say)
        reports[labelled.name] = of_set
        # A run takes long: what is ready shows, should it be broken off.
        say("\n".join(table({labelled.name: of_set}, plan)))
    return {
        "columns": "mean, low and high of the 95 % bootstrap interval",
        "default": declarations.FUSION.default,
        "sets": reports,
        "table": table(reports, plan),
        "not_measured": NOT_MEASURED,
    }


def report(by_arm: ByArm) -> dict[str, Any]:
    """Return the report of one half of a set."""
    metrics = {arm: scoring.metrics(rankings) for arm, rankings in by_arm.items()}
    questions = max(len(rankings) for rankings in by_arm.values())
    result: dict[str, Any] = {"questions": questions, "arms": {}}
    if not questions:
        return result
    result["arms"] = scoring.table(metrics)
    if {DEFAULT, WORDS} <= set(metrics):
        apart = scoring.difference(metrics[DEFAULT], metrics[WORDS])
        result["default_minus_words"] = {n: e.as_list() for n, e in apart.items()}
        result["default_below_words"] = {
            name: "clearly" if estimate.is_clear else "within the interval"
            for name, estimate in apart.items()
            if estimate.mean < 0
        }
    return result


def table(reports: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return a table in Markdown: recall in five and in ten, in per cent."""
    lines = [
        f"| Set | Half | Questions | {' | '.join(plan.arms)} | default − words |",
        "|---|---|--:|" + "--:|" * (len(plan.arms) + 1),
    ]
    for name, of_set in reports.items():
        for split in plan.splits:
            half = of_set[split]
            cells = [_recalls(half["arms"].get(arm)) for arm in plan.arms]
            apart = half.get("default_minus_words")
            cells.append(_points(apart[scoring.RECALLS[1]]) if apart else "–")
            count = half["questions"]
            lines.append(f"| {name} | {split} | {count} | {' | '.join(cells)} |")
    return lines


def _recalls(metrics: Mapping[str, Sequence[float]] | None) -> str:
    """Return recall in five and in ten; a dash where nothing was asked."""
    if metrics is None:
        return "–"
    return " / ".join(f"{100 * metrics[name][0]:.1f}" for name in scoring.RECALLS)


def _points(estimate: Sequence[float]) -> str:
    """Return a difference in points with its interval."""
    mean, low, high = (f"{100 * value:+.1f}" for value in estimate)
    return f"{mean} [{low}, {high}]"
