"""Reachability: 100 · embeddings with at least one relation / embeddings."""

from __future__ import annotations

from collections import Counter
from typing import Final

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
    percent,
    sample,
)
from episodic.index.snapshot import IndexArrays, Rows
from episodic.vectors import cosine
from memory.figures import decimal, grouped

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
    linkable, nearest = _linkable(arrays, np.flatnonzero(unlinked))
    details = {
        "connected": connected,
        "embeddings": len(rows),
        **linkable,
        "alone": [
            {
                "entry_type": names.get(code),
                "count": count,
                "nearest": nearest.get(code),
                "entry_ids": arrays.entry_ids(
                    np.flatnonzero(unlinked & (types == code))
                ),
            }
            for code, count in counts.most_common(TYPES_LISTED)
        ],
    }
    return Measurement(value(connected, len(rows)), details)


def _linkable(
    arrays: IndexArrays, unlinked: Rows
) -> tuple[dict[str, int], dict[int, float]]:
    """Return how many entries without a relation have an older one near enough.

    And by type, how near the nearest of those comes that have none.
    """
    columns, size, sampled = arrays.view.columns, arrays.view.size, sample(unlinked)
    if not len(sampled):
        return {"alone_sampled": 0, "linkable_sampled": 0}, {}
    rows = np.flatnonzero(columns.alive[:size])
    crews = columns.crew[:size]
    best = cosine.top(columns.vectors, rows, sampled, 1, crews, columns.ts)[:, 0]
    far = (best < LINKED_COSINE) & (best != cosine.NO_NEIGHBOUR)
    types = columns.type[sampled]
    nearest = {
        int(code): round(float(best[far & (types == code)].max()), 3)
        for code in np.unique(types[far])
    }
    count = int((best >= LINKED_COSINE).sum())
    return {"alone_sampled": len(sampled), "linkable_sampled": count}, nearest


def linkable(details: Details, limit: int | None = None) -> int:
    """Return how many entries without a relation can be linked now, by the sample.

    Of the ``limit`` newest of them, where one is named.
    """
    unlinked: int = details["embeddings"] - details["connected"]
    sampled = details["alone_sampled"]
    looked_at = unlinked if limit is None else min(unlinked, limit)
    return round(looked_at * details["linkable_sampled"] / sampled) if sampled else 0


def _explain(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    unlinked = max(1, details["embeddings"] - details["connected"])
    with_neighbour = linkable(details)
    finding = gettext("{count} of {all} embeddings stand alone.").format(
        count=grouped(unlinked), all=grouped(details["embeddings"])
    )
    if with_neighbour:
        is_exact = details["alone_sampled"] == unlinked
        title = _linkable_title(with_neighbour, is_exact=is_exact)
        text = gettext(
            "{finding} These have an older entry of their crew at cosine 0.80 or "
            "nearer, which came into the index after them, and can be linked now."
        ).format(finding=finding)
        action = case.fix("link", gettext("Link relations"))
        share = with_neighbour / unlinked
        findings.append(Finding(share, title, text, action, "linkable", "link"))
    for group in details["alone"]:
        kind, count = group["entry_type"], group["count"]
        title = ngettext(
            "No relation reaches {count} {type} entry",
            "No relation reaches {count} {type} entries",
            count,
        ).format(count=grouped(count), type=kind)
        text = f"{finding} {_why_alone(group.get('nearest'))}"
        url = case.journal_url(entry_type=kind)
        action = Action("open", gettext("Show entries"), url)
        share = count / unlinked * (1 - with_neighbour / unlinked)
        key = f"type:{kind}"
        findings.append(Finding(share, title, text, action, key, "rules"))
    return findings


def _linkable_title(count: int, *, is_exact: bool) -> str:
    if is_exact:
        text = ngettext(
            "{count} entry that no relation reaches has a near neighbour",
            "{count} entries that no relation reaches have a near neighbour",
            count,
        )
    else:
        text = ngettext(
            "About {count} entry that no relation reaches has a near neighbour",
            "About {count} entries that no relation reaches have a near neighbour",
            count,
        )
    return text.format(count=grouped(count))


def _why_alone(nearest: float | None) -> str:
    if nearest is None:
        return gettext(
            "Without a near neighbour in their crew only an approved rule ties them to "
            "something: it is linked to its evidence."
        )
    near = gettext("just under 0.80")
    if nearest < LINKED_COSINE - 0.005:
        near = decimal(nearest, 2)
    return gettext(
        "Of those looked at that have no near neighbour, the nearest to an older entry "
        "of its crew is at cosine {near}; alike entries are linked from 0.80. Below "
        "that only an approved rule ties them to something: it is linked to its "
        "evidence."
    ).format(near=near)


METRIC: Final = Metric(
    name=gettext_noop("reachability"),
    title=gettext_noop("Reachability"),
    explanation=gettext_noop("How much of memory has a relation to another entry."),
    weight=0.15,
    inputs=gettext_noop("{connected:,} of {embeddings:,} have a relation"),
    measure_indexed=_measure,
    explain=_explain,
    fixes=("link", "consolidate"),
)
