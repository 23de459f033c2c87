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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from crewship_memory.bench import convert, memories, scoring, sets
from crewship_memory.bench.memories import Memory
from crewship_memory.bench.scoring import TOP, Answered
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

Say = Callable[[str], None]
Answers = dict[str, list[Answered]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: arms, halves of a set, and how many questions of each."""

    arms: tuple[str, ...] = tuple(ARMS)
    splits: tuple[str, ...] = sets.SPLITS
    most: int | None = None


@dataclass(slots=True)
class Asked:
    """The answers of one set: half → arm → question by question, and the seconds."""

    answers: dict[str, Answers] = field(default_factory=dict)
    seconds_to_index: float = 0.0
    seconds_to_ask: float = 0.0


def plan(arms: str, split: str, most: int | None) -> Plan:
    """Return a plan from the words of a command line, or raise SetError."""
    names = tuple(arm.strip() for arm in arms.split(",")) if arms else tuple(ARMS)
    if unknown := set(names) - set(ARMS):
        message = (
            f"No such arm: {', '.join(sorted(unknown))}. There are {', '.join(ARMS)}."
        )
        raise SetError(message)
    if most is not None and most < 1:
        raise SetError("At least one question has to be asked.")
    return Plan(names, (split,) if split else sets.SPLITS, most)


def load(path: Path) -> list[LabelledSet]:
    """Return the sets of a folder, or the known items of a journal in JSON lines."""
    if path.is_file():
        return [convert.convert("journal", path)]
    return [sets.read(folder) for folder in sets.folders(path)]


# ── Asking ───────────────────────────────────────────────────────────────────
def ask(memory: Memory, question: str, arm: str) -> list[str]:
    """Return the documents that an arm answers with, best first."""
    if arm == RANDOM:
        draw = random.Random(f"{scoring.SEED}:{question}")  # noqa: S311  (no secret)
        documents = list(memory.documents.values())
        return draw.sample(documents, min(TOP, len(documents)))
    request = Request(query=question, k=TOP, walk_depth=0, mark=False, **ARMS[arm])
    answer = search(request, by=memory.asker)
    if answer.rankings.degraded:
        raise RuntimeError(
            f"Half an answer measures nothing: {answer.rankings.degraded}"
        )
    return [memory.documents[hit.entry.id] for hit in answer.hits[:TOP]]


def ask_set(labelled: LabelledSet, slug: str, plan: Plan, say: Say) -> Asked:
    """Fill a workspace for every tenant that has questions, and ask them all there."""
    asked = Asked({split: {arm: [] for arm in plan.arms} for split in plan.splits})
    chosen = [q for s in plan.splits for q in labelled.sample(s, plan.most)]
    tenants = [t for t in labelled.tenants if any(q.tenant == t for q in chosen)]
    for number, tenant in enumerate(tenants, 1):
        documents = [d for d in labelled.documents if d.tenant == tenant]
        questions = [q for q in chosen if q.tenant == tenant]
        say(
            f"{labelled.name}, {tenant} ({number} of {len(tenants)}): "
            f"{len(documents)} documents, {len(questions)} questions …"
        )
        start = time.perf_counter()
        memory = memories.fill(f"{slug}-{number}", documents)
        filled = time.perf_counter()
        _ask_all(memory, questions, asked.answers)
        asked.seconds_to_index += filled - start
        asked.seconds_to_ask += time.perf_counter() - filled
    return asked


def _ask_all(
    memory: Memory, questions: Sequence[Question], answers: Mapping[str, Answers]
) -> None:
    for question in questions:
        for arm, answered in answers[question.split].items():
            found = ask(memory, question.text, arm)
            answered.append(Answered(found, question.relevant))


# ── The report ───────────────────────────────────────────────────────────────
def measure(
    labelled_sets: Sequence[LabelledSet], plan: Plan, say: Say
) -> dict[str, Any]:
    """Measure sets by a plan, and return the report."""
    reports: dict[str, Any] = {}
    for number, labelled in enumerate(labelled_sets, 1):
        asked = ask_set(labelled, f"bench-set-{number}", plan, say)
        reports[labelled.name] = {
            "documents": len(labelled.documents),
            "tenants": len(labelled.tenants),
            "seconds_to_index": round(asked.seconds_to_index, 1),
            "seconds_to_ask": round(asked.seconds_to_ask, 1),
            **{s: half(answers) for s, answers in asked.answers.items()},
        }
    return {
        "columns": "mean, low and high of the 95 % bootstrap interval",
        "default": declarations.FUSION.default,
        "sets": reports,
        "table": table(reports, plan),
        "not_measured": NOT_MEASURED,
    }


def half(answers: Answers) -> dict[str, Any]:
    """Return the report of one half of a set."""
    metrics = {arm: scoring.metrics(answered) for arm, answered in answers.items()}
    report: dict[str, Any] = {
        "questions": max(len(answered) for answered in answers.values()),
        "arms": scoring.table(metrics),
    }
    if {DEFAULT, WORDS} <= set(metrics) and report["questions"]:
        apart = scoring.difference(metrics[DEFAULT], metrics[WORDS])
        report["default_minus_words"] = {n: e.as_list() for n, e in apart.items()}
        report["default_below_words"] = {
            name: "clearly" if estimate.is_clear else "within the interval"
            for name, estimate in apart.items()
            if estimate.mean < 0
        }
    return report


def table(reports: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return a table in Markdown: recall in five and in ten, in per cent."""
    lines = [
        f"| Set | Half | Questions | {' | '.join(plan.arms)} | default − words |",
        "|---|---|--:|" + "--:|" * (len(plan.arms) + 1),
    ]
    for name, report in reports.items():
        for split in plan.splits:
            arms = report[split]["arms"]
            cells = [
                " / ".join(
                    f"{100 * arms[arm][m][0]:.1f}" for m in ("recall@5", "recall@10")
                )
                for arm in plan.arms
            ]
            count = str(report[split]["questions"])
            apart = report[split].get("default_minus_words", {}).get("recall@10")
            cells.append(_interval(apart) if apart else "")
            lines.append(f"| {' | '.join([name, split, count, *cells])} |")
    return lines


def _interval(estimate: Sequence[float]) -> str:
    """Return a difference in points with its interval."""
    mean, low, high = (f"{100 * value:+.1f}" for value in estimate)
    return f"{mean} [{low}, {high}]"
