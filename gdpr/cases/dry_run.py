"""The dry run: every holder is searched, nothing is changed, the result has a hash.

The hash covers the matching rows, the fate of each, the decisions, and the names
that were searched for. A run starts only while a new dry run has the same hash, so
that exactly what was approved is carried out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gdpr.cases import decided_rows
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import PlanDraft
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.models import Case, CaseKind, CasePlan, RowVerdict
from gdpr.subjects import rectification, suggested_aliases
from memory.journal import append as journal
from memory.rules import entries, errors, hashing
from memory.rules.permissions import Actor
from memory.rules.tokenizer import fold

SAMPLES: Final = 3
# How many doubtful rows a plan shows with a sample; undecided ones come first.
MAX_SHOWN_DOUBTS: Final = 200
AMBIGUOUS: Final = "A word in it may mean somebody else."
KEPT_BY_DECISION: Final = "A person looked at it and said that it stays."
# Places that planning itself changes: the case, sessions, job runs, and so on. Their
# rows are planned and counted; a change in them does not make a plan stale.
VOLATILE: Final = frozenset(
    {
        "cases", "sessions", "jobs", "idempotency", "caches", "exports", "deliveries",
        "decisions",
    }
)  # fmt: skip


@dataclass(slots=True)
class HolderResult:
    """What a dry run found in one place."""

    name: str
    title: str
    derived: bool
    rows: list[RowMatch] = field(default_factory=list)

    def count(self, fate: Fate) -> int:
        """Return how many rows have a fate."""
        return sum(row.fate is fate for row in self.rows)

    def _sampled_rows(self) -> list[RowMatch]:
        """Return a few rows, those with a sample first: holders sample only some."""
        with_text = [row for row in self.rows if row.sample][:SAMPLES]
        return with_text or self.rows[:SAMPLES]

    def as_json(self) -> dict[str, Any]:
        """Return the result for the plan's body."""
        reasons = dict.fromkeys(row.why for row in self.rows)
        return {
            "name": self.name,
            "title": self.title,
            "derived": self.derived,
            "delete": self.count(Fate.DELETE),
            "redact": self.count(Fate.REDACT),
            "keep": self.count(Fate.KEEP),
            "doubtful": sum(row.doubtful for row in self.rows),
            "why": " ".join(list(reasons)[:4]),
            "samples": [_sample(row) for row in self._sampled_rows()],
        }


def _doubt(
    result: HolderResult, row: RowMatch, verdicts: Mapping[tuple[str, str], RowVerdict]
) -> dict[str, Any]:
    """Return a doubtful or decided row for the plan's body, with its decision."""
    verdict = verdicts.get((result.name, row.row_id))
    reason = f"{AMBIGUOUS} {row.why}" if row.doubtful and verdict is None else row.why
    return {
        "place": result.name,
        "title": result.title,
        "why": reason,
        **_sample(row),
        "verdict": verdict.verdict if verdict else None,
        "ground": (verdict.ground or None) if verdict else None,
        "reason": (verdict.reason or None) if verdict else None,
        "decided_by": verdict.decided_by if verdict else None,
    }


def _undecided_ids(lines: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return place → ids of the rows without a decision."""
    ids_by_place: dict[str, list[str]] = {}
    for line in lines:
        if line["verdict"] is None:
            ids_by_place.setdefault(line["place"], []).append(line["id"])
    return ids_by_place


def doubts(plan: CasePlan | None) -> dict[str, Any]:
    """Return the doubtful and decided rows of a plan: total, undecided, ids, rows."""
    none = {"total": 0, "undecided": 0, "ids": {}, "rows": []}
    return {**none, **(plan.body.get("doubts", {}) if plan else {})}


def _sample(row: RowMatch) -> dict[str, Any]:
    return {
        "id": row.row_id,
        "fate": row.fate.value,
        "text": row.sample,
        "at": journal.stamp(row.at) if row.at else None,
    }


@dataclass(frozen=True, slots=True)
class DryRun:
    """What every holder found, and its hash."""

    results: list[HolderResult]
    plan_hash: str
    verdicts: Mapping[tuple[str, str], RowVerdict] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, list[list[str]]]:
        """Return place → [[row id, fate], …] of the places that a run works on."""
        return {
            result.name: [[row.row_id, row.fate.value] for row in result.rows]
            for result in self.results
            if result.rows and not result.derived
        }

    def _reviewed_rows(self) -> Iterator[tuple[HolderResult, RowMatch]]:
        """Yield the rows that need a decision or have one."""
        for result in self.results:
            for row in result.rows if not result.derived else ():
                if row.doubtful or (result.name, row.row_id) in self.verdicts:
                    yield result, row

    def body(self, phrase: str) -> dict[str, Any]:
        """Return the plan's body: counts, samples, doubtful rows; not all ids."""
        holders = [result.as_json() for result in self.results if result.rows]
        own = [item for item in holders if not item["derived"]]
        total = {fate.value: sum(item[fate.value] for item in own) for fate in Fate}
        doubt_lines = [
            _doubt(s, row, self.verdicts) for s, row in self._reviewed_rows()
        ]
        doubt_lines.sort(key=lambda item: item["verdict"] is not None)
        return {
            "doubts": {
                "total": len(doubt_lines),
                "undecided": sum(item["verdict"] is None for item in doubt_lines),
                "ids": _undecided_ids(doubt_lines),
                "rows": doubt_lines[:MAX_SHOWN_DOUBTS],
            },
            "plan_hash": self.plan_hash,
            "phrase": phrase,
            "holders": holders,
            "total": {**total, "rows": sum(total.values())},
        }


# ── Searching ────────────────────────────────────────────────────────────────
def person_of(case: Case) -> Person:
    """Return the person a case is about; Conflict ``subject_gone`` after an erasure."""
    if case.subject is None or case.subject.erased_at is not None:
        detail = "Nothing is kept under this person's names any more."
        raise errors.Conflict(detail, code="subject_gone")
    person = decided_rows.with_decisions(registry.person(case.subject), case)
    if case.kind == CaseKind.RECTIFICATION:
        return rectification.person(person, *rectification.correction_of(case))
    return person


def find_in_holders(
    case: Case, person: Person
) -> Iterable[tuple[Holder, Iterable[RowMatch]]]:
    """Yield every holder with its matches, for the case's kind of request."""
    for holder in registry.ALL:
        if case.kind == CaseKind.RECTIFICATION and holder.name in NOT_RECTIFIED:
            continue
        matches = holder.find(person)
        yield holder, (matches if case.kind in _ACTS else map(_as_kept, matches))


# A correction changes stored texts, not the person's own record or their requests.
NOT_RECTIFIED: Final = frozenset({"subjects", "cases", "decisions", "exports"})
_ACTS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)


