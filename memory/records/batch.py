"""Write many records at once: checked one by one, saved in one transaction.

Queries are made for all of them together, so that fifty records cost about as many
queries as one. Each is its own record with its own journal entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Final

from django.db import IntegrityError, transaction

from memory.models import Record
from memory.records import drafts as record_drafts
from memory.records import rows, writing
from memory.records.access import permit, select
from memory.records.drafts import Draft
from memory.records.redaction import is_safe
from memory.records.types import Action, Criteria
from memory.rules import entries, errors
from memory.rules.permissions import Actor

# Rows per statement: databases limit the number of parameters.
PART: Final = 200
SaveResult = tuple[Record, Action]


# ── Checking ─────────────────────────────────────────────────────────────────
def prepare_all(
    drafts: Sequence[Draft], *, provenance: str, by: Actor
) -> list[Draft | errors.AppError]:
    """Check and scan every draft; return the draft or its error, in order.

    Each draft that the scanner holds becomes a case of the quarantine. Not inside a
    transaction.
    """
    gate = record_drafts.Gate(source=provenance, by=by)
    results: list[Draft | errors.AppError] = []
    for draft in drafts:
        try:
            permit(draft.owner, by.workspace_id, by)
            record_drafts.check(draft)
            results.append(gate.admit(draft))
        except errors.AppError as error:
            results.append(error)
    return results


def all_or_nothing(results: Sequence[Draft | errors.AppError]) -> list[Draft]:
    """Return the drafts of a batch, or raise its first error."""
    good: list[Draft] = []
    for result in results:
        if isinstance(result, errors.AppError):
            raise result
        good.append(result)
    return good


# ── Saving ───────────────────────────────────────────────────────────────────
def keep_all(
    drafts: Sequence[Draft], *, provenance: str, by: Actor
) -> list[SaveResult]:
    """Save prepared drafts, all or none; return each record and action, in order.

    A known external id makes a new version of that record, as with ``keep``. May run
    inside the caller's transaction, after ``prepare_all`` outside of it.
    """
    for draft in drafts:
        permit(draft.owner, by.workspace_id, by)
        record_drafts.check(draft)
    for _ in range(writing.TRIES):
        try:
            with transaction.atomic():
                return _save_all(drafts, provenance, by)
        except IntegrityError:
            # Another writer saved one of the external ids first: revise that record.
            if not any(draft.external_id for draft in drafts):
                raise
    raise writing.busy()


class _Step(StrEnum):
    """What a draft of a batch needs."""

    NEW = "new"
    REVISED = "revised"
    NOTHING = "nothing"


def _step(draft: Draft, current: Record | None, *, is_repeat: bool) -> _Step:
    if is_repeat:
        # The same id twice in a batch: the second is a new version of the first.
        return _Step.REVISED
    if current is None:
        return _Step.NEW
    return _Step.NOTHING if rows.is_same(current, draft) else _Step.REVISED


def _save_all(drafts: Sequence[Draft], provenance: str, by: Actor) -> list[SaveResult]:
    """Save drafts in their order, which the journal keeps as a conversation's."""
    existing, names = rows.current_by_name(drafts, by), set[rows.Name]()
    steps: list[_Step] = []
    for draft in drafts:
        name = rows.name_of(draft)
        is_repeat = bool(draft.external_id) and name in names
        steps.append(_step(draft, existing.get(name), is_repeat=is_repeat))
        names.add(name)
    pairs = list(zip(steps, drafts, strict=True))
    revised = [existing.get(rows.name_of(d)) for s, d in pairs if s is _Step.REVISED]
    _lock([record.id for record in revised if record is not None])
    results: list[SaveResult] = []
    for step, run in groupby(pairs, key=itemgetter(0)):
        run_drafts = [draft for _, draft in run]
        if step is _Step.NEW:
            results += _store_new(run_drafts, provenance, by)
        elif step is _Step.REVISED:
            results += [
                writing.keep(draft, provenance=provenance, by=by)
                for draft in run_drafts
            ]
        else:
            current = [existing[rows.name_of(draft)] for draft in run_drafts]
            results += [(record, Action.UNCHANGED) for record in current]
    return results


def _store_new(drafts: Sequence[Draft], provenance: str, by: Actor) -> list[SaveResult]:
    results: list[SaveResult] = []
    for start in range(0, len(drafts), PART):
        part = drafts[start : start + PART]
        records = [rows.new_row(draft, provenance, by) for draft in part]
        rows.store(records, part, by)
        results += [(record, Action.CREATED) for record in records]
    return results


def _lock(ids: Sequence[str]) -> None:
    """Lock the records that get a new version, before the chain head is locked.

    Every change of a record locks the record first and the chain head then; the other
    order could deadlock.
    """
    if ids:
        locked = Record.objects.select_for_update().filter(pk__in=ids)
        list(locked.order_by("pk").values_list("pk"))


# ── Existing records ─────────────────────────────────────────────────────────
def by_content(
    texts: Sequence[str], criteria: Criteria, *, by: Actor
) -> dict[str, Record]:
    """Return text → the newest matching record with exactly this content."""
    return _newest_by(criteria, "content", texts, by)


def by_external_ids(
    names: Sequence[str], criteria: Criteria, *, by: Actor
) -> dict[str, Record]:
    """Return external id → the newest matching record, in any scope that matches."""
    return _newest_by(criteria, "external_id", names, by)


def _newest_by(
    criteria: Criteria, column: str, values: Sequence[str], by: Actor
) -> dict[str, Record]:
    """Return the newest record of each value; for an agent only safe ones."""
    records: dict[str, Record] = {}
    unique = list(dict.fromkeys(values))
    entries.check_storable(*unique)
    for start in range(0, len(unique), PART):
        part = {f"{column}__in": unique[start : start + PART]}
        # Sorted here: with ORDER BY a database would read a whole workspace in order.
        rows = list(select(criteria, by=by).filter(**part).order_by())
        for row in sorted(rows, key=lambda row: row.updated_at):
            if not by.is_agent or is_safe(row):
                records[getattr(row, column)] = row
    return records
