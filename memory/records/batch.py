"""Write many records at once: checked one by one, saved in one transaction.

Queries are made for all of them together, so that fifty records cost about as many
queries as one. Each is its own record with its own journal entry.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def _save_all(drafts: Sequence[Draft], provenance: str, by: Actor) -> list[SaveResult]:
    results: dict[int, SaveResult] = {}
    existing, names = rows.current_by_name(drafts, by), set[rows.Name]()
    new_numbers: list[int] = []
    repeat_numbers: list[int] = []
    for number, draft in enumerate(drafts):
        name = rows.name_of(draft)
        current = existing.get(name)
        if draft.external_id and name in names:
            # The same id twice in a batch: the second is a new version of the first.
            repeat_numbers.append(number)
        elif current is None:
            new_numbers.append(number)
        elif rows.is_same(current, draft):
            results[number] = current, Action.UNCHANGED
        else:
            repeat_numbers.append(number)
        names.add(name)
    revised = (existing.get(rows.name_of(drafts[n])) for n in repeat_numbers)
    _lock([record.id for record in revised if record is not None])
    for start in range(0, len(new_numbers), PART):
        part = new_numbers[start : start + PART]
        part_drafts = [drafts[number] for number in part]
        records = [rows.new_row(draft, provenance, by) for draft in part_drafts]
        rows.store(records, part_drafts, by)
        results |= {
            n: (row, Action.CREATED) for n, row in zip(part, records, strict=True)
        }
    for number in repeat_numbers:
        results[number] = writing.keep(drafts[number], provenance=provenance, by=by)
    return [results[number] for number in range(len(drafts))]


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