def _as_kept(row: RowMatch) -> RowMatch:
    """Return a match of an access or restriction request: it is kept as it is."""
    return replace(row, fate=Fate.KEEP, why="It names the person.")


def look(case: Case, person: Person | None = None) -> DryRun:
    """Search every holder; nothing is changed or stored."""
    target = person or person_of(case)
    results = []
    for holder, matches in find_in_holders(case, target):
        result = HolderResult(holder.name, holder.title, holder.derived)
        rows = (_with_decision(target, holder, row) for row in matches)
        result.rows = sorted(set(rows), key=lambda row: row.row_id)
        results.append(result)
    verdicts = {
        (decision.place, decision.row_id): decision
        for decision in decided_rows.of(case)
    }
    return DryRun(results, _hash(case, target, results), verdicts)


def _with_decision(person: Person, holder: Holder, row: RowMatch) -> RowMatch:
    """Return a row with fate ``keep`` if a person decided that it stays."""
    if holder.derived or not person.is_kept(holder.name, row.row_id):
        return row
    return replace(row, fate=Fate.KEEP, why=KEPT_BY_DECISION)


def _verdict(person: Person, place: str, row: RowMatch) -> str:
    """Return a row's decision for the hash, ``?`` for an undecided doubtful one."""
    if person.is_kept(place, row.row_id):
        return "spared"
    if not row.doubtful:
        return ""
    return "theirs" if person.is_confirmed(place, row.row_id) else "?"


def _hash(case: Case, person: Person, results: Iterable[HolderResult]) -> str:
    key = journal.key()
    names = {
        hashing.keyed_digest(key, f"{name.kind}:{fold(name.value)}")
        for name in person.matcher.names_known
    }
    covered = {
        "case": case.id,
        "subject": case.subject_ref,
        "kind": case.kind,
        "names": sorted(names),
        "correction": case.correction,
        "rows": {
            result.name: sorted([row.row_id, row.fate.value] for row in result.rows)
            for result in results
            if result.rows and not result.derived and result.name not in VOLATILE
        },
        "decided": sorted(
            [result.name, row.row_id, verdict]
            for result in results
            if not result.derived and result.name not in VOLATILE
            for row in result.rows
            if (verdict := _verdict(person, result.name, row))
        ),
    }
    return hashlib.sha256(entries.canonical(covered).encode()).hexdigest()


# ── Storing ──────────────────────────────────────────────────────────────────
def make(case: Case, *, by: Actor, person: Person | None = None) -> CasePlan:
    """Make a dry run and store it as the case's next plan."""
    cases.may_plan(case, by=by)
    target = person or person_of(case)
    dry_run = look(case, target)
    body = dry_run.body(cases.phrase(case, dry_run.plan_hash))
    if case.kind == CaseKind.ERASURE:
        # Show addresses found near the person that are nobody's alias: they would stay.
        ids = {
            result.name: [
                row.row_id
                for row in result.rows
                if target.is_about(result.name, row.row_id, doubtful=row.doubtful)
            ]
            for result in dry_run.results
        }
        body["beside"] = suggested_aliases.plan_lines(
            suggested_aliases.neighbours_of(target, ids)
        )
    return cases.keep_plan(
        case, PlanDraft(dry_run.plan_hash, body, dry_run.rows), by=by
    )


class StalePlan(errors.Conflict):
    """Rows changed since the plan was made; ``changed`` is place → counts."""

    code, title = "stale_plan", "The plan is out of date"
    sentence = "Rows came, went or changed since this plan was made. Plan again."


def require_current(case: Case, plan_hash: str, person: Person | None = None) -> None:
    """Raise StalePlan unless a new dry run has the plan's hash."""
    fresh = look(case, person)
    if fresh.plan_hash == plan_hash:
        return
    plan = cases.latest_plan(case)
    raise StalePlan(changed=changes(plan.rows if plan else {}, fresh.rows))


Rows = Mapping[str, Iterable[Sequence[str]]]


def changes(before: Rows, after: Rows) -> dict[str, dict[str, int]]:
    """Return place → how many rows came, went, or changed their fate."""
    counts_by_place = {}
    for place in sorted({*before, *after}):
        old = {row[0]: row[1] for row in before.get(place, ())}
        new = {row[0]: row[1] for row in after.get(place, ())}
        counts = {
            "came": len(new.keys() - old.keys()),
            "went": len(old.keys() - new.keys()),
            "changed": sum(old[key] != new[key] for key in old.keys() & new.keys()),
        }
        if any(counts.values()):
            counts_by_place[place] = counts
    return counts_by_place


def digest(rows: Rows) -> str:
    """Return the SHA-256 of the ids of rows, for the certificate."""
    ids = sorted(f"{place} {row[0]}" for place in rows for row in rows[place])
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()
