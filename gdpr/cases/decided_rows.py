"""Decisions on single rows of a case's plan, as planning and runs read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.utils.translation import gettext_noop

from gdpr.data_map import memory_files, row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.data_map.table_holder import Rule, TableHolder
from gdpr.models import Case, CaseKind, RowVerdict, Verdict
from gdpr.verification import second_samples, second_search
from memory.models import MemoryFile

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


# ── What only the second matcher found ───────────────────────────────────────
GOES_WHOLE: Final = gettext_noop(
    "Only the second matcher of the last run found the name; as theirs, the row is"
    " deleted as a whole."
)
STAYS: Final = gettext_noop(
    "Only the second matcher of the last run found the name, so that it cannot be"
    " masked; correct the text where it stands, or decide that it stays."
)
# The key in the result of a case: place → where the second matcher found a row.
ONLY_SECOND: Final = "only_second"
# As many rows of a place are shown with a sample.
MAX_SAMPLES: Final = 200
# Rows of the requests themselves are never kept by decision.
_NEVER_OFFERED: Final = frozenset({"subjects", "cases", "decisions", "exports"})


def with_reported(
    case: Case, person: Person, holder: Holder, rows: Iterable[RowMatch]
) -> Iterator[RowMatch]:
    """Yield rows, then those that only the second matcher found after the last run."""
    ids = set()
    for row in rows:
        ids.add(row.row_id.rstrip(memory_files.LINES_MARK + memory_files.CARD_MARK))
        yield row
    if case.kind != CaseKind.ERASURE or holder.derived or holder.name in _NEVER_OFFERED:
        return
    offered = [item for item in _reported(case, holder) if item.row_id not in ids]
    samples = second_samples.of(person, [item.where for item in offered[:MAX_SAMPLES]])
    for item in offered:
        reason = GOES_WHOLE if item.fate is Fate.DELETE else STAYS
        sample = samples.get(item.where, "")
        yield RowMatch(item.row_id, item.fate, reason, sample=sample, doubtful=True)


@dataclass(frozen=True, slots=True)
class _Reported:
    """A row in the second matcher's traces; ``where`` is as in the trace."""

    row_id: str
    fate: Fate
    where: str


def _traced(case: Case, place: str) -> list[str]:
    """Return where the second matcher found something in a place after the last run."""
    by_place = case.result.get(ONLY_SECOND)
    if by_place is not None:
        return list(by_place.get(place, ()))
    # The result of an earlier release has the first traces only.
    return [
        trace["where"]
        for trace in case.result.get("residue", {}).get("traces", ())
        if trace["what"] == second_search.BY_SECOND and trace["place"] == place
    ]


def _reported(case: Case, holder: Holder) -> list[_Reported]:
    """Return the rows of a place in the second matcher's traces, each once."""
    reported: dict[str, _Reported] = {}
    declarations = holder.declarations if isinstance(holder, TableHolder) else ()
    for where in _traced(case, holder.name):
        table, key, parent = second_search.row_of(where)
        row_id, fate = parent or key, Fate.DELETE
        for number, declared in enumerate(declarations):
            if declared.model._meta.db_table == table and not parent:
                row_id = f"{declared.key}:{key}" if number else key
                fate = Fate.REDACT if declared.rule is Rule.MASKED else fate
        reported[row_id] = _Reported(row_id, fate, where)
    if holder.name != memory_files.PLACE:
        return list(reported.values())
    ids: set[str] = set()
    for part in row_text.batches(list(reported)):
        files = MemoryFile.objects.filter(workspace_id=case.workspace_id, pk__in=part)
        ids.update(files.values_list("pk", flat=True))
    return [replace(reported[pk], fate=Fate.REDACT) for pk in sorted(ids)]
