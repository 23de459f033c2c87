"""mem0's platform API at ``/compat/mem0``, for its clients with another ``host``.

Adding stores each statement that the registered extractor finds in a user's messages;
a message in which it finds none is stored verbatim. With ``infer`` false every message
is stored verbatim.

A ``run_id`` is a conversation: the journal entries of all its calls share a trace id.
Without one, what a single call adds shares one if it is more than one statement, and
calls are not connected: a ``user_id`` is a person, not a conversation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from memory import records
from memory.integrations.base import (
    Answer,
    Call,
    Dialect,
    Route,
    agent_only,
    refuse_with_detail,
)
from memory.integrations.mem0 import filters, schemas
from memory.integrations.mem0.schemas import ENTITY_REQUIRED, MessageIn
from memory.integrations.promptkit import extracting
from memory.integrations.promptkit.memories import Message
from memory.models import Record
from memory.records import (
    KEEP,
    Amendment,
    Criteria,
    Match,
    Order,
    Provenance,
    sessions,
)
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor

TOP_K: Final = 10
MAX_ADDED: Final = 100


# ── Help ─────────────────────────────────────────────────────────────────────
def _filters(by: Actor, scope: dict[str, str], **options: Any) -> Criteria:
    return Criteria(owner=records.owner_for(by), scope=Scope.of(scope), **options)


def _record(call: Call, action: str) -> Record:
    by = agent_only(call.by, action)
    return records.get(call.path_params["id"], owner=records.owner_for(by), by=by)


def _scoped_filters(
    by: Actor, body: schemas.EntityScoped, raw_filters: dict[str, Any] | None
) -> tuple[Criteria, dict[str, str]]:
    inner, expression = filters.read(raw_filters)
    scope = {**inner, **body.scope()}
    return _filters(by, scope, filter=expression), scope


def ping(call: Call) -> dict[str, Any]:
    """Return the key's workspace and project; the client's first call."""
    by = call.by
    return {
        "status": "ok",
        "org_id": by.workspace_id,
        "project_id": by.crew_id or by.workspace_id,
        "user_email": by.label,
    }


# ── Adding ───────────────────────────────────────────────────────────────────
def _statements(turns: list[MessageIn], *, infer: bool) -> list[str]:
    """Return the texts to store from a conversation, in order, each once."""
    if not infer:
        return list(dict.fromkeys(t.content for t in turns if t.content.strip()))
    statements: list[str] = []
    for turn in turns:
        if turn.role != "user" or not turn.content.strip():
            continue
        messages = [Message(role=turn.role, content=turn.content)]
        extracted = [
            memory.content for memory in extracting.extractor().extract({}, messages)
        ]
        statements += extracted or [turn.content]
    return list(dict.fromkeys(statements))


def _save(
    texts: list[str], data: schemas.AddIn, scope: Scope, by: Actor
) -> dict[str, Record]:
    """Store all statements or none; return text → its record."""
    owner = records.owner_for(by)
    is_connected = len(texts) > 1 and not scope.thread
    trace = sessions.call_trace() if is_connected else None
    drafts = [
        Draft(
            content=text,
            owner=owner,
            scope=scope,
            metadata=data.metadata,
            session_id=scope.thread,
            trace_id=trace,
            expires_at=schemas.end_of(data.expiration_date),
        )
        for text in texts
    ]
    provenance = Provenance.AGENT_EXTRACTED
    prepared = records.prepare_all(drafts, provenance=provenance, by=by)
    good = records.all_or_nothing(prepared)
    rows = records.keep_all(good, provenance=provenance, by=by)
    return {text: row for text, (row, _) in zip(texts, rows, strict=True)}


def _save_new(
    texts: list[str], data: schemas.AddIn, scope: Scope, by: Actor
) -> list[dict[str, Any]]:
    """Store statements that are not stored verbatim already; return each's event."""
    scope_filters = Criteria(
        owner=records.owner_for(by), scope=scope, match=Match.EXACT
    )
    existing = records.by_content(texts, scope_filters, by=by)
    new = _save([text for text in texts if text not in existing], data, scope, by)
    return [
        {"id": existing[text].id, "memory": text, "event": "NONE"}
        if text in existing
        else {"id": new[text].id, "memory": new[text].content, "event": "ADD"}
        for text in texts
    ]


