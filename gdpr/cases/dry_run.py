"""The dry run: every holder is asked, nothing is touched, and the answer has a hash.

The hash covers which rows there are, what would become of each, and under which names
they were looked for. A run begins only while a new dry run comes to the same hash, so
that nobody approves one thing and gets another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gdpr.cases import decided_rows
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import PlanMade
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Found, Holder, Person
from gdpr.models import Case, CaseKind, CasePlan, RowVerdict
from gdpr.subjects import rectification, suggested_aliases
from memory.journal import append as journal
from memory.rules import entries, errors, hashing
from memory.rules.permissions import Actor
from memory.rules.tokenizer import fold

SAMPLES: Final = 3
# So many doubtful rows are shown with their words; those that wait come first.
LISTED: Final = 200
MAYBE: Final = "A word in it may mean somebody else."
SPARED: Final = "A person looked at it and said that it stays."
# What changes because somebody plans: the case itself, who is signed in, what we did.
# Their rows are planned and counted; a change in them makes no plan stale.
RESTLESS: Final = frozenset(
    {
        "cases", "sessions", "jobs", "idempotency", "caches", "exports", "deliveries",
        "decisions",
    }
)  # fmt: skip


@dataclass(slots=True)
class Share:
    """What a dry run found in one place."""

    name: str
    title: str
    derived: bool
    rows: list[Found] = field(default_factory=list)

    def count(self, fate: Fate) -> int:
        """Return how many rows share a fate."""
        return sum(row.fate is fate for row in self.rows)

    def _shown(self) -> list[Found]:
        """Return a few rows; a holder finds the words of some only."""
        spoken = [row for row in self.rows if row.sample][:SAMPLES]
        return spoken or self.rows[:SAMPLES]

    def told(self) -> dict[str, Any]:
        """Return the share as people read it."""
        whys = dict.fromkeys(row.why for row in self.rows)
        return {
            "name": self.name,
            "title": self.title,
            "derived": self.derived,
            "delete": self.count(Fate.DELETE),
            "redact": self.count(Fate.REDACT),
            "keep": self.count(Fate.KEEP),
            "doubtful": sum(row.doubtful for row in self.rows),
            "why": " ".join(list(whys)[:4]),
            "samples": [_sample(row) for row in self._shown()],
        }


def _doubt(
    share: Share, row: Found, known: Mapping[tuple[str, str], RowVerdict]
) -> dict[str, Any]:
    """Return a row on which a person decides, and what was said of it."""
    said = known.get((share.name, row.row_id))
    why = f"{MAYBE} {row.why}" if row.doubtful and said is None else row.why
    return {
        "place": share.name,
        "title": share.title,
        "why": why,
        **_sample(row),
        "verdict": said.verdict if said else None,
        "ground": (said.ground or None) if said else None,
        "reason": (said.reason or None) if said else None,
        "decided_by": said.decided_by if said else None,
    }


def _waiting(told: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return place → the rows that nobody decided on."""
    found: dict[str, list[str]] = {}
    for one in told:
        if one["verdict"] is None:
            found.setdefault(one["place"], []).append(one["id"])
    return found


def doubts(plan: CasePlan | None) -> dict[str, Any]:
    """Return what a plan says of the rows that a person decides on."""
    none = {"total": 0, "undecided": 0, "ids": {}, "rows": []}
    return {**none, **(plan.body.get("doubts", {}) if plan else {})}


def _sample(row: Found) -> dict[str, Any]:
    return {
        "id": row.row_id,
        "fate": row.fate.value,
        "text": row.sample,
        "at": journal.stamp(row.at) if row.at else None,
    }


@dataclass(frozen=True, slots=True)
class DryRun:
    """What every holder found, and its hash."""

    shares: list[Share]
    plan_hash: str
    verdicts: Mapping[tuple[str, str], RowVerdict] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, list[list[str]]]:
        """Return place → [[row id, fate], …]: what a run will do."""
        return {
            share.name: [[row.row_id, row.fate.value] for row in share.rows]
            for share in self.shares
            if share.rows and not share.derived
        }

    def _judged(self) -> Iterator[tuple[Share, Found]]:
        """Return the rows that a person decides on, or decided."""
        for share in self.shares:
            for row in share.rows if not share.derived else ():
                if row.doubtful or (share.name, row.row_id) in self.verdicts:
                    yield share, row

    def body(self, phrase: str) -> dict[str, Any]:
        """Return the plan as people read it."""
        holders = [share.told() for share in self.shares if share.rows]
        own = [one for one in holders if not one["derived"]]
        total = {fate.value: sum(one[fate.value] for one in own) for fate in Fate}
        told = [_doubt(s, row, self.verdicts) for s, row in self._judged()]
        told.sort(key=lambda one: one["verdict"] is not None)
        return {
            "doubts": {
                "total": len(told),
                "undecided": sum(one["verdict"] is None for one in told),
                "ids": _waiting(told),
                "rows": told[:LISTED],
            },
            "plan_hash": self.plan_hash,
            "phrase": phrase,
            "holders": holders,
            "total": {**total, "rows": sum(total.values())},
        }


