"""The dry run: every holder is searched, nothing is changed, the result has a hash.

The hash covers the matching rows, the fate of each, the decisions, and the names
that were searched for. A run starts only while a new dry run has the same hash, so
that exactly what was approved is carried out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.utils.translation import gettext, gettext_noop

from gdpr.cases import decided_rows
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import PlanDraft
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.matching import forms
from gdpr.models import Case, CaseKind, CasePlan, RowVerdict, Verdict
from gdpr.subjects import card_names, rectification, suggested_aliases
from memory.journal import append as journal
from memory.rules import entries, errors, hashing
from memory.rules.permissions import Actor
from memory.rules.tokenizer import fold

SAMPLES: Final = 3
# How many doubtful rows a plan shows with a sample; undecided ones come first.
MAX_SHOWN_DOUBTS: Final = 200
# Reasons are stored in English, and translated where they are shown.
AMBIGUOUS: Final = gettext_noop("A word in it may mean somebody else.")
# Of a doubtful row whose text has one of the person's names as it is registered.
WORD: Final = "as_registered"
KEPT_BY_DECISION: Final = gettext_noop("A person looked at it and said that it stays.")
NAMES_THE_PERSON: Final = gettext_noop("It names the person.")
# Places that planning itself changes: the case, sessions, job runs, and so on. Their
# rows are planned and counted; a change in them does not make a plan stale.
VOLATILE: Final = frozenset(
    {
        "cases", "sessions", "jobs", "idempotency", "caches", "exports", "deliveries",
        "decisions", "letters",
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
        return sum(row.fate is fate for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the result for the plan's body."""
        reasons = dict.fromkeys(row.why for row in self.rows)
        # Holders sample only some rows.
        sampled = [row for row in self.rows if row.sample] or self.rows
        return {
            "name": self.name,
            "title": self.title,
            "derived": self.derived,
            "delete": self.count(Fate.DELETE),
            "redact": self.count(Fate.REDACT),
            "keep": self.count(Fate.KEEP),
            "doubtful": sum(row.doubtful for row in self.rows),
            "why": " ".join(list(reasons)[:4]),
            "samples": [_sample(row) for row in sampled[:SAMPLES]],
        }


def _doubt(
    result: HolderResult, row: RowMatch, verdicts: Mapping[tuple[str, str], RowVerdict]
) -> dict[str, Any]:
    """Return a doubtful or decided row for the plan's body, with its decision."""
    verdict = verdicts.get((result.name, row.row_id))
    is_open = row.doubtful and verdict is None
    return {
        "place": result.name,
        "title": result.title,
        "why": f"{reason(row.form)} {row.why}" if is_open else row.why,
        "form": row.form,
        **_sample(row),
        "verdict": verdict.verdict if verdict else None,
        "ground": (verdict.ground or None) if verdict else None,
        "reason": (verdict.reason or None) if verdict else None,
        "decided_by": verdict.decided_by if verdict else None,
    }


def reason(form: str) -> str:
    """Return why a row is in doubt, by the form of the name in it."""
    return AMBIGUOUS if form in ("", WORD) else forms.sentence(form)