def add(call: Call) -> dict[str, Any]:
    by = agent_only(call.by, "records.write")
    data = call.read(schemas.AddIn)
    scope = data.scope(data.filters)
    if not scope:
        raise errors.Invalid(ENTITY_REQUIRED, code="entity_required")
    texts = _statements(data.turns(), infer=data.infer)
    if len(texts) > MAX_ADDED:
        detail = f"messages: they hold more than {MAX_ADDED} memories; send fewer."
        raise errors.Invalid(detail, code="too_many")
    return {"results": _save_new(texts, data, Scope.of(scope), by)}


# ── Reading ──────────────────────────────────────────────────────────────────
def search(call: Call) -> dict[str, Any]:
    """Search memories by meaning and by words."""
    by = agent_only(call.by, "records.read")
    data = call.read(schemas.SearchIn)
    scope_filters, scope = _scoped_filters(by, data, data.filters)
    if not scope and not data.filters:
        raise errors.Invalid(ENTITY_REQUIRED, code="entity_required")
    result = records.search(
        data.query,
        scope_filters,
        limit=data.top_k or data.limit or TOP_K,
        min_score=data.threshold or 0.0,
        by=by,
    )
    return {"results": [schemas.row(hit.record, hit.relevance) for hit in result.hits]}


def _page(
    by: Actor, scope_filters: Criteria, query: schemas.PageQuery
) -> dict[str, Any]:
    start = (query.page - 1) * query.page_size
    total = records.count(scope_filters, by=by)
    page = records.page(
        scope_filters, limit=query.page_size, offset=start, order=Order.OLDEST, by=by
    )

    def link(number: int) -> str:
        return f"?page={number}&page_size={query.page_size}"

    return {
        "count": total,
        "next": link(query.page + 1) if start + query.page_size < total else None,
        "previous": link(query.page - 1) if query.page > 1 else None,
        "results": [schemas.row(row) for row in page.rows],
    }


def get_all(call: Call) -> dict[str, Any]:
    """List memories, a page at a time; the last page has no next."""
    by = agent_only(call.by, "records.read")
    data = call.read(schemas.ListIn)
    scope_filters, _ = _scoped_filters(by, data, data.filters)
    return _page(by, scope_filters, call.read_query(schemas.PageQuery))


def get_all_by_query(call: Call) -> dict[str, Any]:
    """List memories with parameters in the query, as older clients send them."""
    by = agent_only(call.by, "records.read")
    query = call.read_query(schemas.PageQuery)
    return _page(by, _filters(by, query.scope()), query)


def get(call: Call) -> dict[str, Any]:
    return schemas.row(_record(call, "records.read"))


def history(call: Call) -> list[dict[str, Any]]:
    record = _record(call, "records.read")
    owner = records.owner_for(call.by)
    return schemas.steps(record, records.history(record.id, owner=owner, by=call.by))


# ── Changing ─────────────────────────────────────────────────────────────────
def _amend(record: Record, data: schemas.UpdateIn, by: Actor) -> Record:
    dated = "expiration_date" in data.model_fields_set
    change = Amendment(
        content=data.text,
        metadata=data.metadata,
        expires_at=schemas.end_of(data.expiration_date) if dated else KEEP,
    )
    return records.amend(record, change, provenance=Provenance.USER_REQUESTED, by=by)


