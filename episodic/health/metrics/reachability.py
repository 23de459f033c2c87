"""Reachability: 100 · embeddings with at least one relation / embeddings."""

from __future__ import annotations

from collections import Counter
from typing import Final

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
    percent,
    sample,
)
from episodic.index.snapshot import IndexArrays, Rows
from episodic.vectors import cosine

TYPES_LISTED: Final = 6


def value(connected: int, embeddings: int) -> float | None:
    """Return the share of embeddings that a relation leads to."""
    return percent(connected / embeddings) if embeddings else None


def _measure(scope: IndexedScope) -> Measurement:
    arrays, rows, size = scope.arrays, scope.rows, scope.arrays.view.size
    columns = arrays.view.columns
    in_scope, linked = np.zeros((2, size + 1), dtype=np.bool_)
    in_scope[rows] = True
    edges = arrays.edges[(arrays.edges < size).all(axis=1)]
    # Row −1 is the extra last place: an end without a vector reaches the other one.
    other = edges[:, ::-1]
    early = (other == -1) | (columns.ts[other] <= columns.ts[rows].max())
    linked[edges[early]] = True
    unlinked = (in_scope & ~linked)[:-1]
    connected = len(rows) - int(unlinked.sum())
    types, names = columns.type[:size], arrays.matrix.types.names()
    counts = Counter(int(code) for code in types[unlinked])
    details = {
        "connected": connected,
        "embeddings": len(rows),
        **_linkable(arrays, np.flatnonzero(unlinked)),
        "alone": [
            {
                "entry_type": names.get(code),
                "count": count,
                "entry_ids": arrays.entry_ids(
                    np.flatnonzero(unlinked & (types == code))
                ),
            }
            for code, count in counts.most_common(TYPES_LISTED)
        ],
    }
    return Measurement(value(connected, len(rows)), details)


def _linkable(arrays: IndexArrays, unlinked: Rows) -> dict[str, int]:
    """Return how many entries without a relation have an older one near enough."""
    columns, size, sampled = arrays.view.columns, arrays.view.size, sample(unlinked)
    if not len(sampled):
        return {"alone_sampled": 0, "linkable_sampled": 0}
    rows = np.flatnonzero(columns.alive[:size])
    crews = columns.crew[:size]
    best = cosine.top(columns.vectors, rows, sampled, 1, crews, columns.ts)
    count = int((best[:, 0] >= LINKED_COSINE).sum())
    return {"alone_sampled": len(sampled), "linkable_sampled": count}


def _explain(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    unlinked = max(1, details["embeddings"] - details["connected"])
    sampled, with_neighbour = details["alone_sampled"], details["linkable_sampled"]
    linkable = round(unlinked * with_neighbour / sampled) if sampled else 0
    finding = f"{unlinked:,} of {details['embeddings']:,} embeddings stand alone."
    if linkable:
        prefix = "" if sampled == unlinked else "About "
        noun = "entry" if linkable == 1 else "entries"
        verb = "has" if linkable == 1 else "have"
        title = f"{prefix}{linkable:,} {noun} that no relation reaches {verb}"
        title += " a near neighbour"
        text = f"{finding} These have an older entry of their crew at cosine 0.80 or "
        text += "nearer, which came into the index after them, and can be linked now."
        action = case.fix("link", "Link relations")
        findings.append(Finding(linkable / unlinked, title, text, action))
    for number, group in enumerate(details["alone"]):
        title = f"No relation reaches {group['count']:,} {group['entry_type']} entries"
        text = (
            f"{finding} Without a near neighbour in their crew only consolidation ties "
            "them to something: an approved rule is linked to its evidence."
        )
        url = case.journal_url(entry_type=group["entry_type"])
        action = Action("open", "Show entries", url)
        if number == 0:
            action = case.fix("consolidate", "Propose rules")
        share = group["count"] / unlinked * (1 - linkable / unlinked)
        findings.append(Finding(share, title, text, action))
    return findings


METRIC: Final = Metric(
    name="reachability",
    title="Reachability",
    explanation="How much of memory has a relation to another entry.",
    weight=0.15,
    inputs="{connected:,} of {embeddings:,} have a relation",
    measure_indexed=_measure,
    explain=_explain,
    fixes=("link", "consolidate"),
)
