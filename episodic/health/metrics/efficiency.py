"""Efficiency: 100 · mean / 0.80, cut to 0..100.

mean is the mean cosine of what the top 5 of a question hold, one mean per question.
Recalls are not stored (they would be a log of what people asked), so it asks with what
is there: the vector of each of the 64 newest entries, inside its crew, itself left out.
Needs two entries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from episodic.health.metrics.base import (
    LINKED_COSINE,
    Action,
    Details,
    Explanation,
    Finding,
    IndexedScope,
    Measurement,
    Metric,
    by_share,
    percent,
    plural,
)
from episodic.index.snapshot import Rows
from episodic.vectors import cosine

TOP_K: Final = 5
QUESTIONS: Final = 64
POOR_COSINE: Final = 0.40
AGENTS_LISTED: Final = 3


def value(mean_cosine: float) -> float:
    """Return how near the answers of recalls are to their questions."""
    return percent(mean_cosine / LINKED_COSINE)


def _measure(scope: IndexedScope) -> Measurement:
    rows, arrays = scope.rows, scope.arrays
    if len(rows) < 2:
        return Measurement(None, {"entries": len(rows)})
    columns = arrays.view.columns
    newest = rows[np.argsort(-columns.ts[rows], kind="stable")[:QUESTIONS]]
    crews = columns.crew[: arrays.view.size]
    best = cosine.top(columns.vectors, rows, newest, TOP_K, crews)
    cosines = np.where(best == cosine.NO_NEIGHBOUR, np.nan, np.clip(best, 0, 1))
    empty = np.isnan(cosines).all(axis=1)
    cosines[empty, 0] = 0.0
    means = np.nanmean(cosines, axis=1)
    poor = np.where(empty, 0.0, best[:, 0]) < POOR_COSINE
    shortfall = np.maximum(0.0, LINKED_COSINE - means)
    total, mean = float(shortfall.sum()) or 1.0, float(means.mean())
    details = {
        "mean_cosine": round(mean, 4),
        "questions": len(newest),
        "from": "newest entries, each asked in its crew",
        "poor": {
            "count": int(poor.sum()),
            "share": round(float(shortfall[poor].sum()) / total, 4),
            "entry_ids": arrays.entry_ids(newest[poor]),
        },
        "rest": _by_agent(scope, newest[~poor], shortfall[~poor] / total, means[~poor]),
    }
    return Measurement(value(mean), details)


def _by_agent(
    scope: IndexedScope, questions: Rows, shares: Any, means: Any
) -> list[dict[str, Any]]:
    """Return whose questions find answers that are near, but not near enough."""
    arrays = scope.arrays
    codes, names = arrays.view.columns.agent[questions], arrays.matrix.agents.names()
    groups = [
        {
            "agent_id": names.get(int(code)),
            "count": int((mask := codes == code).sum()),
            "cosine": round(float(means[mask].mean()), 3),
            "share": round(float(shares[mask].sum()), 4),
            "entry_ids": arrays.entry_ids(questions[mask][np.argsort(means[mask])])[:1],
        }
        for code in np.unique(codes)
    ]
    return by_share(groups, AGENTS_LISTED)


def _explain(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    poor = details.get("poor", {"count": 0})
    if poor["count"]:
        summaries = case.summaries(poor["entry_ids"][:1])
        question = summaries[0][:80] if summaries else ""
        title = f"{poor['count']} of {details['questions']} replays find nothing near"
        text = (
            "Each replay asks with the words of one of the newest entries, inside its "
            "crew; these have no answer above 0.40"
        )
        text += f"; one is “{question}”." if question else "."
        findings.append(Finding(poor["share"], title, text, _recall(case, question)))
    for group in details.get("rest", []):
        slug = case.agents.get(group["agent_id"] or "")
        owner = f"of {slug}’s entries" if slug else "other entries"
        verb = "finds" if group["count"] == 1 else "find"
        replays = plural(group["count"], "replay", "replays")
        title = f"{replays} {owner} {verb} answers at {group['cosine']:.2f}"
        text = (
            "A replay asks with an entry's own words. That is the mean cosine of the "
            "five best answers; 0.80 would be full marks. Entries that say one thing "
            "each are found nearer."
        )
        summaries = case.summaries(group["entry_ids"])
        question = summaries[0][:120] if summaries else ""
        findings.append(Finding(group["share"], title, text, _recall(case, question)))
    return findings


def _recall(case: Explanation, question: str) -> Action:
    return Action("open", "Open in recall", case.recall_url(question))


METRIC: Final = Metric(
    name="efficiency",
    title="Efficiency",
    explanation="How near recall's answers are: the newest entries are asked for "
    "again, in their crew.",
    weight=0.15,
    inputs="mean cosine {mean_cosine:.2f}, {questions} entries replayed",
    measure_indexed=_measure,
    explain=_explain,
)