def update(call: Call) -> dict[str, Any]:
    """Make the next version of a memory."""
    record = _record(call, "records.write")
    data = call.read(schemas.UpdateIn)
    if not data.model_fields_set:
        detail = "Send text, metadata or expiration_date."
        raise errors.Invalid(detail, code="nothing_to_change")
    return schemas.row(_amend(record, data, call.by))


def delete(call: Call) -> dict[str, str]:
    records.forget(_record(call, "records.write"), by=call.by)
    return {"message": "Memory deleted successfully!"}


def delete_all(call: Call) -> dict[str, str]:
    """Forget the memories of an entity; without one the request is refused."""
    by = agent_only(call.by, "records.write")
    scope = call.read_query(schemas.EntityScoped).scope()
    if not scope:
        raise errors.Invalid(ENTITY_REQUIRED, code="entity_required")
    records.forget_scope(_filters(by, scope), by=by)
    return {"message": "Memories deleted successfully!"}


def _batch(call: Call) -> list[tuple[Record, schemas.OneIn]]:
    """Return the batch's records; a missing one refuses the whole batch."""
    by = agent_only(call.by, "records.write")
    owner = records.owner_for(by)
    data = call.read(schemas.BatchIn)
    return [
        (records.get(item.memory_id, owner=owner, by=by), item)
        for item in data.memories
    ]


def batch_update(call: Call) -> dict[str, str]:
    batch = _batch(call)
    for record, data in batch:
        _amend(record, data, call.by)
    return {"message": f"Successfully updated {len(batch)} memories"}


def batch_delete(call: Call) -> dict[str, str]:
    batch = _batch(call)
    for record, _ in batch:
        records.forget(record, by=call.by)
    return {"message": f"Successfully deleted {len(batch)} memories"}


# ── Entities ─────────────────────────────────────────────────────────────────
def entities(call: Call) -> dict[str, Any]:
    """List the entities that memories belong to."""
    by = agent_only(call.by, "records.read")
    owner = records.owner_for(by)
    entity_rows = [
        {"id": f"{kind}:{name}", "type": kind, "name": name, "total_memories": count}
        for kind, scope_name in schemas.KINDS.items()
        for name, count in records.scopes(scope_name, owner=owner, by=by)
    ]
    return {
        "count": len(entity_rows),
        "next": None,
        "previous": None,
        "results": entity_rows,
    }


def delete_entity(call: Call) -> Answer:
    """Forget all memories of an entity; 404 when there are none."""
    by = agent_only(call.by, "records.write")
    scope_name = schemas.KINDS.get(call.path_params["type"])
    if scope_name is None:
        raise errors.NotFound
    if not records.forget_scope(
        _filters(by, {scope_name: call.path_params["name"]}), by=by
    ):
        raise errors.NotFound
    return Answer(None, 204)


def refuse(error: errors.AppError) -> Answer:
    """Return an error as ``{detail}``; an invalid request is 400 here."""
    answer = refuse_with_detail(error)
    return replace(answer, status=400) if answer.status == 422 else answer


DIALECT: Final = Dialect(
    prefix="/compat/mem0",
    routes=(
        Route("v1/ping", {"GET": ping}),
        Route("v3/memories/add", {"POST": add}),
        Route("v3/memories/search", {"POST": search}),
        Route("v3/memories", {"POST": get_all}),
        Route("v2/memories/search", {"POST": search}),
        Route("v2/memories", {"POST": get_all}),
        Route("v1/memories/search", {"POST": search}),
        Route(
            "v1/memories",
            {"GET": get_all_by_query, "POST": add, "DELETE": delete_all},
        ),
        Route("v1/memories/<id>/history", {"GET": history}),
        Route("v1/memories/<id>", {"GET": get, "PUT": update, "DELETE": delete}),
        Route("v1/batch", {"PUT": batch_update, "DELETE": batch_delete}),
        Route("v1/entities", {"GET": entities}),
        Route("v2/entities/<type>/<name>", {"DELETE": delete_entity}),
    ),
    refuse=refuse,
)
