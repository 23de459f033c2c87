"""Writing many records at once: judged one by one, kept in one transaction.

What the database is asked for, it is asked for all of them together, so that fifty
statements cost about what one costs. Each is still its own record with its own entry.
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
from memory.records.types import Action, Wanted
from memory.rules import entries, errors
from memory.rules.permissions import Actor

# So many rows are made at a time: what a statement may hold has an end.
PART: Final = 200
SaveResult = tuple[Record, Action]


# ── Judging ──────────────────────────────────────────────────────────────────
def prepare_all(
    drafts: Sequence[Draft], *, provenance: str, by: Actor
) -> list[Draft | errors.HouseError]:
    """Judge every draft; in the place of one that may not be kept is why.

    Whatever the scanner holds waits in the quarantine afterwards, each in its own
    case. Not inside a transaction.
    """
    gate = record_drafts.Gate(source=provenance, by=by)
    results: list[Draft | errors.HouseError] = []
    for draft in drafts:
        try:
            permit(draft.owner, by.workspace_id, by)
            record_drafts.check(draft)
            results.append(gate.admit(draft))
        except errors.HouseError as error:
            results.append(error)
    return results


def all_or_nothing(results: Sequence[Draft | errors.HouseError]) -> list[Draft]:
    """Return the drafts of a batch that is kept whole, or raise its first fault."""
    good: list[Draft] = []
    for result in results:
        if isinstance(result, errors.HouseError):
            raise result
        good.append(result)
    return good


# ── Keeping ──────────────────────────────────────────────────────────────────
def keep_all(
    drafts: Sequence[Draft], *, provenance: str, by: Actor
) -> list[SaveResult]:
    """Save prepared drafts, all or none; what became of each, in their order.

    A known external id makes that record's next version, as with ``keep``. May run
    inside the caller's own transaction, after ``prepare_all`` outside of it.
    """
    for draft in drafts:
        permit(draft.owner, by.workspace_id, by)
        record_drafts.check(draft)
    for _ in range(writing.TRIES):
        try:
            with transaction.atomic():
                return _save_all(drafts, provenance, by)
        except IntegrityError:
            # Somebody else saved one of the external ids first: theirs goes on.
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
        if not draft.external_id:
            new_numbers.append(number)
        elif name in names:
            # The same id twice in a batch: the second is told what the first left.
            repeat_numbers.append(number)
        elif name not in existing:
            new_numbers.append(number)
        elif rows.is_same(existing[name], draft):
            results[number] = existing[name], Action.UNCHANGED
        else:
            repeat_numbers.append(number)
        names.add(name)
    _lock(
        [
            existing[name].id
            for n in repeat_numbers
            if (name := rows.name_of(drafts[n])) in existing
        ]
    )
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
    """Lock the records that get a next version before the journal is locked.

    Whoever changes a record locks it first and the journal's end then; a batch that
    went the other way round could wait for somebody who waits for it.
    """
    if ids:
        locked = Record.objects.select_for_update().filter(pk__in=ids)
        list(locked.order_by("pk").values_list("pk"))


# ── What is there already ────────────────────────────────────────────────────
def saying(texts: Sequence[str], criteria: Wanted, *, by: Actor) -> dict[str, Record]:
    """Return text → the newest record wanted that says exactly that."""
    return _newest_by(criteria, "content", texts, by)


def called(names: Sequence[str], criteria: Wanted, *, by: Actor) -> dict[str, Record]:
    """Return external id → the newest record wanted of that id, in any scope of it."""
    return _newest_by(criteria, "external_id", names, by)


def _newest_by(
    criteria: Wanted, column: str, values: Sequence[str], by: Actor
) -> dict[str, Record]:
    """Return the newest record of each value; an agent gets what it may see."""
    records: dict[str, Record] = {}
    unique = list(dict.fromkeys(values))
    if not all(map(entries.is_storable, unique)):
        detail = "A text holds a NUL or half a surrogate pair."
        raise errors.Invalid(detail, code="bad_text")
    for start in range(0, len(unique), PART):
        part = {f"{column}__in": unique[start : start + PART]}
        # Sorted here: asked to, a database would read a whole workspace in order.
        rows = list(select(criteria, by=by).filter(**part).order_by())
        for row in sorted(rows, key=lambda row: row.updated_at):
            if not by.is_agent or is_safe(row):
                records[getattr(row, column)] = row
    return records
