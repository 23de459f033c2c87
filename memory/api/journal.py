"""The journal over the API: append, list, count, verify, prioritise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ninja import Query, Router, Status
from pydantic import ValidationError

from memory.api import journal_schemas as schemas
from memory.api import journal_serializers as serializers
from memory.api.request import ApiRequest, IdempotencyKey, once
from memory.journal import append as journal
from memory.journal import filter_params, queries
from memory.journal import verify as journal_verify
from memory.journal.append import Rejected
from memory.rules import errors

if TYPE_CHECKING:
    from memory.rules.entries import NewEntry

router = Router(tags=["journal"])


@router.post("", response={201: schemas.AppendedOut}, operation_id="append_entry")
def append(
    request: ApiRequest,
    data: schemas.EntryIn,
    idempotency_key: IdempotencyKey = None,
) -> Status[dict[str, Any]]:
    """Append one entry. The answer is sent after the commit."""

    def act() -> dict[str, Any]:
        return serializers.appended(journal.append(data.entry(), by=request.auth))

    return Status(201, once(idempotency_key, data, act, by=request.auth))


def _read(index: int, item: dict[str, Any]) -> NewEntry | Rejected:
    try:
        return schemas.EntryIn.model_validate(item).entry()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return Rejected(index, str(first["type"]), f"{where}: {first['msg']}")


@router.post("/batch", response=schemas.BatchOut, operation_id="append_batch")
def append_batch(
    request: ApiRequest,
    data: schemas.BatchIn,
    idempotency_key: IdempotencyKey = None,
) -> dict[str, Any]:
    """Append up to 1,000 entries in one transaction; invalid ones are reported."""
    items = [_read(index, item) for index, item in enumerate(data.entries)]

    def act() -> dict[str, Any]:
        return serializers.batch(journal.append_batch(items, by=request.auth))

    return once(idempotency_key, data, act, by=request.auth)


@router.get("", response=schemas.JournalOut, operation_id="list_entries")
def list_entries(
    request: ApiRequest, query: Query[schemas.PageQuery]
) -> dict[str, Any]:
    """List entries, newest first."""
    filters = filter_params.parse(query.model_dump())
    page = queries.journal_page(
        request.auth, filters, limit=query.limit, cursor=query.cursor
    )
    return {
        "entries": serializers.page(page),
        "next_cursor": page.next_cursor,
        "count": len(page.entries) + len(page.archived),
    }


@router.get("/count", response=schemas.CountOut, operation_id="count_entries")
def count_entries(
    request: ApiRequest, query: Query[schemas.JournalQuery]
) -> dict[str, int]:
    """Count entries with the same filters as the list."""
    filters = filter_params.parse(query.model_dump())
    return {"total": queries.count(request.auth, filters)}


@router.get("/verify", response=schemas.VerifyOut, operation_id="verify_chain")
def verify(request: ApiRequest) -> journal_verify.Report:
    """Verify the whole hash chain of the workspace."""
    return journal_verify.verify(request.auth.workspace_id, by=request.auth)


@router.get("/{entry_id}", response=schemas.EntryDetailOut, operation_id="get_entry")
def get_entry(request: ApiRequest, entry_id: str) -> dict[str, Any]:
    """Get one entry with its position in the chain and the state of its embedding.

    An entry that compaction archived is returned as the archive keeps it, with archived
    true.
    """
    try:
        return serializers.entry(queries.entry(request.auth, entry_id))
    except errors.NotFound:
        row = queries.archived_entry(request.auth, entry_id)
        return serializers.archived_entry(row)


@router.post(
    "/{entry_id}/priority",
    response=schemas.PriorityOut,
    operation_id="set_entry_priority",
)
def set_priority(
    request: ApiRequest, entry_id: str, data: schemas.PriorityIn
) -> dict[str, Any]:
    """Set an entry's priority; operators only. Each change is recorded."""
    entry = queries.entry(request.auth, entry_id)
    change = journal.prioritise(entry, data.priority, data.reason, by=request.auth)
    return {
        "id": entry.id,
        "priority": change.priority,
        "previous": change.previous,
        "reason": change.reason,
    }