# ── Looking ──────────────────────────────────────────────────────────────────
def whom(case: Case) -> Person:
    """Return whom a case looks for; Conflict ``subject_gone`` when nobody is left."""
    if case.subject is None or case.subject.erased_at is not None:
        detail = "Nothing is kept under this person's names any more."
        raise errors.Conflict(detail, code="subject_gone")
    who = decided_rows.known_to(registry.person(case.subject), case)
    if case.kind == CaseKind.RECTIFICATION:
        return rectification.person(who, *rectification.told(case))
    return who


def asked(case: Case, person: Person) -> Iterable[tuple[Holder, Iterable[Found]]]:
    """Return every place with what it finds, as this kind of request needs it."""
    for holder in registry.ALL:
        if case.kind == CaseKind.RECTIFICATION and holder.name in UNTOUCHED:
            continue
        found = holder.find(person)
        yield holder, (found if case.kind in _ACTS else map(_kept, found))


# A correction changes what was remembered, not who the person is or what was asked.
UNTOUCHED: Final = frozenset({"subjects", "cases", "decisions", "exports"})
_ACTS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)


def _kept(row: Found) -> Found:
    """Return a row as access and restriction see it: nothing becomes of it."""
    return replace(row, fate=Fate.KEEP, why="It names the person.")


def look(case: Case, person: Person | None = None) -> DryRun:
    """Ask every holder; nothing is changed and nothing is kept."""
    who = person or whom(case)
    shares = []
    for holder, found in asked(case, who):
        share = Share(holder.name, holder.title, holder.derived)
        rows = (_judged(who, holder, row) for row in found)
        share.rows = sorted(set(rows), key=lambda row: row.row_id)
        shares.append(share)
    known = {(one.place, one.row_id): one for one in decided_rows.of(case)}
    return DryRun(shares, _hash(case, who, shares), known)


def _judged(person: Person, holder: Holder, row: Found) -> Found:
    """Return a row as a person decided: one that stays is kept."""
    if holder.derived or not person.has_spared(holder.name, row.row_id):
        return row
    return replace(row, fate=Fate.KEEP, why=SPARED)


def _verdict(person: Person, place: str, row: Found) -> str:
    """Return what was decided on a row; a mark for a doubtful one that waits."""
    if person.has_spared(place, row.row_id):
        return "spared"
    if not row.doubtful:
        return ""
    return "theirs" if person.has_confirmed(place, row.row_id) else "?"


def _hash(case: Case, person: Person, shares: Iterable[Share]) -> str:
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
            share.name: sorted([row.row_id, row.fate.value] for row in share.rows)
            for share in shares
            if share.rows and not share.derived and share.name not in RESTLESS
        },
        "decided": sorted(
            [share.name, row.row_id, verdict]
            for share in shares
            if not share.derived and share.name not in RESTLESS
            for row in share.rows
            if (verdict := _verdict(person, share.name, row))
        ),
    }
    return hashlib.sha256(entries.canonical(covered).encode()).hexdigest()


# ── Keeping ──────────────────────────────────────────────────────────────────
def make(case: Case, *, by: Actor, person: Person | None = None) -> CasePlan:
    """Make a dry run and keep it as the case's next plan."""
    cases.may_plan(case, by=by)
    who = person or whom(case)
    found = look(case, who)
    body = found.body(cases.phrase(case, found.plan_hash))
    if case.kind == CaseKind.ERASURE:
        # Who decides should know what would be left, because nobody registered it.
        ids = {
            share.name: [
                row.row_id
                for row in share.rows
                if who.goes(share.name, row.row_id, doubtful=row.doubtful)
            ]
            for share in found.shares
        }
        body["beside"] = suggested_aliases.told(suggested_aliases.found(who, ids))
    return cases.keep_plan(case, PlanMade(found.plan_hash, body, found.rows), by=by)


class StalePlan(errors.Conflict):
    """The world moved since the plan was made; ``changed`` says where, and how much."""

    code, title = "stale_plan", "The plan is out of date"
    sentence = "Rows came, went or changed since this plan was made. Plan again."


def must_fit(case: Case, plan_hash: str, person: Person | None = None) -> None:
    """Refuse a plan that a new dry run does not come to, with what changed."""
    fresh = look(case, person)
    if fresh.plan_hash == plan_hash:
        return
    plan = cases.latest_plan(case)
    raise StalePlan(changed=changes(plan.rows if plan else {}, fresh.rows))


Rows = Mapping[str, Iterable[Sequence[str]]]


def changes(before: Rows, after: Rows) -> dict[str, dict[str, int]]:
    """Return place → how many rows came, went, or have another fate now."""
    told = {}
    for place in sorted({*before, *after}):
        old = {row[0]: row[1] for row in before.get(place, ())}
        new = {row[0]: row[1] for row in after.get(place, ())}
        counts = {
            "came": len(new.keys() - old.keys()),
            "went": len(old.keys() - new.keys()),
            "changed": sum(old[key] != new[key] for key in old.keys() & new.keys()),
        }
        if any(counts.values()):
            told[place] = counts
    return told


def digest(rows: Rows) -> str:
    """Return the SHA-256 of the ids of rows, for the certificate."""
    ids = sorted(f"{place} {row[0]}" for place in rows for row in rows[place])
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()
