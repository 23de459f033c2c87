"""Our provider of the capability contract, bound to whoever asks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import errors as contract_errors
from memory.integrations.atomicmemory.contract import reading, types
from memory.integrations.atomicmemory.contract.base import MemoryProvider
from memory.integrations.atomicmemory.contract.extensions import (
    Capabilities,
    Extensions,
)
from memory.integrations.atomicmemory.provider import (
    context_package,
    graph,
    ingest,
    insights,
    mapping,
)
from memory.models import Record
from memory.records import Amendment, Found, Order, Provenance, Wanted
from memory.rules import errors
from memory.rules.permissions import Actor

NAME: Final = "native"
VERSION: Final = "1"
PAGE: Final = 20
PACKED: Final = 50
REFLECTED: Final = 20
GRAPHED: Final = 10
STANDING: Final = ("current", "superseded")
PROFILED: Final = 200
FILTER_OPS: Final = ("eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "exists")
_ALL: Final = Extensions(**dict.fromkeys(Extensions.model_fields, True))


def _named_in(scope: types.Scope) -> dict[str, str]:
    """Return the fields of a scope that say something."""
    return {name: value for name, value in scope.model_dump().items() if value}


class Remembering(MemoryProvider):
    """Memory in records, for one actor; the owner is the actor's own by default."""

    name = NAME

    def __init__(self, by: Actor, owner: Owner | None = None) -> None:
        super().__init__()
        self._by = by
        self._owner = owner or records.owner_for(by)

    def capabilities(self) -> Capabilities:
        """Return all of it: three modes, ten extensions, every filter operator."""
        return Capabilities(
            ingest_modes=["text", "messages", "verbatim"],
            required_scope={"default": ["user"]},
            extensions=_ALL,
            supported_rerankers=[],
            supported_filter_ops=list(FILTER_OPS),
            max_token_budget=context_package.MOST_TOKENS,
        )

    # ── The five ─────────────────────────────────────────────────────────────
    def _ingest(self, asked: types.Ingest) -> types.IngestResult:
        return ingest.take([asked], owner=self._owner, by=self._by)[0]

    def _mine(self, wanted: Wanted) -> Wanted:
        return replace(wanted, owner=self._owner)

    def _asked(self, asked: types.SearchRequest, as_of: datetime | None) -> Wanted:
        if asked.reranker is not None:
            raise contract_errors.UnsupportedOperationError(
                "search: there is no reranker here.", provider=NAME, operation="search"
            )
        return self._mine(
            Wanted(
                scope=mapping.scope_in(asked.scope), filter=asked.filter, as_of=as_of
            )
        )

    def _look(
        self, asked: types.SearchRequest, limit: int, as_of: datetime | None = None
    ) -> Found:
        return records.search(
            asked.query,
            self._asked(asked, as_of),
            limit=limit,
            offset=mapping.offset(asked.cursor),
            min_score=asked.threshold or 0.0,
            by=self._by,
        )

    def _hits(
        self, asked: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        limit = asked.limit or PAGE
        found = self._look(asked, limit, as_of)
        results = [mapping.hit(one) for one in found.hits]
        full = len(results) == limit
        return types.SearchResultPage(
            results=results,
            cursor=str(mapping.offset(asked.cursor) + limit) if full else None,
            retrieval=mapping.receipt(asked.query, found),
        )

    def _search(self, asked: types.SearchRequest) -> types.SearchResultPage:
        return self._hits(asked)

    def _named(self, ref: types.MemoryRef) -> Record:
        record = records.get(ref.id, owner=self._owner, by=self._by)
        if not mapping.fits(record, ref.scope):
            raise errors.NotFound
        return record

    def _get(self, asked: types.MemoryRef) -> types.Memory | None:
        try:
            record = self._named(asked)
        except errors.NotFound:
            return None
        return mapping.memory(record) if records.is_safe(record) else None

    def _delete(self, asked: types.MemoryRef) -> None:
        self._gone(asked, "")

    def _gone(self, asked: types.MemoryRef, reason: str) -> None:
        """Forget a memory; what is gone already, or out of scope, is left alone."""
        with suppress(errors.NotFound):
            records.forget(self._named(asked), reason=reason, by=self._by)

    def _list(self, asked: types.ListRequest) -> types.ListResultPage:
        wanted = Wanted(scope=mapping.scope_in(asked.scope), filter=asked.filter)
        limit, cursor, rows = asked.limit or PAGE, asked.cursor, list[Record]()
        while True:
            page = self._page(wanted, limit - len(rows), cursor)
            rows, cursor = [*rows, *page.rows], page.next_cursor
            if cursor is None or len(rows) == limit:
                break
        memories = [mapping.memory(row) for row in rows]
        return types.ListResultPage(memories=memories, cursor=cursor)

    def _page(self, wanted: Wanted, limit: int, cursor: str | None) -> records.Page:
        try:
            return records.page(
                self._mine(wanted),
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
        """Return a memory with new words; the old ones are in its history."""

        def hook() -> types.Memory:
            record = records.amend(
                self._named(ref),
                Amendment(content=content),
                provenance=Provenance.USER_REQUESTED,
                by=self._by,
            )
            return mapping.memory(record)

        return self.run("update", ref.scope, hook)

    def package(self, request: types.PackageRequest) -> types.ContextPackage:
        """Return text for a prompt, within its budget; see packaging."""
        return self.pack(request)[0].package

    def pack(
        self, request: types.PackageRequest, as_of: datetime | None = None
    ) -> tuple[context_package.Packed, types.SearchResultPage]:
        """Return a package with what each hit became, and the hits behind it."""
        asked = reading.read(types.PackageRequest, request)

        def hook() -> tuple[context_package.Packed, types.SearchResultPage]:
            wide = asked.model_copy(update={"limit": asked.limit or PACKED})
            page = self._hits(wide, as_of)
            made = context_package.pack(
                page.results, budget=asked.token_budget, form=asked.format
            )
            return made, page

        return self.run("package", asked.scope, hook)

    def search_as_of(
        self, request: types.SearchRequest, as_of: datetime | None = None
    ) -> types.SearchResultPage:
        """Return what would have been found at a time."""
        when = request.as_of if isinstance(request, types.AsOfRequest) else as_of
        if when is None or when.tzinfo is None:
            raise contract_errors.ValidationError(
                "asOf: a time with its offset from UTC."
            )
        return self.run("temporal", request.scope, lambda: self._hits(request, when))

    def history(self, ref: types.MemoryRef) -> list[types.MemoryVersion]:
        """Return the versions of a memory, oldest first; none for one not there."""

        def hook() -> list[types.MemoryVersion]:
            return [mapping.version(one) for one in self.versions(ref)]

        return self.run("versioning", ref.scope, hook)

    def versions(self, ref: types.MemoryRef) -> list[records.Version]:
        """Return the versions with all that is known of them."""
        try:
            record = records.get(
                ref.id, owner=self._owner, by=self._by, statuses=STANDING
            )
            if not mapping.fits(record, ref.scope):
                return []
            return records.history(record.id, owner=self._owner, by=self._by)
        except errors.NotFound:
            return []

    def search_graph(self, request: types.GraphSearchRequest) -> types.GraphResult:
        """Return the graph around what a question finds; see picture."""

        def hook() -> types.GraphResult:
            asked = types.SearchRequest(
                query=request.query, scope=request.scope, reranker=request.reranker
            )
            found = self._look(asked, request.limit or GRAPHED)
            part = request.graph_scope
            return graph.draw(found.hits, part=part, owner=self._owner, by=self._by)

        return self.run("graph", request.scope, hook)

    def forget(self, ref: types.MemoryRef, reason: str | None = None) -> None:
        """Take a memory's words away, with a reason that the journal keeps."""
        self.run("forget", ref.scope, lambda: self._gone(ref, reason or ""))

    def profile(
        self, scope: types.Scope, instructions: str | None = None
    ) -> types.Profile:
        """Return what the newest memories of a scope tell; see insights."""
        return self.portray(scope, instructions).profile

    def portray(
        self, scope: types.Scope, instructions: str | None = None
    ) -> insights.Portrait:
        """Return a profile, and who wrote its summary."""

        def hook() -> insights.Portrait:
            wanted = self._mine(Wanted(scope=mapping.scope_in(scope)))
            rows = records.page(wanted, limit=PROFILED, by=self._by).rows
            return insights.profile(rows, instructions, _named_in(scope))

        return self.run("profile", scope, hook)

    def reflect(self, query: str, scope: types.Scope) -> list[types.Insight]:
        """Return conclusions from what a question finds; see insights."""
        return self.ponder(query, scope).insights

    def ponder(self, query: str, scope: types.Scope) -> insights.Reflection:
        """Return conclusions, and who drew them."""

        def hook() -> insights.Reflection:
            asked = reading.read(types.SearchRequest, {"query": query, "scope": scope})
            found = self._look(asked, REFLECTED)
            rows = [hit.record for hit in found.hits]
            return insights.reflect(rows, query, _named_in(scope))

        return self.run("reflect", scope, hook)

    def batch_ingest(self, inputs: Sequence[types.Ingest]) -> list[types.IngestResult]:
        """Return a result for each input; they are kept together, or none is."""
        for one in inputs:
            self.run("batch", one.scope, lambda: None)
        if not inputs:
            return []
        given = [reading.read_ingest(one) for one in inputs]

        def hook() -> list[types.IngestResult]:
            return ingest.take(given, owner=self._owner, by=self._by)

        return self.run("ingest", given[0].scope, hook)

    def batch_delete(self, refs: Sequence[types.MemoryRef]) -> None:
        """Delete each; all are checked before the first goes."""
        for ref in refs:
            self.run("batch", ref.scope, lambda: None)
        for ref in refs:
            self.delete(ref)

    def health(self) -> types.HealthStatus:
        """Tell whether the records answer, and how fast; not ready is not ok."""
        begun = time.perf_counter()
        try:
            self._require_ready()
            records.probe(self._by.workspace_id)
        except Exception:  # noqa: BLE001  (health tells, it never raises)
            return types.HealthStatus(ok=False, version=VERSION)
        spent = round((time.perf_counter() - begun) * 1_000, 3)
        return types.HealthStatus(ok=True, latency_ms=spent, version=VERSION)
