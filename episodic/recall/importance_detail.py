"""One entry's importance by its parts, and its relations, for its page."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from episodic import scopes
from episodic.index import decay, relations
from episodic.index.importance import Importance
from episodic.index.relations import Edge
from episodic.models import Embedding
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Weight:
    """An entry, its parts (None before it is indexed) and its edges, strongest first.

    ``stored`` is the importance that recall uses: that of the last night.
    """

    entry: JournalEntry
    stored: float | None
    parts: Importance | None
    edges: list[Edge]

    @property
    def is_held_up(self) -> bool:
        """Whether the minimum of a permanent entry decides."""
        parts = self.parts
        return parts is not None and parts.value <= parts.floor

    @property
    def has_moved(self) -> bool:
        """Whether it would be another number now than it was last night."""
        if self.parts is None or self.stored is None:
            return False
        return abs(self.parts.value - self.stored) >= 0.005


def of(actor: Actor, entry_id: str) -> Weight:
    """Return an entry's importance, and its relations inside the caller's reach."""
    entry = queries.entry(actor, entry_id)
    row = Embedding.objects.defer("vector").filter(pk=entry.pk).first()
    parts = decay.parts(entry, row, timezone.now()) if row else None
    reach = scopes.reach(None, None, None, by=actor)
    edges = relations.of([entry.id], reach)[entry.id]
    return Weight(entry, row.importance_score if row else None, parts, edges)
