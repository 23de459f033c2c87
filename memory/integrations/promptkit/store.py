"""PromptKit's store over our records: an agent's memories, ranked, expiring, scanned.

A scope is matched as a whole map. The workspace and the agent of the credential are
what every memory here lies in, so naming them in a scope says nothing more: with them
or without, it is the same scope. Any other key makes a scope of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memory import records, tool_registry
from memory.files.paths import Owner
from memory.integrations.promptkit import extras
from memory.integrations.promptkit.memories import PROVENANCE, Memory, Provenance, Scope
from memory.integrations.promptkit.protocols import (
    ANYTHING,
    FIRST,
    LISTED,
    RETRIEVED,
    Listing,
    Memories,
    Registry,
    Retrieve,
)
from memory.models import Record
from memory.records.drafts import Draft
from memory.records.drafts import Scope as Shelved
from memory.rules import errors
from memory.rules.permissions import Actor

MOST: Final = 200
KNOWN: Final = frozenset(Provenance)


class RecordStore:
    """Keeps memories for the agent behind ``by``."""

    def __init__(self, by: Actor, *, owner: Owner | None = None) -> None:
        self._by, self._owner = by, owner or records.owner_for(by)

    # ── Scopes ───────────────────────────────────────────────────────────────
    def _shelved(self, scope: Scope) -> Shelved:
        agent = self._owner.agent_id if self._owner else None
        implied = {"workspace_id": self._by.workspace_id, "agent_id": agent}
        said = {k: v for k, v in scope.items() if implied.get(k) != v}
        return Shelved.of(said)

    def _wanted(self, scope: Scope, **more: Any) -> records.Wanted:
        return records.Wanted(
            owner=self._owner,
            scope=self._shelved(scope),
            match=records.Match.EXACT,
            **more,
        )

    # ── Writing ──────────────────────────────────────────────────────────────
    def save(self, memory: Memory) -> None:
        """Save a new record; raises what the records service raises."""
        metadata = {k: v for k, v in memory.metadata.items() if k != PROVENANCE}
        said = memory.provenance
        turns = list(memory.turn_range)
        draft = Draft(
            content=memory.content,
            owner=self._owner,
            kind=memory.type,
            scope=self._shelved(memory.scope),
            metadata=metadata,
            confidence=memory.confidence,
            session_id=memory.session_id,
            turn_range=turns if any(turns) else None,
            expires_at=memory.expires_at,
        )
        stamped = said if said in KNOWN else Provenance.SYSTEM_GENERATED.value
        row = records.save(draft, provenance=stamped, by=self._by).record
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
        self, scope: Scope, query: str, options: Retrieve = ANYTHING
    ) -> Memories:
        """Return the best memories by words and meaning; oldest first for no query."""
        size = min(options.limit if options.limit > 0 else RETRIEVED, MOST)
        least = min(1.0, max(0.0, options.min_confidence))
        wanted = self._wanted(scope, kinds=options.types, min_confidence=least)
        if query.strip():
            found = records.search(query, wanted, limit=size, by=self._by)
            rows = [hit.record for hit in found.hits]
        else:
            rows = self._rows(wanted, size, 0)
        return [self._memory(row, scope) for row in rows]

    def _rows(self, wanted: records.Wanted, size: int, offset: int) -> list[Record]:
        page = records.page(
            wanted, limit=size, offset=offset, order=records.Order.OLDEST, by=self._by
        )
        return page.rows

    def list(self, scope: Scope, options: Listing = FIRST) -> Memories:
        """Return memories oldest first."""
        size = min(options.limit if options.limit > 0 else LISTED, MOST)
        wanted = self._wanted(scope, kinds=options.types)
        rows = self._rows(wanted, size, max(0, options.offset))
        return [self._memory(row, scope) for row in rows]

    # ── Forgetting ───────────────────────────────────────────────────────────
    def _is_mine(self, row: Record, scope: Scope) -> bool:
        own = self._owner.agent_id if self._owner else None
        return (
            row.agent_id == own
            and records.scope_of(row).key == self._shelved(scope).key
        )

    def delete(self, scope: Scope, memory_id: str) -> None:
        """Forget one; another scope's is left alone without a word."""
        try:
            row = records.get(memory_id, owner=self._owner, by=self._by)
        except errors.NotFound:
            return
        if self._is_mine(row, scope):
            records.forget(row, reason="asked by a tool", by=self._by)

    def delete_all(self, scope: Scope) -> None:
        """Forget what is in exactly this scope, however much it is."""
        self._by.require("records.write")
        wanted = self._wanted(scope)
        cursor: str | None = None
        while True:
            page = records.page(
                wanted,
                limit=MOST,
                cursor=cursor,
                order=records.Order.OLDEST,
                by=self._by,
            )
            for row in page.rows:
                if self._is_mine(row, scope):
                    records.forget(row, reason="the scope was deleted", by=self._by)
            cursor = page.next_cursor
            if cursor is None:
                return

    # ── Tools of its own ─────────────────────────────────────────────────────
    def register_tools(self, registry: Registry) -> None:
        """Offer ``memory__history`` and ``memory__revise`` beside the four."""
        for one in extras.EXTRAS:
            registry.register(one)

    def execute(
        self, scope: Scope, name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Carry one of them out; NotFound for what is not in exactly this scope."""
        known = {one.name: one for one in extras.EXTRAS}
        if name not in known:
            raise errors.NotFound
        tool_registry.check(name, known[name].input_schema, arguments)
        row = records.get(arguments["memory_id"], owner=self._owner, by=self._by)
        if not self._is_mine(row, scope):
            raise errors.NotFound
        if name == extras.HISTORY.name:
            told = records.history(row.id, owner=self._owner, by=self._by)
            return extras.as_history(row.id, told)
        return self._revise(row, arguments["content"])

    def _revise(self, row: Record, content: str) -> dict[str, Any]:
        stamped, why = Provenance.USER_REQUESTED.value, "asked by a tool"
        change = records.Amendment(content=content)
        done = records.amend(row, change, provenance=stamped, reason=why, by=self._by)
        return {"status": "revised", "memory_id": done.id, "version": done.version}
