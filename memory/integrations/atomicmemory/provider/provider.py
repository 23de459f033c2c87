"""Our provider of the capability contract, bound to one actor."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, get_args

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import errors as contract_errors
from memory.integrations.atomicmemory.contract import reading, types
from memory.integrations.atomicmemory.contract.base import MemoryProvider
from memory.integrations.atomicmemory.contract.extensions import (
    Capabilities,
    Extensions,
    FilterOp,
)
from memory.integrations.atomicmemory.provider import (
    context_package,
    graph,
    ingest,
    insights,
    mapping,
)
from memory.models import Record
from memory.records import Amendment, Criteria, Order, Provenance, SearchResult
from memory.rules import errors
from memory.rules.permissions import Actor

NAME: Final = "native"
VERSION: Final = "1"
PAGE: Final = 20
PACKAGE_HITS: Final = 50
REFLECTION_HITS: Final = 20
GRAPH_HITS: Final = 10
READABLE_STATUSES: Final = ("current", "superseded")
PROFILE_RECORDS: Final = 200
_ALL: Final = Extensions(**dict.fromkeys(Extensions.model_fields, True))


def _scope_fields(scope: types.Scope) -> dict[str, str]:
    """Return the fields of a scope that are set."""
    return {name: value for name, value in scope.model_dump().items() if value}


class NativeProvider(MemoryProvider):
    """Memory in records, for one actor; the owner defaults to the actor's own."""

    name = NAME

    def __init__(self, by: Actor, owner: Owner | None = None) -> None:
        super().__init__()
        self._by = by
        self._owner = owner or records.owner_for(by)

    def capabilities(self) -> Capabilities:
        """Return three modes, all ten extensions and every filter operator."""
        return Capabilities(
            ingest_modes=["text", "messages", "verbatim"],
            required_scope={"default": ["user"]},
            extensions=_ALL,
            supported_rerankers=[],
            supported_filter_ops=list(get_args(FilterOp)),
            max_token_budget=context_package.MOST_TOKENS,
        )

    # ── Operations ────────────────────────────────────────────────────────────
    def _ingest(self, request: types.Ingest) -> types.IngestResult:
        return ingest.ingest_all([request], owner=self._owner, by=self._by)[0]

    def _owned(self, query: Criteria) -> Criteria:
        return replace(query, owner=self._owner)

    def _query(self, request: types.SearchRequest, as_of: datetime | None) -> Criteria:
        if request.reranker is not None:
            raise contract_errors.UnsupportedOperationError(
                "search: no reranker is supported.", provider=NAME, operation="search"
            )
        return self._owned(
            Criteria(
                scope=mapping.scope_in(request.scope),
                filter=request.filter,
                as_of=as_of,
            )
        )

    def _search_records(
        self, request: types.SearchRequest, limit: int, as_of: datetime | None = None
    ) -> SearchResult:
        return records.search(
            request.query,
            self._query(request, as_of),
            limit=limit,
            offset=mapping.offset(request.cursor),
            min_score=request.threshold or 0.0,
            by=self._by,
        )

    def _search(
        self, request: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        limit = request.limit or PAGE
        result = self._search_records(request, limit, as_of)
        results = [mapping.hit(record_hit) for record_hit in result.hits]
        is_full = len(results) == limit
        return types.SearchResultPage(
            results=results,
            cursor=str(mapping.offset(request.cursor) + limit) if is_full else None,
            retrieval=mapping.receipt(request.query, result),
        )

    def _record(self, ref: types.MemoryRef) -> Record:
        record = records.get(ref.id, owner=self._owner, by=self._by)
        if not mapping.fits(record, ref.scope):
            raise errors.NotFound
        return record

    def _get(self, ref: types.MemoryRef) -> types.Memory | None:
        try:
            record = self._record(ref)
        except errors.NotFound:
            return None
        return mapping.memory(record) if records.is_safe(record) else None

    def _delete(self, ref: types.MemoryRef) -> None:
        self._forget(ref, "")

    def _forget(self, ref: types.MemoryRef, reason: str) -> None:
        """Forget a memory; do nothing for one that is gone or out of scope."""
        with suppress(errors.NotFound):
            records.forget(self._record(ref), reason=reason, by=self._by)

    def _list(self, request: types.ListRequest) -> types.ListResultPage:
        query = Criteria(scope=mapping.scope_in(request.scope), filter=request.filter)
        limit, cursor, rows = request.limit or PAGE, request.cursor, list[Record]()
        while True:
            page = self._page(query, limit - len(rows), cursor)
            rows, cursor = [*rows, *page.rows], page.next_cursor
            if cursor is None or len(rows) == limit:
                break
        memories = [mapping.memory(row) for row in rows]
        return types.ListResultPage(memories=memories, cursor=cursor)

    def _page(self, query: Criteria, limit: int, cursor: str | None) -> records.Page:
        try:
            return records.page(
                self._owned(query),
                limit=limit,
                cursor=cursor,
                order=Order.OLDEST,
                by=self._by,
            )
        except errors.NotFound:
            # A cursor of another workspace; nothing else of a list can be missing.
            raise mapping.bad_cursor() from None

    # ── Extensions ───────────────────────────────────────────────────────────
    def update(self, ref: types.MemoryRef, content: str) -> types.Memory:
        """Return a memory with new text; the old text is in its history."""

        with self.checked("update", ref.scope):
            record = records.amend(
                self._record(ref),
                Amendment(content=content),
                provenance=Provenance.USER_REQUESTED,
                by=self._by,
            )
            return mapping.memory(record)

    def package(self, request: types.PackageRequest) -> types.ContextPackage:
        """Return text for a prompt within its budget; see context_package."""
        return self.pack(request)[0].package

    def pack(
        self, request: types.PackageRequest, as_of: datetime | None = None
    ) -> tuple[context_package.Packed, types.SearchResultPage]:
        """Return a package with the tier of each hit, and the hits themselves."""
        package_request = reading.read(types.PackageRequest, request)

        with self.checked("package", package_request.scope):
            search_request = package_request.model_copy(
                update={"limit": package_request.limit or PACKAGE_HITS}
            )
            page = self._search(search_request, as_of)
            packed = context_package.pack(
                page.results,
                budget=package_request.token_budget,
                form=package_request.format,
            )
            return packed, page

    def search_as_of(
        self, request: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        """Return the hits as of a time."""
        when = request.as_of if isinstance(request, types.AsOfRequest) else as_of
        if when is None or when.tzinfo is None:
            raise contract_errors.ValidationError(
                "asOf: a time with its offset from UTC."
            )
        with self.checked("temporal", request.scope):
            return self._search(request, when)

    def history(self, ref: types.MemoryRef) -> list[types.MemoryVersion]:
        """Return the versions of a memory, oldest first; none for one not there."""

        with self.checked("versioning", ref.scope):
            return [
                types.MemoryVersion.model_validate(version, from_attributes=True)
                for version in self.versions(ref)
            ]

    def versions(self, ref: types.MemoryRef) -> list[records.Version]:
        """Return the versions with all their fields."""
        try:
            record = records.get(
                ref.id, owner=self._owner, by=self._by, statuses=READABLE_STATUSES
            )
            if not mapping.fits(record, ref.scope):
                return []
            return records.history(record.id, owner=self._owner, by=self._by)
        except errors.NotFound:
            return []

    def search_graph(self, request: types.GraphSearchRequest) -> types.GraphResult:
        """Return the graph around the hits of a query; see graph."""

        with self.checked("graph", request.scope):
            search_request = types.SearchRequest(
                query=request.query, scope=request.scope, reranker=request.reranker
            )
            result = self._search_records(search_request, request.limit or GRAPH_HITS)
            part = request.graph_scope
            return graph.draw(result.hits, part=part, owner=self._owner, by=self._by)

    def forget(self, ref: types.MemoryRef, reason: str | None = None) -> None:
        """Erase a memory's text, with a reason that the journal keeps."""
        with self.checked("forget", ref.scope):
            self._forget(ref, reason or "")

    def profile(
        self, scope: types.Scope, instructions: str | None = None
    ) -> types.Profile:
        """Return a profile from the newest memories of a scope; see insights."""
        return self.profile_with_maker(scope, instructions).profile

    def profile_with_maker(
        self, scope: types.Scope, instructions: str | None = None
    ) -> insights.ProfileResult:
        """Return a profile, and what made its summary."""

        with self.checked("profile", scope):
            query = self._owned(Criteria(scope=mapping.scope_in(scope)))
            rows = records.page(query, limit=PROFILE_RECORDS, by=self._by).rows
            return insights.profile(rows, instructions, _scope_fields(scope))

    def reflect(self, query: str, scope: types.Scope) -> list[types.Insight]:
        """Return conclusions from the hits of a query; see insights."""
        return self.reflect_with_maker(query, scope).insights

    def reflect_with_maker(self, query: str, scope: types.Scope) -> insights.Reflection:
        """Return conclusions, and what made them."""

        with self.checked("reflect", scope):
            search_request = reading.read(
                types.SearchRequest, {"query": query, "scope": scope}
            )
            result = self._search_records(search_request, REFLECTION_HITS)
            rows = [hit.record for hit in result.hits]
            return insights.reflect(rows, query, _scope_fields(scope))

    def batch_ingest(self, inputs: Sequence[types.Ingest]) -> list[types.IngestResult]:
        """Return a result for each input; all are stored, or none."""
        for item in inputs:
            self._check("batch", item.scope)
        if not inputs:
            return []
        requests = [reading.read_ingest(item) for item in inputs]
        with self.checked("ingest", requests[0].scope):
            return ingest.ingest_all(requests, owner=self._owner, by=self._by)

    def batch_delete(self, refs: Sequence[types.MemoryRef]) -> None:
        """Delete each; all are checked before the first is deleted."""
        for ref in refs:
            self._check("batch", ref.scope)
        for ref in refs:
            self.delete(ref)

    def health(self) -> types.HealthStatus:
        """Return whether the records respond, and how fast; not ready is not ok."""
        start = time.perf_counter()
        try:
            self._require_ready()
            records.probe(self._by.workspace_id)
        except Exception:  # noqa: BLE001  (health reports and never raises)
            return types.HealthStatus(ok=False, version=VERSION)
        milliseconds = round((time.perf_counter() - start) * 1_000, 3)
        return types.HealthStatus(ok=True, latency_ms=milliseconds, version=VERSION)
