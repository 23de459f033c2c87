"""What was decided on the rows of a case's plan, for whoever plans and runs it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gdpr.data_map.base import Person
from gdpr.models import Case, Ground, RowVerdict, Verdict

# Compaction moves an entry; what was said of it goes along.
_MOVED = {"journal": "archive", "archive": "journal"}


def of(case: Case) -> list[RowVerdict]:
    """Return every decision on a row of a case."""
    rows = RowVerdict.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.order_by("place", "row_id"))


def by_place(rows: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return place → row ids; an entry is in both places where it may lie."""
    found: dict[str, set[str]] = defaultdict(set)
    for place, row_id in rows:
        found[place].add(row_id)
        if place in _MOVED:
            found[_MOVED[place]].add(row_id)
    return {place: frozenset(ids) for place, ids in found.items()}


def _places(case: Case, verdict: Verdict) -> dict[str, frozenset[str]]:
    rows = (row for row in of(case) if row.verdict == verdict)
    return by_place((row.place, row.row_id) for row in rows)


def overrule(case: Case, rows: Mapping[str, Iterable[Sequence[str]]]) -> bool:
    """Whether a row that a plan destroys was spared since the plan was made."""
    spared = _places(case, Verdict.SPARED)
    return any(
        fate != "keep" and row_id in spared[place]
        for place in spared.keys() & rows.keys()
        for row_id, fate in rows[place]
    )


def known_to(person: Person, case: Case) -> Person:
    """Return a person with what was decided on the rows about them."""
    return replace(
        person,
        spared=_places(case, Verdict.SPARED),
        confirmed=_places(case, Verdict.THEIRS),
    )


def grounds(case: Case, rows: dict[str, list[list[str]]]) -> dict[str, int]:
    """Return ground → how many rows of a plan stay for it."""
    kept = by_place(
        (place, row[0]) for place in rows for row in rows[place] if row[1] == "keep"
    )
    spared = (row for row in of(case) if row.verdict == Verdict.SPARED)
    counted = Counter(
        one.ground for one in spared if one.row_id in kept.get(one.place, ())
    )
    return {ground.value: counted[ground] for ground in Ground if counted[ground]}
