"""mem0's platform wire at ``/compat/mem0``, for its clients with another ``host``.

No model runs here when something is added. What a user says becomes memories: each
statement that the extractor in place finds, or, when it finds none in a message, the
message as it is. With ``infer`` false every message is kept as it is.
"""

from __future__ import annotations

from typing import Any, Final

from memory import records
from memory.integrations.base import (
    Answer,
    Call,
    Dialect,
    Route,
    agent_only,
    detail_refusal,
)
from memory.integrations.mem0 import filters
from memory.integrations.mem0 import schemas as shapes
from memory.integrations.mem0.schemas import NOBODY, MessageIn
from memory.integrations.promptkit import extracting
from memory.integrations.promptkit.memories import Message
from memory.models import Record
from memory.records import KEEP, Amendment, Match, Order, Provenance, Wanted
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor

TOP_K: Final = 10
MOST_ADDED: Final = 100


# ── Help ─────────────────────────────────────────────────────────────────────
def _wanted(by: Actor, scope: dict[str, str], **more: Any) -> Wanted:
    return Wanted(owner=records.owner_for(by), scope=Scope.of(scope), **more)


def _one(call: Call, action: str) -> Record:
    by = agent_only(call.by, action)
    return records.get(call.path_params["id"], owner=records.owner_for(by), by=by)


def _narrowed(
    by: Actor, named: shapes.Named, given: dict[str, Any] | None
) -> tuple[Wanted, dict[str, str]]:
    inner, expression = filters.read(given)
    scope = {**inner, **named.scope()}
    return _wanted(by, scope, filter=expression), scope


def ping(call: Call) -> dict[str, Any]:
    """Tell whose key it is; the client asks before anything else."""
    by = call.by
    return {
        "status": "ok",
        "org_id": by.workspace_id,
        "project_id": by.crew_id or by.workspace_id,
        "user_email": by.label,
    }


# ── Adding ───────────────────────────────────────────────────────────────────
def _statements(turns: list[MessageIn], *, infer: bool) -> list[str]:
    """Return what to keep of a conversation, in its order, each once."""
    if not infer:
        return list(dict.fromkeys(t.content for t in turns if t.content.strip()))
    found: list[str] = []
    for turn in turns:
        if turn.role != "user" or not turn.content.strip():
            continue
        said = [Message(role=turn.role, content=turn.content)]
        drawn = [one.content for one in extracting.extractor().extract({}, said)]
        found += drawn or [turn.content]
    return list(dict.fromkeys(found))


def _kept(
    texts: list[str], data: shapes.AddIn, scope: Scope, by: Actor
) -> dict[str, Record]:
    """Keep statements together, or none of them; return text → its record."""
    owner = records.owner_for(by)
    drafts = [
        Draft(
            content=text,
            owner=owner,
            scope=scope,
            metadata=data.metadata,
            session_id=scope.thread,
            expires_at=shapes.end_of(data.expiration_date),
        )
        for text in texts
    ]
    said = Provenance.AGENT_EXTRACTED
    judged = records.prepare_all(drafts, provenance=said, by=by)
    good = records.all_or_nothing(judged)
    kept = records.keep_all(good, provenance=said, by=by)
    return {text: row for text, (row, _) in zip(texts, kept, strict=True)}


def _added(
    texts: list[str], data: shapes.AddIn, scope: Scope, by: Actor
) -> list[dict[str, Any]]:
    """Keep statements; one that is there already, word by word, is not kept twice."""
    wanted = Wanted(owner=records.owner_for(by), scope=scope, match=Match.EXACT)
    known = records.saying(texts, wanted, by=by)
    new = _kept([text for text in texts if text not in known], data, scope, by)
    return [
        {"id": known[text].id, "memory": text, "event": "NONE"}
        if text in known
        else {"id": new[text].id, "memory": new[text].content, "event": "ADD"}
        for text in texts
    ]


def add(call: Call) -> dict[str, Any]:
    """Remember a conversation."""
    by = agent_only(call.by, "records.write")
    data = call.read(shapes.AddIn)
    scope = data.scope(data.filters)
    if not scope:
        raise errors.Invalid(NOBODY, code="entity_required")
    texts = _statements(data.turns(), infer=data.infer)
    if len(texts) > MOST_ADDED:
        detail = f"messages: they hold more than {MOST_ADDED} memories; send fewer."
        raise errors.Invalid(detail, code="too_many")
    return {"results": _added(texts, data, Scope.of(scope), by)}


# ── Reading ──────────────────────────────────────────────────────────────────
def search(call: Call) -> dict[str, Any]:
    """Find memories by meaning and by words."""
    by = agent_only(call.by, "records.read")
    data = call.read(shapes.SearchIn)
    wanted, scope = _narrowed(by, data, data.filters)
    if not scope and not data.filters:
        raise errors.Invalid(NOBODY, code="entity_required")
    found = records.search(
        data.query,
        wanted,
        limit=data.top_k or data.limit or TOP_K,
        min_score=data.threshold or 0.0,
        by=by,
    )
    return {"results": [shapes.row(hit.record, hit.relevance) for hit in found.hits]}


