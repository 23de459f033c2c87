"""Decisions on single rows of a case's plan, as planning and runs read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gdpr.data_map.base import Person
from gdpr.models import Case, RowVerdict, Verdict

# Compaction moves an entry to the archive; a decision on it holds in both places.
_COUNTERPART = {"journal": "archive", "archive": "journal"}


def of(case: Case) -> list[RowVerdict]:
    rows = RowVerdict.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.order_by("place", "row_id"))


def by_place(rows: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return place → row ids; an entry is listed under journal and archive."""
    ids_by_place: dict[str, set[str]] = defaultdict(set)
    for place, row_id in rows:
        ids_by_place[place].add(row_id)
        if place in _COUNTERPART:
            ids_by_place[_COUNTERPART[place]].add(row_id)
    return {place: frozenset(ids) for place, ids in ids_by_place.items()}


def _places(case: Case, verdict: Verdict) -> dict[str, frozenset[str]]:
    rows = (row for row in of(case) if row.verdict == verdict)
    return by_place((row.place, row.row_id) for row in rows)


def spares_planned_row(case: Case, rows: Mapping[str, Iterable[Sequence[str]]]) -> bool:
    """Whether a row that a plan erases was kept by decision since the plan was made."""
    spared_ids = _places(case, Verdict.SPARED)
    return any(
        fate != "keep" and row_id in spared_ids[place]
        for place in spared_ids.keys() & rows.keys()
        for row_id, fate in rows[place]
    )


def with_decisions(person: Person, case: Case) -> Person:
    """Return a person with the decisions of a case on the rows about them."""
    return replace(
        person,
        spared_rows=_places(case, Verdict.SPARED),
        confirmed=_places(case, Verdict.THEIRS),
    )


Rows = Mapping[str, Sequence[Sequence[str]]]


def kept(case: Case, rows: Rows) -> dict[tuple[str, str], int]:
    """Return (place, ground) → how many rows of a plan are kept for it."""
    kept_ids = by_place(
        (place, row[0]) for place in rows for row in rows[place] if row[1] == "keep"
    )
    return Counter(
        (decision.place, str(decision.ground))
        for decision in of(case)
        if decision.verdict == Verdict.SPARED
        and decision.row_id in kept_ids.get(decision.place, ())
    )
