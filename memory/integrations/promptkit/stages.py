"""Stages before and after a model. A failure of memory never fails a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from memory.integrations.promptkit import memories
from memory.integrations.promptkit.memories import Memory, Provenance, Scope, formatted
from memory.integrations.promptkit.protocols import Extractor, Retriever, Store, Turn

VARIABLE = "memory_context"
log = structlog.get_logger(__name__)


class RetrievalStage:
    """Sets the turn's variable ``memory_context`` to the memories found."""

    def __init__(
        self,
        retriever: Retriever | None,
        scope: Scope,
        formatter: Callable[[Sequence[Memory]], str] = formatted,
    ) -> None:
        self._retriever, self._scope, self._formatter = retriever, scope, formatter

    def process(self, turn: Turn) -> Turn:
        """Search once, with the whole conversation; failures are logged."""
        if self._retriever is None or not turn.messages:
            return turn
        try:
            recalled = self._retriever.retrieve_context(self._scope, turn.messages)
            text = self._formatter(recalled)
        except Exception as error:  # noqa: BLE001  (a turn goes on without memory)
            log.warning("memory_retrieval_failed", error=type(error).__name__)
            return turn
        if text:
            turn.variables[VARIABLE] = text
        return turn


class ExtractionStage:
    """Saves the memories extracted from a turn, in order.

    They are of the session, where the host names it; so its turns are connected.
    """

    def __init__(
        self,
        extractor: Extractor | None,
        store: Store,
        scope: Scope,
        session_id: str = "",
    ) -> None:
        self._extractor, self._store, self._scope = extractor, store, scope
        self._session_id = session_id

    def process(self, turn: Turn) -> Turn:
        """Extract and save; a memory that cannot be saved does not stop the others."""
        if self._extractor is None or not turn.messages:
            return turn
        try:
            extracted = self._extractor.extract(self._scope, turn.messages)
        except Exception as error:  # noqa: BLE001  (a turn goes on without memory)
            log.warning("memory_extraction_failed", error=type(error).__name__)
            return turn
        for memory in extracted:
            self._keep(memory)
        return turn

    def _keep(self, memory: Memory) -> None:
        memory.scope = memory.scope or dict(self._scope)
        memory.session_id = memory.session_id or self._session_id
        if not memory.provenance:
            memories.stamp(memory, Provenance.AGENT_EXTRACTED)
        try:
            self._store.save(memory)
        except Exception as error:  # noqa: BLE001  (a turn goes on without memory)
            log.warning("memory_save_failed", error=type(error).__name__)
