"""Converts records to the contract's types and back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import errors, types
from memory.models import Record
from memory.ports import language_model
from memory.records import drafts
from memory.records.drafts import Draft
from memory.stored_files import store

# The metadata key for the caller's own description of the source. The record's
# provenance, which we set, is a separate column.
ORIGIN: Final = "_origin"
EXTERNAL_ID: Final = "externalId"
FACT: Final = "fact"
EXTERNAL_CHARS: Final = 200
OFFSET_DIGITS: Final = 9


def scope_in(scope: types.Scope) -> drafts.Scope:
    """Return a caller's scope as records keep it."""
    return drafts.Scope(
        user=scope.user or "",
        agent=scope.agent or "",
        namespace=scope.namespace or "",
        thread=scope.thread or "",
    )


def scope_out(record: Record) -> types.Scope:
    """Return the scope a record was saved with."""
    return types.Scope(
        user=record.scope_user or None,
        agent=record.scope_agent or None,
        namespace=record.scope_namespace or None,
        thread=record.scope_thread or record.session_id or None,
    )


def fits(record: Record, scope: types.Scope) -> bool:
    """Return whether a record lies in a scope: every named part is equal."""
    record_scope = scope_out(record)
    return all(
        not getattr(scope, name) or getattr(scope, name) == getattr(record_scope, name)
        for name in types.SCOPE_FIELDS
    )


def external_id(metadata: Mapping[str, Any] | None) -> str:
    """Return the caller's own id, or refuse one that cannot be stored."""
    value = (metadata or {}).get(EXTERNAL_ID)
    if value is None:
        return ""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= EXTERNAL_CHARS:
        message = f"metadata.externalId: a text of 1 to {EXTERNAL_CHARS} characters."
        raise errors.ValidationError(message)
    return value


def metadata_in(request: types.Ingest) -> dict[str, Any]:
    """Return a record's metadata, with the source under ORIGIN."""
    metadata = dict(request.metadata or {})
    if ORIGIN in metadata:
        raise errors.ValidationError(f"metadata.{ORIGIN}: the name is taken.")
    source = (
        request.provenance.model_dump(exclude_none=True) if request.provenance else {}
    )
    if request.content_class:
        source["content_class"] = request.content_class
    return {**metadata, ORIGIN: source} if source else metadata


def draft(request: types.Ingest, content: str, owner: Owner | None) -> Draft:
    """Return one text of an ingest as a draft."""
    verbatim = isinstance(request, types.VerbatimIngest)
    kind = request.kind if isinstance(request, types.VerbatimIngest) else None
    return Draft(
        content=content,
        owner=owner,
        kind=kind or FACT,
        scope=scope_in(request.scope),
        metadata=metadata_in(request),
        session_id=request.scope.thread or "",
        external_id=external_id(request.metadata) if verbatim else "",
    )


def origin(record: Record) -> dict[str, Any]:
    """Return the caller's description of a record's source."""
    value = record.metadata.get(ORIGIN)
    return value if isinstance(value, dict) else {}


def from_source(source: str) -> dict[str, Any]:
    """Return the filter for memories by the caller's own name of their source."""
    return {"field": f"metadata.{ORIGIN}.source", "op": "eq", "value": source}


def memory(record: Record) -> types.Memory:
    """Return a record as the contract's memory."""
    source = {k: v for k, v in origin(record).items() if k != "content_class"}
    own_metadata = {k: v for k, v in record.metadata.items() if k != ORIGIN}
    return types.Memory(
        id=record.id,
        content=record.content,
        scope=scope_out(record),
        kind=record.kind if record.kind in types.KINDS else None,
        created_at=record.created_at,
        updated_at=record.updated_at,
        provenance=types.Provenance.model_validate(source) if source else None,
        metadata=own_metadata or None,
    )


def hit(record_hit: records.Hit) -> types.SearchResult:
    record = record_hit.record
    return types.SearchResult(
        memory=memory(record),
        score=record_hit.score,
        similarity=record_hit.similarity,
        ranking_score=record_hit.score,
        relevance=min(1.0, max(0.0, record_hit.relevance)),
        version_id=f"{record.id}:{record.version}",
        observed_at=types.iso(record.updated_at),
    )


def digest(content: str) -> str:
    """Return the SHA-256 of a text."""
    return store.digest(content.encode())


def statement_name(text: str) -> str:
    """Return the external id of an extracted statement: a digest of its text."""
    return f"said:{digest(text)[:40]}"


def offset(cursor: str | None) -> int:
    """Return the offset that a cursor stands for."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > OFFSET_DIGITS:
        raise bad_cursor()
    return int(cursor)


def bad_cursor() -> errors.ValidationError:
    """Return the error for a cursor that no page of this list gave."""
    return errors.ValidationError(
        "cursor: use the one that the previous page returned."
    )


def receipt(query: str, result: records.SearchResult) -> types.RetrievalReceipt:
    """Return how hits were found: by which embedding model, or by words alone."""
    engine = (
        language_model.WORDS if result.degraded else language_model.current().engine()
    )
    return types.RetrievalReceipt(
        embedding_provider=engine.provider,
        embedding_model=engine.model,
        embedding_model_version=engine.model,
        embedding_dimensions=max(1, engine.dimensions),
        query_text=query,
        candidate_ids=[hit.record.id for hit in result.hits],
        trace_id=f"trc_{uuid.uuid4().hex}",
    )
