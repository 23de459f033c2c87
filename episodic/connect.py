"""What this package registers with the memory package at start-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from episodic import agent_tools, llm_port, tasks
from episodic.consolidation import extractor
from episodic.embedders.base import EmbedderError, failure_text
from episodic.embedders.base import State as EmbedderState
from episodic.index import decay, engine, erasure, policy
from episodic.map import erasure as map_erasure
from episodic.models import Embedding, State
from episodic.recall import name_index
from episodic.recall import search as recall
from episodic.recall.request import Request
from episodic.vectors import pg_counts
from episodic.vectors.base import VectorScope
from memory import recall_database
from memory.fulltext import WordScope
from memory.journal import append as journal
from memory.models import Agent, Crew, JournalEntry, Membership
from memory.ports import language_model, ranker
from memory.ports.ranker import EmbeddingState, Meanings, Question, Recalled
from memory.rules.permissions import Actor


class Hybrid:
    """The hybrid ranker: words and meaning, fused."""

    name = "hybrid"

    def is_embeddable(
        self,
        entry_type: str,
        severity: str,
        payload: Mapping[str, Any],
        refs: Mapping[str, Any],
    ) -> bool:
        """Whether policy embeds such an entry."""
        return policy.judge(entry_type, severity, payload, refs).embeds

    def states(self, entries: Sequence[JournalEntry]) -> dict[str, EmbeddingState]:
        """Return the embedding state of each entry, by entry id."""
        rows = Embedding.objects.defer("vector").in_bulk([e.id for e in entries])
        return {e.id: _state(e, rows.get(e.id)) for e in entries}

    def recall(self, question: Question, *, by: Actor) -> list[Recalled]:
        """Rank by words and meaning; the hits are not counted as referenced."""
        request = Request(
            query=question.query,
            scope=question.scope,
            crew_id=question.crew_id,
            agent_id=question.agent_id,
            k=question.limit,
            entry_types=question.entry_types,
            mark=False,
        )
        hits = recall.search(request, by=by).hits
        return [Recalled(hit.entry, hit.score, hit.via) for hit in hits]

    def cosines(
        self,
        text: str,
        entry_ids: Sequence[str],
        *,
        workspace_id: str,
        as_question: bool = True,
    ) -> dict[str, float] | None:
        """Return the cosines of named entries; None while the embedder does not answer.

        A statement (not a question) is not embedded while the embedder is failing.
        """
        failing = engine.status().state is EmbedderState.FAILING
        if not entry_ids or (failing and not as_question):
            return {} if not entry_ids else None
        embedder = engine.embedder()
        try:
            if as_question:
                vector = embedder.embed_query(text)
            else:
                vector = embedder.embed_documents([text])[0]
        except EmbedderError:
            return None
        scope = VectorScope(workspace_id=workspace_id, model=embedder.model)
        return engine.vectors().cosines(vector, scope, list(entry_ids))

    def meanings(
        self, query: str, entry_ids: Sequence[str], *, workspace_id: str
    ) -> Meanings | None:
        """Return how near entries are; None while the embedder does not answer."""
        if not entry_ids:
            return Meanings({}, {})
        embedder = engine.embedder()
        try:
            vector = embedder.embed_query(query)
        except EmbedderError:
            return None
        scope = VectorScope(workspace_id=workspace_id, model=embedder.model)
        return Meanings(*engine.vectors().meanings(vector, scope, list(entry_ids)))

    def nearest(
        self, query: str, scope: WordScope, *, limit: int, min_similarity: float
    ) -> dict[str, float] | None:
        """Return a scope's nearest entries; None while the embedder does not answer."""
        embedder = engine.embedder()
        try:
            vector = embedder.embed_query(query)
        except EmbedderError:
            return None
        vector_scope = VectorScope(**asdict(scope), model=embedder.model)
        hits = engine.vectors().nearest(vector, vector_scope, limit, min_similarity)
        return {hit.entry_id: hit.cosine for hit in hits}


def _state(entry: JournalEntry, row: Embedding | None) -> EmbeddingState:
    if row is None:
        return EmbeddingState("pending" if entry.embeddable else "not_embeddable")
    is_indexed = row.state == State.INDEXED
    parts = decay.parts(entry, row, timezone.now()) if is_indexed else None
    return EmbeddingState(
        state=row.state,
        model=row.model or None,
        dim=row.dim or None,
        indexed_at=journal.stamp(row.indexed_at)
        if is_indexed and row.indexed_at
        else None,
        attempts=row.attempts,
        last_error=row.last_error or None,
        importance=round(row.importance_score, 4),
        importance_parts=asdict(parts) if parts else None,
        failure=failure_text(row.last_error),
    )


def connect() -> None:
    """Register ports, tools and signals."""
    ranker.register(Hybrid())
    language_model.register(llm_port.OllamaLanguageModel())
    erasure.install()
    map_erasure.install()
    agent_tools.install()
    extractor.install()
    if pg_counts.MARK not in recall_database.marks:
        recall_database.marks.append(pg_counts.MARK)
    journal.entry_appended.connect(tasks.nudge, dispatch_uid="episodic.nudge")
    for model in (Agent, Crew, Membership):
        uid = f"episodic.names.{model.__name__}"
        post_save.connect(name_index.on_change, sender=model, dispatch_uid=uid)
        post_delete.connect(name_index.on_change, sender=model, dispatch_uid=uid)
