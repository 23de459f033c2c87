"""One entry's importance by its parts, for its page."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from episodic.index import decay
from episodic.index.importance import Importance
from episodic.models import Embedding
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Weight:
    """An entry, its embedding and its parts, both None before it is indexed.

    ``stored`` is the importance that recall uses: that of the last night.
    """

    entry: JournalEntry
    embedding: Embedding | None
    parts: Importance | None

    @property
    def stored(self) -> float | None:
        return self.embedding.importance_score if self.embedding else None

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
    """Return the importance of an entry the caller may read."""
    entry = queries.entry(actor, entry_id)
    row = Embedding.objects.defer("vector").filter(pk=entry.pk).first()
    parts = decay.parts(entry, row, timezone.now()) if row else None
    return Weight(entry, row, parts)
