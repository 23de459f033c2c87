"""The recipients of a case: shown with its plan, stored before a run erases anything.

A run erases the evidence with everything else, so that the list is kept from before:
kinds, hosts, ids and counts, no name of the person.
"""

from __future__ import annotations

import json
from typing import Final

from django.db import transaction

from gdpr.cases import transitions
from gdpr.cases import workflow as cases
from gdpr.data_map import registry
from gdpr.data_map.base import Person
from gdpr.data_map.journal import entries_naming
from gdpr.matching import common_words
from gdpr.models import (
    AliasKind,
    Case,
    CaseKind,
    CasePlan,
    NoticeState,
    Recipient,
    RecipientKind,
    Subject,
)
from gdpr.recipients import evidence
from gdpr.recipients.evidence import Disclosure, Rows
from memory.installation import encryption
from memory.rules.permissions import Actor

# Article 19 is about these; an objection restricts the data.
NOTIFIED_CASES: Final = (
    CaseKind.ERASURE, CaseKind.RECTIFICATION, CaseKind.RESTRICTION, CaseKind.OBJECTION,
)  # fmt: skip
# What a remote provider is asked to forget by. A name may be somebody else's too.
FORGET_KINDS: Final = (
    AliasKind.USER_ID, AliasKind.EMAIL, AliasKind.HANDLE, AliasKind.PHONE,
)  # fmt: skip
SEAL_PURPOSE: Final = "crewship.recipients.seal"
MAX_SEALED: Final = 50
_PLACES: Final = ("deliveries", "gateway")


# ── The person's rows ────────────────────────────────────────────────────────
def _rows_of(person: Person) -> Rows:
    """Return the messages, set-ups and entries that are about a person now."""
    rows = {
        place: frozenset(
            row.row_id
            for row in registry.by_name(place).find(person)
            if person.is_about(place, row.row_id, doubtful=row.doubtful)
        )
        for place in _PLACES
    }
    spared_ids = person.spared_rows.get("journal", frozenset())
    return {**rows, "journal": entries_naming(person) - spared_ids}


def disclosed_to(subject: Subject, by: Actor) -> list[Disclosure]:
    """Return whom something about a person went to, surely or possibly, as of now.

    For the answer to a request for access: host, kind, what it receives, first and last
    day, how many, and why it is not certain. Nothing is stored.
    """
    by.require("gdpr.read", subject.workspace_id)
    rows = _rows_of(registry.person(subject))
    return evidence.of_person(subject.workspace_id, subject.pk, rows)


def of_plan(plan: CasePlan) -> list[Disclosure]:
    """Return the recipients by the rows of a plan, before it runs."""
    rows = {
        place: frozenset(row[0] for row in plan.rows.get(place, ()))
        for place in (*_PLACES, "journal")
    }
    return evidence.of_person(plan.workspace_id, plan.case.subject_ref, rows)


# ── Storing ──────────────────────────────────────────────────────────────────
def store(case: Case, person: Person, *, by: Actor) -> int:
    """Store the recipients of a case; return how many are new. Safe to repeat.

    Called by the runner before anything is erased. Another run adds what came since.
    """
    if case.kind not in NOTIFIED_CASES:
        return 0
    disclosures = evidence.of_person(
        case.workspace_id, case.subject_ref, _rows_of(person)
    )
    with transaction.atomic():
        live = transitions.locked(case)
        rows = Recipient.objects.filter(workspace_id=live.workspace_id, case=live)
        existing = {(row.kind, row.ref): row for row in rows}
        new_rows = []
        for item in disclosures:
            row = existing.get((item.kind, item.ref))
            if row is None:
                new_rows.append(_new(live, person, item, by))
            elif row.state == NoticeState.WAITING and item.ids:
                _extend(row, item)
        Recipient.objects.bulk_create(new_rows)
        if new_rows:
            transitions.record(
                live, "recipients_listed", by=by, details=_counts(new_rows)
            )
    return len(new_rows)


def _counts(rows: list[Recipient]) -> dict[str, int]:
    certain = sum(not row.doubt for row in rows)
    return {
        "recipients": len(rows),
        "certain": certain,
        "possible": len(rows) - certain,
    }


def _new(case: Case, person: Person, item: Disclosure, by: Actor) -> Recipient:
    row = Recipient(
        workspace_id=case.workspace_id,
        case=case,
        kind=item.kind,
        ref=item.ref,
        name=item.name,
        doubt=item.doubt,
        count=item.count,
        first_at=item.first_at,
        last_at=item.last_at,
        evidence=dict(item.ids),
        added_by=by.label,
        state=NoticeState.WAITING if item.is_notified else NoticeState.INFO,
    )
    if row.kind == RecipientKind.PROVIDER and case.kind == CaseKind.ERASURE:
        row.sealed = _sealed(row, person)
    return row


def _sealed(row: Recipient, person: Person) -> str:
    """Return the identifiers to forget, encrypted; empty when there is none."""
    values = [
        name.value
        for name in person.matcher.names_known
        if name.kind in FORGET_KINDS
        and not common_words.is_common(name.kind, name.value)
    ]
    if not values:
        return ""
    text = json.dumps(values[:MAX_SEALED], ensure_ascii=False)
    return encryption.seal(text, purpose=SEAL_PURPOSE, bound_to=row.pk)


def unseal(row: Recipient) -> list[str]:
    """Return the identifiers to forget; raise ``encryption.Broken`` for a lost key."""
    text = encryption.unseal(row.sealed, purpose=SEAL_PURPOSE, bound_to=row.pk)
    return [str(value) for value in json.loads(text)]


def _extend(row: Recipient, item: Disclosure) -> None:
    """Add what a later run of the case saw to a recipient that waits."""
    merged = dict(row.evidence)
    for name in ("entries", "messages"):
        ids = dict.fromkeys([*merged.get(name, ()), *item.ids.get(name, ())])
        merged[name] = list(ids)[: evidence.MAX_IDS]
    row.evidence = merged
    row.count = max(row.count, item.count, len(merged["messages"]))
    row.last_at = max(filter(None, (row.last_at, item.last_at)), default=None)
    row.doubt = item.doubt and row.doubt
    row.save(update_fields=["evidence", "count", "last_at", "doubt"])


def erase_texts(workspace_id: str, subject_ref: str) -> int:
    """Erase what officers wrote about recipients of a person; return how many rows.

    Their names, addresses and what identifies the data with them stay: the notice,
    which comes afterwards, needs them; the person's own names are masked in them.
    """
    rows = Recipient.objects.filter(
        workspace_id=workspace_id, case__subject_ref=subject_ref
    )
    count = rows.exclude(reason="").update(reason=transitions.ERASED)
    return count + rows.exclude(answer_note="").update(answer_note=transitions.ERASED)


def expected(case: Case, plan: CasePlan | None = None) -> list[Disclosure]:
    """Return the recipients by the newest plan, until a run stores them; else none."""
    if case.closed_at is not None:
        return []
    stored = Recipient.objects.filter(workspace_id=case.workspace_id, case_id=case.pk)
    if stored.exclude(kind=RecipientKind.OTHER).exists():
        return []
    newest = plan or cases.latest_plan(case)
    return of_plan(newest) if newest is not None else []
