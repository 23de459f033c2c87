"""The port through which the ground floor gets what only the first floor knows.

The ground floor appends and searches by words alone. The first floor registers a ranker
at start-up that also knows which entries deserve an embedding, what state an entry's
embedding is in, and how to rank by meaning. Whoever asks for a ranking says who asks:
the ranker keeps to what that actor may read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memory import fulltext
from memory.fulltext import WordScope
from memory.models import Agent, Crew, JournalEntry
from memory.rules import errors

if TYPE_CHECKING:
    from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """Where an entry's embedding stands.

    ``state`` is not_embeddable, pending, indexed or failed. ``importance`` is the
    weight as of the last night, ``importance_parts`` what it is made of now.
    """

    state: str
    model: str | None = None
    dim: int | None = None
    indexed_at: str | None = None
    attempts: int = 0
    last_error: str | None = None
    importance: float | None = None
    importance_parts: dict[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for in the journal.

    ``scope`` is own, crew_shared or None for the asker's default. ``entry_types``
    empty means what is worth recalling.
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


class Ranker(Protocol):
    """What the first floor fills in."""

    name: str

    def is_embeddable(
        self,
        entry_type: str,
        severity: str,
        payload: Mapping[str, Any],
        refs: Mapping[str, Any],
    ) -> bool:
        """Whether such an entry deserves an embedding."""
        ...

    def states(self, entries: Sequence[JournalEntry]) -> dict[str, EmbeddingState]:
        """Return the embedding state of each entry, by entry id."""
        ...

    def recall(self, question: Question, *, by: Actor) -> list[Recalled]:
        """Return the best entries the actor may read; none is marked as used."""
        ...

    def cosines(
        self,
        text: str,
        entry_ids: Sequence[str],
        *,
        workspace_id: str,
        as_question: bool = True,
    ) -> dict[str, float] | None:
        """Return how near named entries are to a text, those that have a vector.

        None when meaning cannot be asked now. The text is a question, or a statement
        like the entries' own. The caller answers for who may see the entries.
        """
        ...

    def nearest(
        self, query: str, scope: WordScope, *, limit: int, least: float
    ) -> dict[str, float] | None:
        """Return the entries of a scope that are nearest to a question, best first.

        None when meaning cannot be asked now; ``least`` is the least nearness.
        """
        ...


class WordsOnly:
    """The default: nothing is embedded, ranking is by words."""

    name = "words"

    def is_embeddable(
        self,
        entry_type: str,  # noqa: ARG002  (the protocol names it)
        severity: str,  # noqa: ARG002
        payload: Mapping[str, Any],  # noqa: ARG002
        refs: Mapping[str, Any],  # noqa: ARG002
    ) -> bool:
        """Nothing is."""
        return False

    def states(self, entries: Sequence[JournalEntry]) -> dict[str, EmbeddingState]:
        """Every entry is not embeddable."""
        return {entry.id: EmbeddingState("not_embeddable") for entry in entries}

    def recall(self, question: Question, *, by: Actor) -> list[Recalled]:
        """Rank by words."""
        return words_only(question, by=by)

    def cosines(
        self,
        text: str,  # noqa: ARG002
        entry_ids: Sequence[str],  # noqa: ARG002
        *,
        workspace_id: str,  # noqa: ARG002
        as_question: bool = True,  # noqa: ARG002
    ) -> dict[str, float] | None:
        """Nothing is known of meaning."""
        return None

    def nearest(
        self,
        query: str,  # noqa: ARG002
        scope: WordScope,  # noqa: ARG002
        *,
        limit: int,  # noqa: ARG002
        least: float,  # noqa: ARG002
    ) -> dict[str, float] | None:
        """Nothing is known of meaning."""
        return None


def _word_scope(question: Question, by: Actor) -> WordScope:
    """Return what may be searched: ids of another crew or workspace are NotFound."""
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
    query = fulltext.ask(by.workspace_id, question.query)
    hits = fulltext.rank(query, _word_scope(question, by), question.limit)
    rows = JournalEntry.objects.filter(
        pk__in=[hit.entry_id for hit in hits],
        workspace_id=by.workspace_id,
        erased_at__isnull=True,
        retired_at__isnull=True,
        restricted_at__isnull=True,
    )
    by_id = {row.id: row for row in rows}
    return [
        Recalled(by_id[hit.entry_id], hit.score, "words")
        for hit in hits
        if hit.entry_id in by_id
    ]


class _Port:
    def __init__(self) -> None:
        self.ranker: Ranker = WordsOnly()


_port = _Port()


def register(ranker: Ranker) -> None:
    """Put the upper floor's ranker in place; called once, at start-up."""
    _port.ranker = ranker


def ranker() -> Ranker:
    """Return the ranker in place."""
    return _port.ranker
