"""Measuring memory health: every input of the five metrics, and what stands behind it.

The vectors come from the process's matrix; whatever cannot be read raises, so that a
broken query never becomes a zero. What is kept of a measurement names entries and
agents by id only: their words are read again when a person looks, and an erased entry
is gone from there at once.

Coherence looks at 512 entries drawn with a fixed seed and at 4,096 random pairs, so a
measurement of the same memory gives the same numbers. Recalls are not stored (they
would be a log of what people asked), so Efficiency asks with what is there: the vector
of each of the 64 newest entries, inside its crew, itself left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np
from django.db.models import F, QuerySet

from episodic.health import bands
from episodic.index import engine
from episodic.index.snapshot import CHUNK, Held, Rows
from episodic.models import Embedding, State
from episodic.vectors import cosine
from memory.journal.visibility import USABLE
from memory.models import JournalEntry

SAMPLE: Final = 512
PAIRS: Final = 4_096
QUESTIONS: Final = 64
SEED: Final = 7
POOR_COSINE: Final = 0.40
DAY_MS: Final = 86_400_000


@dataclass(slots=True)
class Measured:
    """The metrics of one scope at one moment, and their inputs."""

    metrics: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


# ── The whole ────────────────────────────────────────────────────────────────
def measure(
    workspace_id: str,
    crew_id: str | None,
    held: Held | None,
    at: datetime,
    *,
    as_of: bool = False,
) -> Measured:
    """Measure a workspace or one of its crews.

    With ``as_of`` only entries whose own time lies before the moment count: what
    today's index says about the memory of that day.
    """
    done = Measured()
    _coverage(done, workspace_id, crew_id, at if as_of else None)
    rows = held.rows(crew_id, at) if held else np.empty(0, dtype=np.int64)
    if held is None or not len(rows):
        for name in bands.METRICS:
            done.metrics.setdefault(name, None)
    else:
        _freshness(done, held, rows, at)
        _coherence(done, held, rows)
        _efficiency(done, held, rows)
        _reachability(done, held, rows)
    done.metrics = {name: done.metrics[name] for name in bands.METRICS}
    done.details["known_weight"] = round(bands.known_weight(done.metrics), 2)
    done.details["model"] = engine.embedder().model or None
    return done


def _coverage(
    done: Measured, workspace_id: str, crew_id: str | None, until: datetime | None
) -> None:
    entries = JournalEntry.objects.filter(
        USABLE, workspace_id=workspace_id, embeddable=True, erased_at__isnull=True
    )
    rows = Embedding.objects.filter(
        workspace_id=workspace_id,
        entry__embeddable=True,
        entry__erased_at__isnull=True,
    ).exclude(state=State.WITHHELD)
    if crew_id:
        entries, rows = entries.filter(crew_id=crew_id), rows.filter(crew_id=crew_id)
    if until:
        entries, rows = entries.filter(ts__lte=until), rows.filter(entry__ts__lte=until)
    model = engine.embedder().model
    embeddable = entries.count()
    indexed = rows.filter(state=State.INDEXED, model=model).count()
    done.metrics["coverage"] = bands.coverage(indexed, embeddable)
    done.details["coverage"] = {
        "indexed": indexed,
        "embeddable": embeddable,
        "unread": max(0, embeddable - rows.count()),
        "missing": _missing(rows.exclude(state=State.INDEXED, model=model)),
    }


def _missing(rows: QuerySet[Embedding]) -> list[dict[str, Any]]:
    """Return what has no vector, by type, state and the embedder's reason."""
    counts: Counter[tuple[str, str, str]] = Counter()
    told = rows.annotate(kind=F("entry__entry_type")).order_by()
    for kind, state, error in told.values_list("kind", "state", "last_error").iterator(
        chunk_size=CHUNK
    ):
        counts[kind, state, error.partition(":")[0]] += 1
    return [
        {"entry_type": kind, "state": state, "reason": reason, "count": count}
        for (kind, state, reason), count in counts.most_common(12)
    ]


# ── The metrics over vectors ─────────────────────────────────────────────────
def _freshness(done: Measured, held: Held, rows: Rows, at: datetime) -> None:
    columns = held.view.columns
    ages = np.maximum(0.0, (at.timestamp() * 1000 - columns.ts[rows]) / DAY_MS)
    median = float(np.median(ages))
    stale = 1 - 2 ** (-ages / bands.HALF_LIFE_DAYS)
    names, whole = held.matrix.agents.names(), float(stale.sum()) or 1.0
    agents = [
        {
            "agent_id": names.get(int(code)),
            "entries": int((mine := columns.agent[rows] == code).sum()),
            "newest_days": round(float(ages[mine].min()), 2),
            "median_days": round(float(np.median(ages[mine])), 2),
            "share": round(float(stale[mine].sum()) / whole, 4),
        }
        for code in np.unique(columns.agent[rows])
    ]
    agents.sort(key=lambda one: -float(str(one["share"])))
    done.metrics["freshness"] = bands.freshness(median)
    done.details["freshness"] = {
        "median_days": round(median, 2),
        "entries": len(rows),
        "agents": agents[:12],
    }


def _sample(rows: Rows) -> Rows:
    if len(rows) <= SAMPLE:
        return rows
    rng = np.random.default_rng(SEED)
    return np.sort(rng.choice(rows, SAMPLE, replace=False))


