"""The port through which the ground floor gets what only the first floor knows.

The ground floor appends and searches by words alone. The first floor registers a ranker
at start-up that also knows which entries deserve an embedding, what state an entry's
embedding is in, and how to rank by meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from memory.models import JournalEntry


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """Where an entry's embedding stands.

    ``state`` is not_embeddable, pending, indexed or failed.
    """

    state: str
    model: str | None = None
    dim: int | None = None
    indexed_at: str | None = None
    attempts: int = 0
    last_error: str | None = None
    importance: float | None = None


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
