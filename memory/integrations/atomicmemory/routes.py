"""AtomicMemory's routes at ``/compat/atomicmemory``: ingest, search and reading."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from django.conf import settings

from memory import records
from memory.integrations.atomicmemory import handlers, schemas, serializers
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider import mapping
from memory.integrations.atomicmemory.provider.context_package import Packed
from memory.integrations.atomicmemory.session import (
    MAX_PAGE,
    PAGE,
    RESERVED,
    NotOffered,
    RawContent,
    Session,
    check_agent_scope,
    number,
    open_session,
    refuse,
    user_records,
)
from memory.integrations.base import Call, Dialect, Handler, Route
from memory.records import Order
from memory.rules import errors

FORMATS: Final[dict[str, types.Format]] = {
    "flat": "flat",
    "tiered": "tiered",
    "abstract-aware": "structured",
}


# ── Without a key ────────────────────────────────────────────────────────────
def capabilities(_call: Call) -> dict[str, Any]:
    """Return what this API supports."""
    return {
        "version": 1,
        "ingest_modes": ["text", "messages", "verbatim"],
        "search": True,
        "retrieval": "semantic",
        "deterministic_fast_path": True,
        "extensions": {"health": True, "versioning": True, "temporal": True},
    }


# ── Ingest ───────────────────────────────────────────────────────────────────
def _check_ingest(data: schemas.IngestIn, *, verbatim: bool) -> None:
    """Refuse unsupported fields before anything is stored."""
    if data.config_override:
        raise NotOffered(why="config_override is set where the server is started")
    if data.visibility not in (None, "workspace"):
        raise NotOffered(why="visibility is the key's own reach")
    if data.metadata and (not verbatim or data.workspace_id):
        raise errors.Invalid(
            "metadata: only on ingest/quick with skip_extraction, without a workspace."
        )
    reserved = sorted(RESERVED & set(data.metadata or ()))
    if reserved:
        raise errors.Invalid(f"metadata: {', '.join(reserved)} is reserved.")
    is_raw = data.content_class in (None, "raw")
    if verbatim and is_raw and settings.RAW_CONTENT == "reject":
        raise RawContent


def _episode(session: Session, ids: list[str]) -> str:
    """Return the journal entry behind the first memory of an ingest."""
    if not ids:
        return ""
    first = records.get(
        ids[0], owner=session.record_scope.owner, by=session.record_scope.by
    )
    return str(first.current_entry_id or "")


def _ingested(
    session: Session, result: types.IngestResult, *, is_whole: bool
) -> dict[str, Any]:
    stored, updated = result.created, result.updated
    # A verbatim text that was stored already counts as an update that changed nothing;
    # an extracted statement only as skipped.
    unchanged = result.unchanged if is_whole else []
    return {
        "episode_id": _episode(session, [*stored, *updated, *unchanged]),
        "facts_extracted": len(stored) + len(updated) + len(result.unchanged),
        "memories_stored": len(stored),
        "memories_updated": len(updated),
        "memories_deleted": 0,
        "memories_skipped": len(result.unchanged),
        "stored_memory_ids": stored,
        "updated_memory_ids": [*updated, *unchanged],
        "links_created": 0,
        "composites_created": 0,
    }


def ingest(call: Call, *, quick: bool = False) -> dict[str, Any]:
    """Extract statements from a conversation and store them.

    The quick route stores the text as one memory, verbatim, with ``skip_extraction``.
    """
    data = call.read(schemas.IngestIn)
    is_whole = quick and data.skip_extraction
    _check_ingest(data, verbatim=is_whole)
    session = open_session(
        call,
        data,
        "records.write",
        thread=data.session_id,
        namespace=data.namespace_scope,
    )
    scope = session.scope.model_copy(update={"agent": data.agent_id})
    request_type = types.VerbatimIngest if is_whole else types.TextIngest
    request = request_type(
        scope=scope,
        content=data.conversation,
        content_class=data.content_class,
        metadata=data.metadata,
        provenance=types.Provenance(
            source=data.source_site, source_url=data.source_url or None
        ),
    )
    result = session.provider.ingest(request)
    return _ingested(session, result, is_whole=is_whole)


# ── Search ───────────────────────────────────────────────────────────────────
def _search_request(data: schemas.SearchIn, scope: types.Scope) -> types.PackageRequest:
    source = data.source_site
    return types.PackageRequest(
        query=data.query,
        scope=scope,
        limit=number(data.limit, PAGE, 1, MAX_PAGE),
        threshold=data.threshold,
        filter=mapping.from_source(source) if source else None,
        token_budget=data.token_budget,
        format=FORMATS[data.retrieval_mode or "flat"],
    )


def _response(
    data: schemas.SearchIn, packed: Packed, page: types.SearchResultPage
) -> dict[str, Any]:
    kind = "workspace" if data.workspace_id else "user"
    scope = {"kind": kind, "user_id": data.user_id}
    if data.workspace_id:
        scope |= {"workspace_id": data.workspace_id, "agent_id": data.agent_id or ""}
    retrieval = page.retrieval.model_dump() if page.retrieval else None
    package = packed.package
    answer = {
        "count": len(page.results),
        "retrieval_mode": data.retrieval_mode or "flat",
        "scope": scope,
        "retrieval": retrieval,
        "memories": [serializers.of_hit(hit) for hit in page.results],
        "injection_text": package.text,
        "citations": [hit.memory.id for hit in package.results],
        "budget_constrained": package.budget_constrained,
        "estimated_context_tokens": package.tokens,
    }
    if data.retrieval_mode in ("tiered", "abstract-aware"):
        answer |= serializers.of_tiers(packed, page.results)
    return answer


def search(call: Call, *, fast: bool = False) -> dict[str, Any]:
    """Search, optionally as of a time and within a token budget."""
    data = call.read(schemas.SearchIn)
    if data.config_override:
        raise NotOffered(why="config_override is set where the server is started")
    session = open_session(
        call,
        data,
        "records.read",
        thread=data.session_id,
        namespace=data.namespace_scope,
    )
    scope = session.scope.model_copy(update={"agent": check_agent_scope(data)})
    # The fast search ignores ``as_of``, as the original does.
    as_of = None if fast else data.as_of
    packed, page = session.provider.pack(_search_request(data, scope), as_of)
    return {"deterministic": fast, **_response(data, packed, page)}


# ── Reading and deleting ─────────────────────────────────────────────────────
def list_page(call: Call) -> dict[str, Any]:
    """Return a page, oldest first, so that paging shows each row once."""
    query = call.read_query(schemas.ListQuery)
    if query.episode_id:
        raise NotOffered(why="a list is not narrowed by episode_id")
    session = open_session(
        call,
        query,
        "records.read",
        thread=query.session_id,
        namespace=query.namespace_scope,
    )
    source = query.source_site
    filters = session.record_scope.query(
        filter=mapping.from_source(source) if source else None
    )
    page = records.page(
        filters,
        limit=number(query.limit, PAGE, 1, MAX_PAGE),
        offset=number(query.offset, 0, 0, 1_000_000_000),
        order=Order.OLDEST,
        by=session.record_scope.by,
    )
    return {
        "memories": [serializers.of_record(row) for row in page.rows],
        "count": records.count(filters, by=session.record_scope.by),
    }


def _row(session: Session, memory_id: str) -> dict[str, Any] | None:
    memory = session.provider.get(session.ref(memory_id))
    return None if memory is None else serializers.of_memory(memory)


def get_one(call: Call) -> dict[str, Any]:
    """Return a memory; 404 also for one of another user."""
    session = open_session(call, call.read_query(schemas.OneQuery), "records.read")
    row = _row(session, call.path_params["id"])
    if row is None:
        raise errors.NotFound
    return row


def delete_one(call: Call) -> dict[str, Any]:
    """Forget a memory."""
    session = open_session(call, call.read_query(schemas.OneQuery), "records.write")
    if _row(session, call.path_params["id"]) is None:
        raise errors.NotFound
    session.provider.forget(session.ref(call.path_params["id"]))
    return {"success": True}


def by_external_id(call: Call) -> dict[str, Any]:
    """Return a user's memory by its external id."""
    session = open_session(call, call.read_query(schemas.OneQuery), "records.read")
    filters = user_records(session).query(external_id=call.path_params["external_id"])
    page_rows = records.page(filters, limit=1, by=session.record_scope.by).rows
    if not page_rows:
        raise errors.NotFound
    return serializers.of_record(page_rows[0])