def _coherence(done: Measured, held: Held, rows: Rows) -> None:
    columns, asking = held.view.columns, _sample(rows)
    if len(rows) < bands.LEAST_ENTRIES:
        done.metrics["coherence"] = None
        done.details["coherence"] = {"entries": len(rows)}
        return
    best = cosine.top(columns.vectors, rows, asking, bands.NEIGHBOURS)
    rng = np.random.default_rng(SEED)
    pairs = cosine.background(columns.vectors, rows, PAIRS, rng)
    means = best.mean(axis=1)
    near = float(means.mean())
    done.metrics["coherence"] = bands.coherence(near, pairs)
    done.details["coherence"] = {
        "near": round(near, 4),
        "background": round(pairs, 4),
        "sampled": len(asking),
        "lonely": _lonely(held, asking, means, pairs),
    }


def _lonely(
    held: Held, asking: Rows, means: cosine.Floats, background: float
) -> list[dict[str, Any]]:
    """Return, by entry type, what stands far from its nearest neighbours."""
    columns, goal = held.view.columns, bands.goal(background)
    short = np.maximum(0.0, goal - means)
    whole, names = float(short.sum()) or 1.0, held.matrix.types.names()
    far = means < (background + goal) / 2
    groups = []
    for code in np.unique(columns.type[asking[far]]):
        mine = far & (columns.type[asking] == code)
        order = np.argsort(means[mine])
        groups.append(
            {
                "entry_type": names.get(int(code)),
                "count": int(mine.sum()),
                "cosine": round(float(means[mine].mean()), 3),
                "share": round(float(short[mine].sum()) / whole, 4),
                "entry_ids": held.named(asking[mine][order]),
            }
        )
    return sorted(groups, key=lambda one: -float(str(one["share"])))[:6]


def _efficiency(done: Measured, held: Held, rows: Rows) -> None:
    columns = held.view.columns
    if len(rows) < 2:
        done.metrics["efficiency"] = None
        done.details["efficiency"] = {"entries": len(rows)}
        return
    asking = rows[np.argsort(-columns.ts[rows], kind="stable")[:QUESTIONS]]
    crews = columns.crew[: held.view.size]
    best = cosine.top(columns.vectors, rows, asking, bands.TOP_K, crews)
    cosines = np.where(best == cosine.NOWHERE, np.nan, np.clip(best, 0, 1))
    empty = np.isnan(cosines).all(axis=1)
    cosines[empty, 0] = 0.0
    means = np.nanmean(cosines, axis=1)
    poor = np.where(empty, 0.0, best[:, 0]) < POOR_COSINE
    short = np.maximum(0.0, bands.LINKED_COSINE - means)
    whole, mean = float(short.sum()) or 1.0, float(means.mean())
    done.metrics["efficiency"] = bands.efficiency(mean)
    done.details["efficiency"] = {
        "mean_cosine": round(mean, 4),
        "questions": len(asking),
        "from": "newest entries, each asked in its crew",
        "poor": {
            "count": int(poor.sum()),
            "share": round(float(short[poor].sum()) / whole, 4),
            "entry_ids": held.named(asking[poor]),
        },
        "rest": _by_agent(held, asking[~poor], short[~poor], means[~poor], whole),
    }


def _by_agent(
    held: Held, asking: Rows, short: Any, means: Any, whole: float
) -> list[dict[str, Any]]:
    """Return whose questions find answers that are near, but not near enough."""
    codes, names = held.view.columns.agent[asking], held.matrix.agents.names()
    groups = [
        {
            "agent_id": names.get(int(code)),
            "count": int((mine := codes == code).sum()),
            "cosine": round(float(means[mine].mean()), 3),
            "share": round(float(short[mine].sum()) / whole, 4),
            "entry_ids": held.named(asking[mine][np.argsort(means[mine])])[:1],
        }
        for code in np.unique(codes)
    ]
    return sorted(groups, key=lambda one: -float(str(one["share"])))[:3]


def _reachability(done: Measured, held: Held, rows: Rows) -> None:
    columns, here = held.view.columns, np.zeros(held.view.size + 1, dtype=np.bool_)
    here[rows] = True
    everywhere = held.edges[(held.edges < held.view.size).all(axis=1)]
    # Row −1 is the spare last place: an end without a vector reaches the other one.
    other = everywhere[:, ::-1]
    joined = np.zeros_like(here)
    limit = columns.ts[rows].max()
    early = (other == -1) | (columns.ts[other] <= limit)
    joined[everywhere[early]] = True
    alone = here & ~joined
    connected = len(rows) - int(alone[:-1].sum())
    done.metrics["reachability"] = bands.reachability(connected, len(rows))
    types, names = columns.type[: held.view.size], held.matrix.types.names()
    codes = types[alone[:-1]]
    counts = Counter(int(code) for code in codes)
    done.details["reachability"] = {
        "connected": connected,
        "embeddings": len(rows),
        **_linkable(held, rows[alone[rows]]),
        "alone": [
            {
                "entry_type": names.get(code),
                "count": count,
                "entry_ids": held.named(np.flatnonzero(alone[:-1] & (types == code))),
            }
            for code, count in counts.most_common(6)
        ],
    }


def _linkable(held: Held, alone: Rows) -> dict[str, int]:
    """Return how many lonely entries have an older one near enough in their crew."""
    columns, asking = held.view.columns, _sample(alone)
    if not len(asking):
        return {"alone_sampled": 0, "linkable_sampled": 0}
    everyone = np.flatnonzero(columns.alive[: held.view.size])
    crews = columns.crew[: held.view.size]
    best = cosine.top(columns.vectors, everyone, asking, 1, crews, columns.ts)
    near = int((best[:, 0] >= bands.LINKED_COSINE).sum())
    return {"alone_sampled": len(asking), "linkable_sampled": near}
