"""LangGraph's store at ``/compat/langgraph``: values under a namespace and a key.

An item is a record: the namespace is joined by full stops, the key is its external id,
and the value is its content as JSON. So it is searched, scanned, versioned and
forgotten like any other record. A redacted value may no longer be JSON; then it comes
back as ``{"text": …}``. The store's clients name no thread, so the journal entries of
items have no trace id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count, islice
from typing import Any, Final

from django.utils import timezone

from memory import records
from memory.integrations.base import (
    Answer,
    Call,
    Dialect,
    Route,
    agent_only,
    moment,
    refuse_with_detail,
)
from memory.integrations.langgraph import filters
from memory.integrations.langgraph.schemas import (
    ItemIn,
    ItemQuery,
    NamespacesIn,
    PutIn,
    SearchIn,
)
from memory.models import Record
from memory.records import Criteria, Provenance
from memory.records.drafts import Draft, Scope
from memory.rules import entries, errors
from memory.rules.permissions import Actor

KIND: Final = "item"
RANKED: Final = 100


# ── Items ────────────────────────────────────────────────────────────────────
def _joined_namespace(labels: Sequence[str]) -> str:
    if any("." in label for label in labels):
        detail = "A namespace's label holds no full stop."
        raise errors.Invalid(detail, code="bad_label")
    return ".".join(labels)


def value_of(record: Record) -> dict[str, Any]:
    try:
        value = json.loads(record.content)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": record.content}


def _item(record: Record) -> dict[str, Any]:
    return {
        "namespace": record.scope_namespace.split("."),
        "key": record.external_id,
        "value": value_of(record),
        "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
    }


def _stored_item(by: Actor, namespace: str, key: str) -> Record | None:
    scope, owner = Scope(namespace=namespace), records.owner_for(by)
    record = records.by_external(key, owner=owner, scope=scope, by=by)
    return record if record is not None and record.kind == KIND else None


def put(call: Call) -> Answer:
    """Store a value; the same key again makes its next version."""
    by = agent_only(call.by, "records.write")
    data = call.read(PutIn)
    due = timezone.now() + timedelta(minutes=data.ttl) if data.ttl else None
    draft = Draft(
        content=entries.canonical(data.value),
        owner=records.owner_for(by),
        kind=KIND,
        scope=Scope(namespace=_joined_namespace(data.namespace)),
        external_id=data.key,
        expires_at=due,
    )
    records.save(draft, provenance=Provenance.AGENT_EXTRACTED, by=by)
    return Answer(None, 204)


def get(call: Call) -> dict[str, Any]:
    by = agent_only(call.by, "records.read")
    query = call.read_query(ItemQuery)
    record = _stored_item(by, query.namespace, query.key)
    if record is None or not records.is_safe(record):
        raise errors.NotFound("There is no such item.")
    return _item(record)


def delete(call: Call) -> Answer:
    """Forget one item; idempotent."""
    by = agent_only(call.by, "records.write")
    data = call.read(ItemIn)
    record = _stored_item(by, _joined_namespace(data.namespace), data.key)
    if record is not None:
        records.forget(record, by=by)
    return Answer(None, 204)


# ── Search ───────────────────────────────────────────────────────────────────
def _items_by_rank(
    query: str, filters: Criteria, by: Actor
) -> Iterator[dict[str, Any]]:
    """Yield hits, best first, fetched a page at a time."""
    for start in count(0, RANKED):
        hits = records.search(query, filters, limit=RANKED, offset=start, by=by).hits
        for hit in hits:
            yield {**_item(hit.record), "score": round(hit.relevance, 4)}
        if len(hits) < RANKED:
            return


def search(call: Call) -> dict[str, Any]:
    """Search items below a namespace, ranked; without a query all in order."""
    by = agent_only(call.by, "records.read")
    data = call.read(SearchIn)
    matches = filters.read(data.filter)
    scope_filters = Criteria(
        owner=records.owner_for(by),
        under=_joined_namespace(data.namespace_prefix),
        kinds=(KIND,),
    )
    query = (data.query or "").strip()
    rows = (
        _items_by_rank(query, scope_filters, by)
        if query
        else map(_item, records.every(scope_filters, by=by))
    )
    matching = (row for row in rows if matches(row["value"]))
    return {"items": list(islice(matching, data.offset, data.offset + data.limit))}


def _fits(labels: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether labels match a pattern; * matches any one."""
    return len(labels) == len(pattern) and all(
        part in ("*", label) for label, part in zip(labels, pattern, strict=True)
    )


def namespaces(call: Call) -> dict[str, Any]:
    """List the namespaces that hold something, cut at a depth, each once."""
    by = agent_only(call.by, "records.read")
    data = call.read(NamespacesIn)
    stored = records.scopes("namespace", owner=records.owner_for(by), by=by)
    matching: dict[tuple[str, ...], None] = {}
    for name, _ in sorted(stored):
        labels, first, last = name.split("."), data.prefix or [], data.suffix or []
        if not _fits(labels[: len(first)], first):
            continue
        if last and not _fits(labels[-len(last) :], last):
            continue
        matching[tuple(labels[: data.max_depth])] = None
    page = list(matching)[data.offset : data.offset + data.limit]
    return {"namespaces": [list(labels) for labels in page]}


DIALECT: Final = Dialect(
    prefix="/compat/langgraph",
    routes=(
        Route("store/items", {"PUT": put, "GET": get, "DELETE": delete}),
        Route("store/items/search", {"POST": search}),
        Route("store/namespaces", {"POST": namespaces}),
    ),
    refuse=refuse_with_detail,
)
