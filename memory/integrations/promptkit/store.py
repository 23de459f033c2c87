"""PromptKit's store over our records: an agent's memories, ranked, expiring, scanned.

A scope is matched as a whole map. Every memory here belongs to the credential's
workspace and agent, so naming them in a scope makes no difference. Any other key makes
a scope of its own.

A ``session_id`` is a conversation: the journal entries of its memories share a trace
id. The tools that models call name no session, and their memories have no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memory import records, tool_registry
from memory.integrations.promptkit import extras
from memory.integrations.promptkit.memories import PROVENANCE, Memory, Provenance, Scope
from memory.integrations.promptkit.protocols import (
    DEFAULT_LIST,
    DEFAULT_RETRIEVE,
    FIRST_PAGE,
    NO_FILTERS,
    Listing,
    Memories,
    Registry,
    Retrieve,
)
from memory.models import Record
from memory.records.drafts import Draft
from memory.records.drafts import Scope as RecordScope
from memory.rules import errors
from memory.rules.permissions import Actor

MAX_LIMIT: Final = 200
PROVENANCES: Final = frozenset(Provenance)


class RecordStore:
    """A store of memories for the agent behind ``by``."""

    def __init__(self, by: Actor) -> None:
        self._by, self._owner = by, records.owner_for(by)

    # ── Scopes ───────────────────────────────────────────────────────────────
    def _record_scope(self, scope: Scope) -> RecordScope:
        agent = self._owner.agent_id if self._owner else None
        implied = {"workspace_id": self._by.workspace_id, "agent_id": agent}
        extra = {k: v for k, v in scope.items() if implied.get(k) != v}
        return RecordScope.of(extra)

    def _query(self, scope: Scope, **filters: Any) -> records.Criteria:
        return records.Criteria(
            owner=self._owner,
            scope=self._record_scope(scope),
            match=records.Match.EXACT,
            **filters,
        )

    # ── Writing ──────────────────────────────────────────────────────────────
    def save(self, memory: Memory) -> None:
        """Save a new record, with the errors of ``records.save``."""
        metadata = {k: v for k, v in memory.metadata.items() if k != PROVENANCE}
        source = memory.provenance
        turns = list(memory.turn_range)
        draft = Draft(
            content=memory.content,
            owner=self._owner,
            kind=memory.type,
            scope=self._record_scope(memory.scope),
            metadata=metadata,
            confidence=memory.confidence,
            session_id=memory.session_id,
            turn_range=turns if any(turns) else None,
            expires_at=memory.expires_at,
        )
        provenance = (
            source if source in PROVENANCES else Provenance.SYSTEM_GENERATED.value
        )
        row = records.save(draft, provenance=provenance, by=self._by).record
        memory.id = row.id
        memory.created_at, memory.accessed_at = row.created_at, row.updated_at

    # ── Reading ──────────────────────────────────────────────────────────────
    def _memory(self, row: Record, scope: Scope) -> Memory:
        turns = row.turn_range or [0, 0]
        return Memory(
            id=row.id,
            content=row.content,
            type=row.kind,
            scope=dict(scope),
            metadata={**row.metadata, PROVENANCE: row.provenance},
            confidence=row.confidence,
            session_id=row.session_id,
            turn_range=(turns[0], turns[-1]),
            created_at=row.created_at,
            accessed_at=row.updated_at,
            expires_at=row.expires_at,
        )

    def retrieve(
        self, scope: Scope, query: str, options: Retrieve = NO_FILTERS
    ) -> Memories:
        """Return memories ranked by words and meaning; oldest first without a query."""
        size = min(options.limit if options.limit > 0 else DEFAULT_RETRIEVE, MAX_LIMIT)
        min_confidence = min(1.0, max(0.0, options.min_confidence))
        filters = self._query(scope, kinds=options.types, min_confidence=min_confidence)
        if query.strip():
            result = records.search(query, filters, limit=size, by=self._by)
            rows = [hit.record for hit in result.hits]
        else:
            rows = self._rows(filters, size, 0)
        return [self._memory(row, scope) for row in rows]

    def _rows(self, filters: records.Criteria, size: int, offset: int) -> list[Record]:
        page = records.page(
            filters, limit=size, offset=offset, order=records.Order.OLDEST, by=self._by
        )
        return page.rows

    def list(self, scope: Scope, options: Listing = FIRST_PAGE) -> Memories:
        size = min(options.limit if options.limit > 0 else DEFAULT_LIST, MAX_LIMIT)
        filters = self._query(scope, kinds=options.types)
        rows = self._rows(filters, size, max(0, options.offset))
        return [self._memory(row, scope) for row in rows]

    # ── Forgetting ───────────────────────────────────────────────────────────
    def _is_in_scope(self, row: Record, scope: Scope) -> bool:
        own = self._owner.agent_id if self._owner else None
        return (
            row.agent_id == own
            and records.scope_of(row).key == self._record_scope(scope).key
        )

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Forget one; do nothing for one of another scope."""
        try:
            row = records.get(memory_id, owner=self._owner, by=self._by)
        except errors.NotFound:
            return
        if self._is_in_scope(row, scope):
            records.forget(row, reason="asked by a tool", by=self._by)

    def delete_all(self, scope: Scope) -> None:
        """Forget all memories of exactly this scope."""
        self._by.require("records.write")
        filters = self._query(scope)
        for row in records.every(filters, by=self._by):
            if self._is_in_scope(row, scope):
                records.forget(row, reason="the scope was deleted", by=self._by)

    # ── Additional tools ────────────────────────────────────────────────────
    def register_tools(self, registry: Registry) -> None:
        """Register ``memory__history`` and ``memory__revise``."""
        for tool in extras.EXTRAS:
            registry.register(tool)

    def execute(
        self, scope: Scope, name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run one of them; NotFound for what is not in exactly this scope."""
        if name not in extras.ARGUMENTS:
            raise errors.NotFound
        checked = tool_registry.parse(extras.ARGUMENTS[name], arguments)
        row = records.get(checked.memory_id, owner=self._owner, by=self._by)
        if not self._is_in_scope(row, scope):
            raise errors.NotFound
        if isinstance(checked, extras.Revision):
            return self._revise(row, checked.content)
        versions = records.history(row.id, owner=self._owner, by=self._by)
        return extras.as_history(row.id, versions)

    def _revise(self, row: Record, content: str) -> dict[str, Any]:
        revised = records.amend(
            row,
            records.Amendment(content=content),
            provenance=Provenance.USER_REQUESTED.value,
            reason="asked by a tool",
            by=self._by,
        )
        return {
            "status": "revised",
            "memory_id": revised.id,
            "version": revised.version,
        }
