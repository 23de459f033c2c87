"""Two answers to one question, side by side: what entered, left or moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from episodic.recall import ranking
from episodic.recall.request import Mode, Request
from episodic.recall.search import Answer
from memory.journal import append as journal
from memory.models import JournalEntry


@dataclass(frozen=True, slots=True)
class Row:
    """One entry and its rank in both answers; ``change`` is the second's.

    ``expected`` is the rank that was expected of the second.
    """

    entry: JournalEntry
    first: int | None
    second: int | None
    expected: int | None = None

    @property
    def change(self) -> str:
        """What the second does to it: entered, left, up, down, same or absent."""
        if self.first is None and self.second is None:
            return "absent"
        if self.first is None:
            return "entered"
        if self.second is None:
            return "left"
        if self.first == self.second:
            return "same"
        return "up" if self.second < self.first else "down"

    @property
    def places(self) -> int:
        """How many places it moved."""
        return abs((self.first or 0) - (self.second or 0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both answers as one table, in the order of the first, then of the second.

    ``expected`` heads a column between them, "" for none.
    """

    first: str
    second: str
    rows: list[Row]
    degraded: str = ""
    expected: str = ""

    def _count(self, *changes: str) -> int:
        return sum(row.change in changes for row in self.rows)

    @property
    def entered_count(self) -> int:
        """How many the second answer has and the first has not."""
        return self._count("entered")

    @property
    def dropped_count(self) -> int:
        """How many the first answer has and the second has not."""
        return self._count("left")

    @property
    def moved_count(self) -> int:
        """How many have another rank."""
        return self._count("up", "down")


def _name(request: Request, reach: str) -> str:
    """Return how a question was asked, in words; ``reach`` names whose memory."""
    name = request.mode.value
    if request.mode is Mode.HYBRID:
        name = f"{name}, {request.fused_by.value}"
    if request.as_of is not None:
        time = journal.stamp(request.as_of)[:16].replace("T", " ")
        name = gettext("{question}, as of {time}").format(question=name, time=time)
    return f"{reach}, {name}" if reach else name


def table(
    entries: Mapping[str, JournalEntry],
    first: Mapping[str, int],
    second: Mapping[str, int],
    expected: Mapping[str, int] | None = None,
) -> list[Row]:
    """Return a row for each entry with its ranks, in the order of the first."""
    rows = [
        Row(entry, first.get(e), second.get(e), (expected or {}).get(e))
        for e, entry in entries.items()
    ]
    far = len(first) + len(second) + max((*first.values(), *second.values(), 0))
    return sorted(rows, key=lambda row: (row.first or far, row.second or far))


def _ranked(answer: Answer) -> dict[str, tuple[int, JournalEntry]]:
    """Return rank and entry by id; neighbours of hits have no rank and are left out."""
    hits = [hit for hit in answer.hits if ":" not in hit.via]
    return {hit.entry.id: (rank, hit.entry) for rank, hit in enumerate(hits, 1)}


def compare(first: Answer, second: Answer, slugs: Mapping[str, str]) -> Comparison:
    """Return two answers as one table; agents and crews are named where they differ."""
    requests = (first.request, second.request)
    owner_ids = [request.agent_id or request.crew_id or "" for request in requests]
    reaches = [
        slugs.get(owner_id, gettext("whole workspace")) for owner_id in owner_ids
    ]
    if owner_ids[0] == owner_ids[1]:
        reaches = ["", ""]
    first_ranks, second_ranks = _ranked(first), _ranked(second)
    rows = table(
        {e: entry for e, (_, entry) in {**second_ranks, **first_ranks}.items()},
        {e: rank for e, (rank, _) in first_ranks.items()},
        {e: rank for e, (rank, _) in second_ranks.items()},
    )
    return Comparison(
        first=_name(first.request, reaches[0]),
        second=_name(second.request, reaches[1]),
        rows=rows,
        degraded=ranking.degraded_text(
            first.rankings.degraded or second.rankings.degraded
        ),
    )