def _page(by: Actor, wanted: Wanted, asked: shapes.PageQuery) -> dict[str, Any]:
    start = (asked.page - 1) * asked.page_size
    total = records.count(wanted, by=by)
    page = records.page(
        wanted, limit=asked.page_size, offset=start, order=Order.OLDEST, by=by
    )

    def link(number: int) -> str:
        return f"?page={number}&page_size={asked.page_size}"

    return {
        "count": total,
        "next": link(asked.page + 1) if start + asked.page_size < total else None,
        "previous": link(asked.page - 1) if asked.page > 1 else None,
        "results": [shapes.row(row) for row in page.rows],
    }


def get_all(call: Call) -> dict[str, Any]:
    """List memories, a page at a time; the last page has no next."""
    by = agent_only(call.by, "records.read")
    data = call.read(shapes.ListIn)
    wanted, _ = _narrowed(by, data, data.filters)
    return _page(by, wanted, call.read_query(shapes.PageQuery))


def get_all_by_query(call: Call) -> dict[str, Any]:
    """List memories as older clients ask for them."""
    by = agent_only(call.by, "records.read")
    asked = call.read_query(shapes.PageQuery)
    return _page(by, _wanted(by, asked.scope()), asked)


def get(call: Call) -> dict[str, Any]:
    """Return one memory."""
    return shapes.row(_one(call, "records.read"))


def history(call: Call) -> list[dict[str, Any]]:
    """Return what one memory said before."""
    record = _one(call, "records.read")
    owner = records.owner_for(call.by)
    return shapes.steps(record, records.history(record.id, owner=owner, by=call.by))


# ── Changing ─────────────────────────────────────────────────────────────────
def _amend(record: Record, data: shapes.UpdateIn, by: Actor) -> Record:
    dated = "expiration_date" in data.model_fields_set
    change = Amendment(
        content=data.text,
        metadata=data.metadata,
        expires_at=shapes.end_of(data.expiration_date) if dated else KEEP,
    )
    return records.amend(record, change, provenance=Provenance.USER_REQUESTED, by=by)


def update(call: Call) -> dict[str, Any]:
    """Make the next version of a memory."""
    record = _one(call, "records.write")
    data = call.read(shapes.UpdateIn)
    if not data.model_fields_set:
        detail = "Send text, metadata or expiration_date."
        raise errors.Invalid(detail, code="nothing_to_change")
    return shapes.row(_amend(record, data, call.by))


def delete(call: Call) -> dict[str, str]:
    """Forget one memory."""
    records.forget(_one(call, "records.write"), by=call.by)
    return {"message": "Memory deleted successfully!"}


def delete_all(call: Call) -> dict[str, str]:
    """Forget what belongs to the named; nobody named is refused, not everything."""
    by = agent_only(call.by, "records.write")
    scope = call.read_query(shapes.Named).scope()
    if not scope:
        raise errors.Invalid(NOBODY, code="entity_required")
    records.forget_scope(_wanted(by, scope), by=by)
    return {"message": "Memories deleted successfully!"}


def _several(call: Call) -> list[tuple[Record, shapes.OneIn]]:
    """Return the batch's records; one that is not there refuses the whole batch."""
    by = agent_only(call.by, "records.write")
    owner = records.owner_for(by)
    data = call.read(shapes.BatchIn)
    return [
        (records.get(one.memory_id, owner=owner, by=by), one) for one in data.memories
    ]


def batch_update(call: Call) -> dict[str, str]:
    """Change several."""
    found = _several(call)
    for record, data in found:
        _amend(record, data, call.by)
    return {"message": f"Successfully updated {len(found)} memories"}


def batch_delete(call: Call) -> dict[str, str]:
    """Forget several."""
    found = _several(call)
    for record, _ in found:
        records.forget(record, by=call.by)
    return {"message": f"Successfully deleted {len(found)} memories"}


# ── Entities ─────────────────────────────────────────────────────────────────
def entities(call: Call) -> dict[str, Any]:
    """List who memories belong to."""
    by = agent_only(call.by, "records.read")
    owner = records.owner_for(by)
    found = [
        {"id": f"{kind}:{name}", "type": kind, "name": name, "total_memories": count}
        for kind, ours in shapes.KINDS.items()
        for name, count in records.scopes(ours, owner=owner, by=by)
    ]
    return {"count": len(found), "next": None, "previous": None, "results": found}


def delete_entity(call: Call) -> Answer:
    """Forget all that belongs to one of them; 404 when there is nothing."""
    by = agent_only(call.by, "records.write")
    ours = shapes.KINDS.get(call.path_params["type"])
    if ours is None:
        raise errors.NotFound
    if not records.forget_scope(_wanted(by, {ours: call.path_params["name"]}), by=by):
        raise errors.NotFound
    return Answer(None, 204)


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
    refuse=detail_refusal("detail", {422: 400}),
)
