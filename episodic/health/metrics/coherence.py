"""Coherence: 100 · (near − background) / (goal − background), cut to 0..100.

near is the mean cosine of an entry to its three nearest neighbours in scope, background
the mean cosine of 4,096 random pairs. goal is 0.80, the cosine from which entries are
linked; where random pairs are alike already (goal must stay above them) it is the
middle between background and 1. Needs five entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from django.utils.translation import gettext, gettext_noop, ngettext

from episodic.health.metrics.base import (
    LINKED_COSINE,
    SEED,
    Action,
    Details,
    Explanation,
    Finding,
    IndexedScope,
    Measurement,
    Metric,
    by_share,
    percent,
    sample,
)
from episodic.index.snapshot import Rows
from episodic.vectors import cosine
from memory.figures import decimal, grouped
from memory.rules import tokenizer

NEIGHBOURS: Final = 3
MIN_ENTRIES: Final = 5
PAIRS: Final = 4_096
TYPES_LISTED: Final = 6
WORD_CHARS: Final = 4
# What rounding makes of the cosine of a vector with itself.
NOISE: Final = 1e-5


def goal(background: float) -> float:
    """Return the nearness that counts as perfectly grouped."""
    return max(LINKED_COSINE, (1 + background) / 2)


def value(nearest: float, background: float) -> float:
    """Return how cleanly embeddings group, against random pairs."""
    distance = goal(background) - background
    if distance <= NOISE:
        return 100.0 if nearest >= background - NOISE else 0.0
    return percent((nearest - background) / distance)


def _measure(scope: IndexedScope) -> Measurement:
    if len(scope.rows) < MIN_ENTRIES:
        return Measurement(None, {"entries": len(scope.rows)})
    vectors, sampled = scope.arrays.view.columns.vectors, sample(scope.rows)
    means = cosine.top(vectors, scope.rows, sampled, NEIGHBOURS).mean(axis=1)
    rng = np.random.default_rng(SEED)
    background = cosine.background(vectors, scope.rows, PAIRS, rng)
    nearest = float(means.mean())
    details = {
        "near": round(nearest, 4),
        "background": round(background, 4),
        "sampled": len(sampled),
        "lonely": _outliers(scope, sampled, means, background),
    }
    return Measurement(value(nearest, background), details)


def _outliers(
    scope: IndexedScope, sampled: Rows, means: cosine.Floats, background: float
) -> list[dict[str, Any]]:
    """Return, by entry type, what is far from its nearest neighbours."""
    columns, matrix = scope.arrays.view.columns, scope.arrays.matrix
    shortfall = np.maximum(0.0, goal(background) - means)
    total, names = float(shortfall.sum()) or 1.0, matrix.types.names()
    far = means < (background + goal(background)) / 2
    groups = []
    for code in np.unique(columns.type[sampled[far]]):
        mask = far & (columns.type[sampled] == code)
        order = np.argsort(means[mask])
        groups.append(
            {
                "entry_type": names.get(int(code)),
                "count": int(mask.sum()),
                "cosine": round(float(means[mask].mean()), 3),
                "share": round(float(shortfall[mask].sum()) / total, 4),
                "entry_ids": scope.arrays.entry_ids(sampled[mask][order]),
            }
        )
    return by_share(groups, TYPES_LISTED)


def _explain(case: Explanation, details: Details) -> list[Finding]:
    findings = []
    for group in details.get("lonely", []):
        words = shared_words(case.summaries(group["entry_ids"]))
        count, kind = group["count"], group["entry_type"]
        title = ngettext(
            "{count} {type} entry stands apart",
            "{count} {type} entries stand apart",
            count,
        ).format(count=grouped(count), type=kind)
        if words:
            quoted = ", ".join(gettext("“{word}”").format(word=word) for word in words)
            title = f"{title}: {quoted}"
        text = gettext(
            "Their three nearest neighbours are at cosine {near}; random pairs are at "
            "{background}. {count} entries were looked at."
        ).format(
            near=decimal(group["cosine"], 2),
            background=decimal(details["background"], 2),
            count=grouped(details["sampled"]),
        )
        url, label = case.journal_url(entry_type=kind), gettext("Show entries")
        if words:
            url = case.recall_url(" ".join(words))
            label = gettext("Ask recall for them")
        action = Action("open", label, url)
        findings.append(Finding(group["share"], title, text, action, f"type:{kind}"))
    return findings


def shared_words(summaries: Sequence[str]) -> list[str]:
    """Return the two words that most summaries share, at least two of them.

    Of words that as many share, the first in the alphabet.
    """
    counts: Counter[str] = Counter()
    for summary in summaries:
        words = tokenizer.without_stop_words(tokenizer.split(tokenizer.fold(summary)))
        counts.update({w for w in words if len(w) >= WORD_CHARS and w.isalpha()})
    words_by_rank = sorted(counts, key=lambda word: (-counts[word], word))
    return [word for word in words_by_rank[:2] if counts[word] > 1]


METRIC: Final = Metric(
    name=gettext_noop("coherence"),
    title=gettext_noop("Coherence"),
    explanation=gettext_noop(
        "How cleanly memory groups into topics: the nearest neighbours of an entry "
        "against random pairs."
    ),
    weight=0.20,
    inputs=gettext_noop("{near:.2f} near, {background:.2f} background"),
    measure_indexed=_measure,
    explain=_explain,
)
