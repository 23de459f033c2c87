"""Freshness: 100 · 2^(−median age / 30 days), the age by the entry's own time.

The half-life is the age at which compaction starts to roll old entries up: a memory
whose middle entry is that old has lost half of its freshness. 75 is a median of 12.5
days, 50 of 30.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from django.utils.translation import gettext, gettext_noop, ngettext

from episodic.health.metrics.base import (
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
from memory.figures import grouped

HALF_LIFE_DAYS: Final = 30.0
DAY_MS: Final = 86_400_000
AGENTS_LISTED: Final = 12


def value(median_days: float) -> float:
    """Return the freshness of entries whose median age is so many days."""
    return percent(2 ** (-max(0.0, median_days) / HALF_LIFE_DAYS))


def _measure(scope: IndexedScope) -> Measurement:
    columns, rows = scope.arrays.view.columns, scope.rows
    ages = np.maximum(0.0, (scope.at.timestamp() * 1000 - columns.ts[rows]) / DAY_MS)
    median = float(np.median(ages))
    stale = 1 - 2 ** (-ages / HALF_LIFE_DAYS)
    names, total = scope.arrays.matrix.agents.names(), float(stale.sum()) or 1.0
    agents = [
        {
            "agent_id": names.get(int(code)),
            "entries": int((mask := columns.agent[rows] == code).sum()),
            "newest_days": round(float(ages[mask].min()), 2),
            "median_days": round(float(np.median(ages[mask])), 2),
            "share": round(float(stale[mask].sum()) / total, 4),
        }
        for code in np.unique(columns.agent[rows])
    ]
    details = {
        "median_days": round(median, 2),
        "entries": len(rows),
        "agents": by_share(agents, AGENTS_LISTED),
    }
    return Measurement(value(median), details)


def _explain(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    for group in details.get("agents", []):
        slug = case.agents.get(group["agent_id"] or "")
        name = slug or gettext("nobody in particular")
        newest, median = _age(group["newest_days"]), _age(group["median_days"])
        if group["newest_days"] < 2:
            title = gettext("Half of what {name} wrote is older than {age}")
            title = title.format(name=name, age=median)
        else:
            title = gettext("{name}’s newest indexed entry is {age} old")
            title = title.format(name=name, age=newest)
        text = ngettext(
            "{count} entry, the newest {newest} old, half of them older than {median}. "
            "Only new entries that are embedded, such as summaries and records, make a "
            "memory fresher.",
            "{count} entries, the newest {newest} old, half of them older than "
            "{median}. Only new entries that are embedded, such as summaries and "
            "records, make a memory fresher.",
            group["entries"],
        ).format(count=grouped(group["entries"]), newest=newest, median=median)
        url = case.journal_url(agent_id=group["agent_id"] if slug else None)
        label = gettext("Open entries")
        if slug:
            label = gettext("Open {agent}’s journal").format(agent=slug)
        action = Action("open", label, url)
        key = f"agent:{group['agent_id'] or ''}"
        findings.append(Finding(group["share"], title, text, action, key))
    return findings


def _age(days: float) -> str:
    if days < 1:
        count = max(1, round(days * 24))
        text = ngettext("{count} hour", "{count} hours", count)
    else:
        count = round(days)
        text = ngettext("{count} day", "{count} days", count)
    return text.format(count=grouped(count))


METRIC: Final = Metric(
    name=gettext_noop("freshness"),
    title=gettext_noop("Freshness"),
    explanation=gettext_noop(
        "How young memory is: 100 when written today, half of it every 30 days of "
        "median age."
    ),
    weight=0.25,
    inputs=gettext_noop("median age {median_days:.1f} days"),
    measure_indexed=_measure,
    explain=_explain,
)
