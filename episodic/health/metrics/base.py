"""What a metric of memory health is: its declaration, its inputs and its findings.

A metric is a number from 0 to 100, rounded to one decimal, or None where nothing can be
measured: *no data* is neither red nor green, and never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from episodic.index.snapshot import IndexArrays, Rows
from episodic.models import HealthSnapshot
from memory.models import JournalEntry

# Two entries at this cosine or nearer are linked; the same value is full marks.
LINKED_COSINE: Final = 0.80
# Costly metrics look at so many entries, drawn with a fixed seed: a measurement of the
# same memory gives the same numbers.
SAMPLE: Final = 512
SEED: Final = 7


def percent(share: float) -> float:
    """Return a share of 1 as 0 to 100, cut to that range."""
    return round(100 * min(1.0, max(0.0, share)), 1)


def plural(count: int, singular: str, plural_noun: str) -> str:
    """Return a count with its noun in English, for what is stored."""
    return f"{count:,} {singular if count == 1 else plural_noun}"


# ── Measuring ────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Scope:
    """What is measured: a workspace or one of its crews at a moment.

    With ``as_of`` only entries whose own time lies before the moment count: what
    today's index says about the memory of that day.
    """

    workspace_id: str
    crew_id: str | None
    at: datetime
    as_of: bool = False


@dataclass(frozen=True, slots=True)
class IndexedScope:
    """A scope that has vectors: the workspace's arrays and its own rows in them.

    ``crew_id`` is None for the whole workspace.
    """

    at: datetime
    arrays: IndexArrays
    rows: Rows
    crew_id: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric's value, and the inputs that are kept to explain it.

    Inputs name entries and agents by id only: an erased entry's words are gone at once.
    """

    value: float | None
    details: dict[str, Any]


def sample(rows: Rows) -> Rows:
    """Return at most ``SAMPLE`` of the rows, always the same ones."""
    if len(rows) <= SAMPLE:
        return rows
    rng = np.random.default_rng(SEED)
    return np.sort(rng.choice(rows, SAMPLE, replace=False))


def by_share(groups: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return the groups with the largest share of what a metric is short of."""
    return sorted(groups, key=lambda group: -float(group["share"]))[:limit]


# ── Explaining ───────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Action:
    """What a person can do about it: a page to look at (GET) or a fix (POST)."""

    kind: str
    label: str
    url: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that lowers a metric, by its share of what the metric is short of.

    ``key`` names it from one snapshot to the next, within its metric; without it nobody
    can accept it. ``repair`` is the kind of repair that raises the metric by it; empty
    for what nothing here cures.
    """

    share: float
    title: str
    text: str
    action: Action
    key: str = ""
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A snapshot being explained, and the slugs of its workspace's agents by id.

    Without ``quotes`` no entry is read, for lists of many scopes.
    """

    snapshot: HealthSnapshot
    agents: Mapping[str, str]
    quotes: bool = True

    def summaries(self, entry_ids: Sequence[str]) -> list[str]:
        """Return the summaries of entries that still have their text."""
        if not self.quotes:
            return []
        rows = JournalEntry.objects.filter(
            workspace_id=self.snapshot.workspace_id,
            pk__in=entry_ids,
            erased_at__isnull=True,
        )
        return list(rows.order_by("pk").values_list("summary", flat=True))

    def journal_url(self, **filters: str | None) -> str:
        """Return the address of the list of entries behind a finding, whoever wrote."""
        return self._url("memory:journal", {**filters, "show": "all"})

    def recall_url(self, query: str, agent_id: str | None = None) -> str:
        """Return the address of a recall of some words, by an agent of the scope."""
        return self._url("episodic:recall", {"query": query, "agent_id": agent_id})

    def questions_url(self, **filters: str | None) -> str:
        """Return the address of the recall log, which knows no crews."""
        url, query = (
            reverse("episodic:questions"),
            urlencode({name: value for name, value in filters.items() if value}),
        )
        return f"{url}?{query}" if query else url

    def fix(self, kind: str, label: str) -> Action:
        """Return a fix of the health page for the snapshot's scope."""
        return Action(kind, label, self._url("health:fix", {}, kind), "POST")

    def _url(self, name: str, params: dict[str, str | None], *args: str) -> str:
        params |= {"crew_id": self.snapshot.crew_id}
        query = urlencode({name: value for name, value in params.items() if value})
        url = reverse(name, args=args)
        return f"{url}?{query}" if query else url


Details = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Metric:
    """The declaration of one metric; everything about health is derived from it.

    Its words are marked for translation and translated where they are shown.

    ``inputs`` words the details in a few words (a ``str.format`` template over them),
    ``fixes`` are the kinds of fix that raise the metric, and ``embedder_failed`` says
    whether its details show entries that the embedder refused. A metric has one of the
    two measuring functions: ``measure_indexed`` is called only where there are vectors.
    """

    name: str
    title: str
    explanation: str
    weight: float
    inputs: str
    explain: Callable[[Explanation, Details], list[Finding]]
    measure: Callable[[Scope], Measurement] | None = None
    measure_indexed: Callable[[IndexedScope], Measurement] | None = None
    fixes: tuple[str, ...] = ()
    embedder_failed: Callable[[Details], bool] = lambda _: False