def expand(call: Call) -> dict[str, Any]:
    """Return the full text of hits that were shortened."""
    data = call.read(schemas.ExpandIn)
    session = open_session(call, data, "records.read")
    memories = [
        _row(session, memory_id) for memory_id in dict.fromkeys(data.memory_ids)
    ]
    return {"memories": [row for row in memories if row is not None]}


# ── Routes ───────────────────────────────────────────────────────────────────
MEMORIES: Final[dict[str, dict[str, Handler]]] = {
    "ingest": {"POST": ingest},
    "ingest/quick": {"POST": partial(ingest, quick=True)},
    "search": {"POST": search},
    "search/fast": {"POST": partial(search, fast=True)},
    "expand": {"POST": expand},
    "list": {"GET": list_page},
    "by-external-id/<path:external_id>": {"GET": by_external_id},
    **handlers.MEMORIES,
    "<id>": {"GET": get_one, "DELETE": delete_one},
    "<id>/audit": {"GET": handlers.trail},
}


def _routes() -> tuple[Route, ...]:
    """Return the routes, with and without the version: clients may omit it."""
    routes = [Route("health", {"GET": lambda _: {"status": "ok"}}, is_open=True)]
    for version in ("v1/", ""):
        routes.append(
            Route(f"{version}capabilities", {"GET": capabilities}, is_open=True)
        )
        routes += [
            Route(f"{version}memories/{path}", methods)
            for path, methods in MEMORIES.items()
        ]
        routes += [
            Route(f"{version}{path}", methods)
            for path, methods in handlers.OTHER.items()
        ]
    return tuple(routes)


DIALECT: Final = Dialect(
    prefix="/compat/atomicmemory",
    routes=_routes(),
    refuse=refuse,
)
