"""Efficiency: 100 · mean / 0.80, cut to 0..100.

mean is the mean cosine of what the top 5 of a question hold, one mean per question.

Real questions are used where the workspace keeps a recall log that has 30 of them from
the last seven days: the cosines are those of the answers that agents got, so nothing is
asked again. Questions in the same words of one agent count once, with the last answer,
so that a program which repeats itself does not decide; of more than 500 the newest
count. Left out are answers of another model than the one in use, and those that have no
cosine (words only, degraded). A question that nothing came back for counts with 0.

Otherwise it asks with what is there: the vector of each of the 64 newest entries,
inside its crew, itself left out. Needs two entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from django.utils.translation import gettext, gettext_noop, ngettext

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
)
from episodic.index import engine
from episodic.index.snapshot import Rows
from episodic.recall import logged_answers as answers
from episodic.recall.logged_answers import LoggedAnswer
from episodic.vectors import cosine
from memory.figures import decimal, grouped

TOP_K: Final = 5
QUESTIONS: Final = 64
REAL_LEAST: Final = 30
# How the details say what was asked; stored as it is, translated where it is shown.
REAL: Final = gettext_noop("real questions of the last 7 days")
REPLAYED: Final = gettext_noop("newest entries, each asked in its crew")
POOR_COSINE: Final = 0.40
AGENTS_LISTED: Final = 3


def value(mean_cosine: float) -> float:
    """Return how near the answers of recalls are to their questions."""
    return percent(mean_cosine / LINKED_COSINE)


def _measure(scope: IndexedScope) -> Measurement:
    if len(scope.rows) < 2:
        return Measurement(None, {"entries": len(scope.rows)})
    real = answers.recent(
        scope.arrays.workspace_id,
        scope.crew_id,
        model=engine.embedder().model,
        until=scope.at,
        top=TOP_K,
    )
    return _of_log(real) if len(real) >= REAL_LEAST else _of_replays(scope)


# ── Real questions ───────────────────────────────────────────────────────────
def _of_log(real: Sequence[LoggedAnswer]) -> Measurement:
    """Measure by what agents asked; neither words nor ids of questions are kept."""
    means = np.array([answer.mean for answer in real])
    poor = np.array([answer.best for answer in real]) < POOR_COSINE
    shortfall = np.maximum(0.0, LINKED_COSINE - means)
    total, mean = float(shortfall.sum()) or 1.0, float(means.mean())
    agents = np.array([answer.agent_id or "" for answer in real])
    groups = [
        {
            "agent_id": str(agent_id) or None,
            "count": int((mask := (agents == agent_id) & ~poor).sum()),
            "cosine": round(float(means[mask].mean()), 3),
            "share": round(float(shortfall[mask].sum()) / total, 4),
        }
        for agent_id in np.unique(agents[~poor])
    ]
    details = {
        "mean_cosine": round(mean, 4),
        "questions": len(real),
        "from": REAL,
        "poor": {
            "count": int(poor.sum()),
            "share": round(float(shortfall[poor].sum()) / total, 4),
        },
        "rest": by_share(groups, AGENTS_LISTED),
    }
    return Measurement(value(mean), details)


def _explain_log(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    if count := details["poor"]["count"]:
        title = gettext("{count} of {all} real questions find nothing near").format(
            count=count, all=details["questions"]
        )
        text = gettext(
            "Agents asked them in the last seven days, and no entry that came back has "
            "a cosine of 0.40 or more."
        )
        url = case.questions_url(show="all")
        action = Action("open", gettext("Open the questions"), url)
        share = details["poor"]["share"]
        findings.append(Finding(share, title, text, action, "poor"))
    for group in details["rest"]:
        slug = case.agents.get(group["agent_id"] or "")
        title = _asked_title(slug, group["count"]).format(
            count=grouped(group["count"]),
            agent=slug,
            cosine=decimal(group["cosine"], 2),
        )
        text = gettext(
            "The mean cosine of the five best entries that came back; 0.80 would be "
            "full marks. Entries that say one thing each are found nearer."
        )
        url = case.questions_url(show="all", agent_id=slug and group["agent_id"])
        action = Action("open", gettext("Open the questions"), url)
        key = f"agent:{group['agent_id'] or ''}"
        findings.append(Finding(group["share"], title, text, action, key))
    return findings


def _asked_title(slug: str | None, count: int) -> str:
    if slug:
        return ngettext(
            "{count} real question of {agent} finds answers at {cosine}",
            "{count} real questions of {agent} find answers at {cosine}",
            count,
        )
    return ngettext(
        "{count} real question of others finds answers at {cosine}",
        "{count} real questions of others find answers at {cosine}",
        count,
    )


# ── Replays ──────────────────────────────────────────────────────────────────
def _of_replays(scope: IndexedScope) -> Measurement:
    rows, arrays = scope.rows, scope.arrays
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
        "from": REPLAYED,
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
    if details.get("from") == REAL:
        return _explain_log(case, details)
    findings = []
    poor = details.get("poor", {"count": 0})
    if poor["count"]:
        findings.append(_poor_replays(case, poor, details["questions"]))
    for group in details.get("rest", []):
        slug = case.agents.get(group["agent_id"] or "")
        title = _replay_title(slug, group["count"]).format(
            count=grouped(group["count"]),
            agent=slug,
            cosine=decimal(group["cosine"], 2),
        )
        text = gettext(
            "A replay asks with an entry's own words. That is the mean cosine of the "
            "five best answers; 0.80 would be full marks. Entries that say one thing "
            "each are found nearer."
        )
        summaries = case.summaries(group["entry_ids"])
        question = summaries[0][:120] if summaries else ""
        action = _recall(case, question, slug and group["agent_id"])
        key = f"agent:{group['agent_id'] or ''}"
        findings.append(Finding(group["share"], title, text, action, key))
    return findings


def _poor_replays(case: Explanation, poor: Details, questions: int) -> Finding:
    summaries = case.summaries(poor["entry_ids"][:1])
    question = summaries[0][:80] if summaries else ""
    title = gettext("{count} of {all} replays find nothing near").format(
        count=poor["count"], all=questions
    )
    if question:
        text = gettext(
            "Each replay asks with the words of one of the newest entries, inside its "
            "crew; these have no answer above 0.40; one is “{question}”."
        ).format(question=question)
    else:
        text = gettext(
            "Each replay asks with the words of one of the newest entries, inside its "
            "crew; these have no answer above 0.40."
        )
    return Finding(poor["share"], title, text, _recall(case, question), "poor")


def _replay_title(slug: str | None, count: int) -> str:
    if slug:
        return ngettext(
            "{count} replay of {agent}’s entries finds answers at {cosine}",
            "{count} replays of {agent}’s entries find answers at {cosine}",
            count,
        )
    return ngettext(
        "{count} replay other entries finds answers at {cosine}",
        "{count} replays other entries find answers at {cosine}",
        count,
    )


def _recall(case: Explanation, question: str, agent_id: str | None = None) -> Action:
    return Action(
        "open", gettext("Open in recall"), case.recall_url(question, agent_id)
    )


METRIC: Final = Metric(
    name=gettext_noop("efficiency"),
    title=gettext_noop("Efficiency"),
    explanation=gettext_noop(
        "How near recall's answers are: to real questions where the recall log has "
        "enough, else to the newest entries."
    ),
    weight=0.15,
    inputs=gettext_noop("mean cosine {mean_cosine:.2f} of {questions} {from}"),
    measure_indexed=_measure,
    explain=_explain,
)
