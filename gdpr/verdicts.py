"""What was decided on the rows of a case's plan, for whoever plans and runs it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gdpr.holders.base import Person
from gdpr.models import Case, Ground, RowVerdict, Verdict

# Compaction moves an entry; what was said of it goes along.
_MOVED = {"journal": "archive", "archive": "journal"}


def of(case: Case) -> list[RowVerdict]:
    """Return every decision on a row of a case."""
    rows = RowVerdict.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.order_by("place", "row_id"))


def _places(rows: Iterable[RowVerdict]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row.place].add(row.row_id)
        if row.place in _MOVED:
            found[_MOVED[row.place]].add(row.row_id)
    return {place: frozenset(ids) for place, ids in found.items()}


def known_to(person: Person, case: Case) -> Person:
    """Return a person with what was decided on the rows about them."""
    rows = of(case)
    return replace(
        person,
        spared=_places(row for row in rows if row.verdict == Verdict.SPARED),
        confirmed=_places(row for row in rows if row.verdict == Verdict.THEIRS),
    )


def grounds(case: Case, rows: dict[str, list[list[str]]]) -> dict[str, int]:
    """Return ground → how many rows of a plan stay for it."""
    kept = {
        (place, row[0]) for place in rows for row in rows[place] if row[1] == "keep"
    }
    spared = (row for row in of(case) if row.verdict == Verdict.SPARED)
    counted = Counter(one.ground for one in spared if (one.place, one.row_id) in kept)
    return {ground.value: counted[ground] for ground in Ground if counted[ground]}
