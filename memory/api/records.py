"""Records over the API."""

from __future__ import annotations

from typing import Any

from ninja import Query, Router, Status

from memory import records
from memory.api import records_schemas as schemas
from memory.api.request import ApiRequest, IdempotencyKey
from memory.api.shapes import annotated
from memory.journal import append as journal
from memory.models import Record
from memory.records import Action, Provenance, Saved, SearchResult
from memory.records.drafts import Draft
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope

router = Router(tags=["records"])
ANY_STATUS = ("current", "superseded", "forgotten")


def _saved(result: Saved) -> Record:
    """Return a record together with what saving did."""
    return annotated(result.record, action=result.action.value, alike=result.alike)


# ── Reading the request ──────────────────────────────────────────────────────
def provenance(by: Actor) -> Provenance:
    """Return the provenance of a write: extracted by an agent, curated by a person."""
    if by.is_agent:
        return Provenance.AGENT_EXTRACTED
    return Provenance.OPERATOR_CURATED


def _draft(data: schemas.RecordIn, by: Actor) -> Draft:
    by.require("records.write")
    return Draft(
        content=data.content,
        owner=records.owner_for(
            by, crew_id=data.crew_id, agent_id=data.agent_id, is_shared=data.shared
        ),
        kind=data.type,
        scope=Scope.of(data.scope),
        metadata=data.metadata,
        confidence=data.confidence,
        session_id=data.session_id,
        expires_at=data.expires_at,
        external_id=data.external_id,
        subjects=tuple(data.subjects),
    )


def _once(data: schemas.RecordIn, key: str, by: Actor) -> Saved:
    """Save once per idempotency key. The stored answer holds no text of the record.

    The scanner runs before and outside the transaction of the key, so that a held text
    is kept although the request is refused.
    """
    origin = provenance(by)
    draft = records.prepare(_draft(data, by), provenance=origin, by=by)

    def act() -> dict[str, Any]:
        row, action = records.keep(draft, provenance=origin, by=by)
        return {"id": row.id, "action": action.value}

    result = journal.once(key, data.model_dump(mode="json"), act, by=by)
    return records.repeated_answer(result["id"], Action(result["action"]), by=by)


# ── Operations ───────────────────────────────────────────────────────────────
@router.post(
    "",
    response={201: schemas.SavedRecordOut, 200: schemas.SavedRecordOut},
    operation_id="save_record",
)
def save(
    request: ApiRequest,
    data: schemas.RecordIn,
    idempotency_key: IdempotencyKey = None,
) -> Status[Record]:
    """Save a record; 200 when its external id existed. It is searchable at once."""
    by = request.auth
    if idempotency_key is None:
        result = records.save(_draft(data, by), provenance=provenance(by), by=by)
    else:
        result = _once(data, idempotency_key, by)
    return Status(201 if result.action is Action.CREATED else 200, _saved(result))


@router.get("", response=schemas.RecordsOut, operation_id="list_records")
def list_records(
    request: ApiRequest, query: Query[schemas.RecordsQuery]
) -> dict[str, Any]:
    """List records."""
    page = records.page(
        query.record_filter(),
        limit=query.limit,
        cursor=query.cursor,
        order=query.order,
        by=request.auth,
    )
    return {"items": page.rows, "next_cursor": page.next_cursor}


@router.post("/search", response=schemas.RecordSearchOut, operation_id="search_records")
def search(request: ApiRequest, data: schemas.RecordSearchIn) -> SearchResult:
    """Rank records by words and meaning; with as_of, those that were valid then."""
    return records.search(
        data.query,
        data.record_filter(),
        limit=data.limit,
        offset=data.offset,
        min_score=data.min_score,
        by=request.auth,
    )


@router.post(
    "/supersede",
    response={201: schemas.SavedRecordOut},
    operation_id="supersede_records",
)
def supersede(request: ApiRequest, data: schemas.SupersedeIn) -> Status[Record]:
    """Save a record that replaces others."""
    by = request.auth
    draft = _draft(data, by)
    sources = [
        records.get(record_id, owner=None, by=by)
        for record_id in dict.fromkeys(data.sources)
    ]
    origin = provenance(by)
    result = records.supersede(
        sources, draft, provenance=origin, reason=data.reason, by=by
    )
    return Status(201, _saved(result))


@router.get("/{record_id}", response=schemas.RecordOut, operation_id="get_record")
def get(request: ApiRequest, record_id: schemas.RecordId) -> Record:
    """Get one record; people also get one that was superseded or forgotten."""
    by = request.auth
    return records.get(record_id, owner=None, by=by, statuses=ANY_STATUS)


@router.patch("/{record_id}", response=schemas.RecordOut, operation_id="amend_record")
def amend(
    request: ApiRequest, record_id: schemas.RecordId, data: schemas.RecordPatch
) -> Record:
    """Change a record as its next version; the previous one stays in the history."""
    by = request.auth
    by.require("records.write")
    row = records.get(record_id, owner=None, by=by)
    return records.amend(
        row,
        data.amendment(),
        provenance=provenance(by),
        expected=data.version,
        reason=data.reason,
        by=by,
    )


@router.delete(
    "/{record_id}", response=schemas.ForgottenRecordOut, operation_id="forget_record"
)
def forget(
    request: ApiRequest,
    record_id: schemas.RecordId,
    data: schemas.ForgetRecordIn | None = None,
) -> dict[str, Any]:
    """Forget a record: its text is erased from the record and the journal for good."""
    by = request.auth
    by.require("records.write")
    statuses = ("current", "superseded")
    row = records.get(record_id, owner=None, by=by, statuses=statuses)
    records.forget(row, reason=data.reason if data else "", by=by)
    return {"id": row.id, "status": "forgotten"}


@router.get(
    "/{record_id}/history",
    response=schemas.RecordHistoryOut,
    operation_id="record_history",
)
def history(request: ApiRequest, record_id: schemas.RecordId) -> dict[str, Any]:
    """List the versions of a record."""
    versions = records.history(record_id, owner=None, by=request.auth)
    return {"id": record_id, "versions": versions}
