"""The port through which ``episodic`` supplies embeddings and ranking by meaning.

Without it, search is by words. The registered ranker decides which entries are to be
embedded, knows the state of each embedding, and ranks by meaning. Every call names the
actor: results are limited to what that actor may read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memory import fulltext
from memory.fulltext import WordScope
from memory.models import Agent, Crew, JournalEntry
from memory.ports.port import Port
from memory.rules import errors
from memory.word_index import ranking as word_ranking

if TYPE_CHECKING:
    from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """The state of an entry's embedding.

    ``state`` is not_embeddable, pending, indexed or failed. ``importance`` is the
    weight computed last night, ``importance_parts`` its parts as of now. ``failure``
    is ``last_error`` in the reader's language.
    """

    state: str
    model: str | None = None
    dim: int | None = None
    indexed_at: str | None = None
    attempts: int = 0
    last_error: str | None = None
    importance: float | None = None
    importance_parts: dict[str, float] | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search of the journal.

    ``scope`` is own, crew_shared or None for the actor's default. Empty ``entry_types``
    are the types worth recalling.
    """

    query: str
    scope: str | None = None
    crew_id: str | None = None
    agent_id: str | None = None
    limit: int = 10
    entry_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """One entry of an answer, best first; scores compare within one answer only."""

    entry: JournalEntry
    score: float
    via: str


@dataclass(frozen=True, slots=True)
class Meanings:
    """How near entries are to a question, by entry id.

    ``centred`` is the cosine as seen from the mean of the workspace's vectors: it ranks
    better, and is not shown. Both have the same entries.
    """

    cosine: Mapping[str, float]
    centred: Mapping[str, float]


class Ranker(Protocol):
    """What ``episodic`` implements; as it stands, the answers without embeddings."""

    name: str

    def is_embeddable(
        self,
        entry_type: str,
        severity: str,
        payload: Mapping[str, Any],
        refs: Mapping[str, Any],
    ) -> bool:
        """Whether such an entry is to be embedded."""
        return False

    def states(self, entries: Sequence[JournalEntry]) -> dict[str, EmbeddingState]:
        """Return the embedding state of each entry, by entry id."""
        return {entry.id: EmbeddingState("not_embeddable") for entry in entries}

    def recall(self, question: Question, *, by: Actor) -> list[Recalled]:
        """Return the best entries the actor may read, without counting them as used."""
        return words_only(question, by=by)

    def cosines(
        self,
        text: str,
        entry_ids: Sequence[str],
        *,
        workspace_id: str,
        as_question: bool = True,
    ) -> dict[str, float] | None:
        """Return entry id → cosine to a text, for the named entries that have a vector.

        None when no embedder is available. The text is a question, or a statement
        like the entries. The caller checks who may see the entries.
        """
        return None

    def meanings(
        self, query: str, entry_ids: Sequence[str], *, workspace_id: str
    ) -> Meanings | None:
        """Return how near named entries are to a question, those that have a vector.

        None when no embedder is available. The caller checks who may see the entries.
        """
        return None

    def nearest(
        self, query: str, scope: WordScope, *, limit: int, min_similarity: float
    ) -> dict[str, float] | None:
        """Return the entries of a scope that are nearest to a question, best first.

        None when no embedder is available; ``min_similarity`` is the lowest cosine.
        """
        return None


class WordsOnly(Ranker):
    """The default: ranking is by words."""

    name = "words"


def _word_scope(question: Question, by: Actor) -> WordScope:
    """Return what may be searched; NotFound for ids of another crew or workspace."""
    crew_id, agent_id = question.crew_id, question.agent_id
    crews = Crew.objects.filter(workspace_id=by.workspace_id)
    agents = Agent.objects.filter(workspace_id=by.workspace_id)
    if by.is_agent:
        if crew_id not in (None, by.crew_id) or agent_id not in (None, by.id):
            raise errors.NotFound
        crew_id = by.crew_id if question.scope == "crew_shared" else None
        agent_id = by.id
    else:
        no_crew = crew_id and not crews.filter(pk=crew_id).exists()
        if no_crew or (agent_id and not agents.filter(pk=agent_id).exists()):
            raise errors.NotFound
    return WordScope(
        workspace_id=by.workspace_id,
        crew_id=crew_id,
        agent_id=agent_id,
        rules_crew_id=by.crew_id if by.is_agent else None,
        entry_types=question.entry_types,
        embeddable_only=False,
    )


def words_only(question: Question, *, by: Actor) -> list[Recalled]:
    """Return the best entries by words alone."""
    by.require("recall.ask")
    query = fulltext.word_query(question.query)
    hits = word_ranking.search(query, _word_scope(question, by), question.limit).hits
    by_id = JournalEntry.objects.filter(
        workspace_id=by.workspace_id,
        erased_at__isnull=True,
        retired_at__isnull=True,
        restricted_at__isnull=True,
    ).in_bulk([hit.entry_id for hit in hits])
    return [
        Recalled(by_id[hit.entry_id], hit.score, "words")
        for hit in hits
        if hit.entry_id in by_id
    ]


_port: Port[Ranker] = Port(WordsOnly())


def register(ranker: Ranker) -> None:
    """Set the ranker; called once, at start-up."""
    _port.implementation = ranker


def ranker() -> Ranker:
    return _port.implementation