def doubts(plan: CasePlan | None) -> dict[str, Any]:
    """Return the doubtful and decided rows of a plan: total, undecided, ids, rows.

    ``by_form`` has the ids of the undecided ones by form and place, ``ids`` by place.
    """
    none: dict[str, Any] = {"total": 0, "undecided": 0, "rows": []}
    none |= {"proposed": {}, "by_form": {}, "ids": {}}
    doubts_json = {**none, **(plan.body.get("doubts", {}) if plan else {})}
    if doubts_json["ids"]:
        # A plan of an earlier release has no forms.
        return {**doubts_json, "by_form": {WORD: doubts_json["ids"]}}
    for by_place in doubts_json["by_form"].values():
        for place, ids in by_place.items():
            doubts_json["ids"] = {
                **doubts_json["ids"],
                place: [*doubts_json["ids"].get(place, ()), *ids],
            }
    return doubts_json


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

    def proposed(self) -> dict[str, int]:
        """Return how many rows may be about somebody else, and what was decided."""
        verdicts = Counter(
            row_verdict.verdict if row_verdict else "undecided"
            for result in self.results
            if not result.derived
            for row in result.rows
            if row.doubtful
            for row_verdict in [self.verdicts.get((result.name, row.row_id))]
        )
        return {
            "rows": verdicts.total(),
            "erased": verdicts[Verdict.THEIRS],
            "kept": verdicts[Verdict.SPARED],
        }

    def body(self, phrase: str) -> dict[str, Any]:
        """Return the plan's body: counts, samples, doubtful rows; not all ids."""
        holders = [result.as_json() for result in self.results if result.rows]
        own = [item for item in holders if not item["derived"]]
        total = {fate.value: sum(item[fate.value] for item in own) for fate in Fate}
        lines = [
            _doubt(result, row, self.verdicts)
            for result in self.results
            if not result.derived
            for row in result.rows
            if row.doubtful or (result.name, row.row_id) in self.verdicts
        ]
        lines.sort(key=lambda line: (line["verdict"] is not None, line["form"]))
        undecided_rows = [line for line in lines if line["verdict"] is None]
        by_form: dict[str, dict[str, list[str]]] = {}
        for line in undecided_rows:
            by_place = by_form.setdefault(line["form"] or WORD, {})
            by_place.setdefault(line["place"], []).append(line["id"])
        return {
            "doubts": {
                "total": len(lines),
                "undecided": len(undecided_rows),
                "proposed": self.proposed(),
                "by_form": by_form,
                "rows": lines[:MAX_SHOWN_DOUBTS],
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
        detail = gettext("Nothing is kept under this person's names any more.")
        raise errors.Conflict(detail, code="subject_gone")
    person = decided_rows.with_decisions(registry.person(case.subject), case)
    if case.kind == CaseKind.RECTIFICATION:
        return rectification.person(person, *rectification.correction_of(case))
    return person


# A correction changes stored texts, not the person's own record or their requests. A
# bundle made before it has the wrong words and is deleted, a letter stays as it went.
NOT_RECTIFIED: Final = frozenset({"subjects", "cases", "decisions", "letters"})
_ACTS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)


def look(case: Case, person: Person | None = None) -> DryRun:
    """Search every holder; nothing is changed or stored."""
    person = person or person_of(case)
    results = []
    for holder in registry.ALL:
        if case.kind == CaseKind.RECTIFICATION and holder.name in NOT_RECTIFIED:
            continue
        matches = decided_rows.with_reported(case, person, holder, holder.find(person))
        rows = {_planned(case, person, holder, row) for row in matches}
        result = HolderResult(holder.name, holder.title, holder.derived)
        result.rows = sorted(rows, key=lambda row: row.row_id)
        results.append(result)
    verdicts = {(row.place, row.row_id): row for row in decided_rows.of(case)}
    return DryRun(results, _hash(case, person, results), verdicts)


def _planned(case: Case, person: Person, holder: Holder, row: RowMatch) -> RowMatch:
    """Return a row with the fate that the kind of request and decisions give it."""
    if not holder.derived and person.is_kept(holder.name, row.row_id):
        return replace(row, fate=Fate.KEEP, why=KEPT_BY_DECISION)
    if case.kind not in _ACTS:
        return replace(row, fate=Fate.KEEP, why=NAMES_THE_PERSON)
    return row


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
def make(case: Case, *, by: Actor) -> CasePlan:
    """Make a dry run and store it as the case's next plan."""
    cases.may_plan(case, by=by)
    if case.subject is not None and case.kind != CaseKind.RECTIFICATION:
        card_names.register(case.subject, by=by)
    person = person_of(case)
    dry_run = look(case, person)
    body = dry_run.body(cases.phrase(case, dry_run.plan_hash))
    if case.kind == CaseKind.ERASURE:
        # Show addresses found near the person that are nobody's alias: they would stay.
        ids = {
            result.name: [
                row.row_id
                for row in result.rows
                if person.is_about(result.name, row.row_id, doubtful=row.doubtful)
            ]
            for result in dry_run.results
        }
        # Of an address the plan has the digest.
        body["beside"] = [
            {"kind": neighbour.kind, "key": neighbour.key, "rows": neighbour.rows}
            for neighbour in suggested_aliases.neighbours_of(person, ids)
        ]
    return cases.keep_plan(
        case, PlanDraft(dry_run.plan_hash, body, dry_run.rows), by=by
    )


class StalePlan(errors.Conflict):
    """Rows changed since the plan was made; ``changed`` is place → counts."""

    code, title = "stale_plan", gettext_noop("The plan is out of date")
    sentence = gettext_noop(
        "Rows came, went or changed since this plan was made. Plan again."
    )


def require_current(case: Case, plan_hash: str) -> None:
    """Raise StalePlan unless a new dry run has the plan's hash."""
    fresh = look(case)
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
