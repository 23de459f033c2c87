"""The context of the index page: how complete the index is, and what waits."""

from __future__ import annotations

from dataclasses import dataclass

from episodic.health import overview
from episodic.index import status
from episodic.models import Embedding
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class IndexPage:
    """How complete the index is, whether the embedder answers, and what waits."""

    card: overview.Card
    pending_entries: list[Embedding]

    @property
    def rest(self) -> int:
        """How many wait beyond the ones listed."""
        status = self.card.status
        return max(0, status.pending + status.failed - len(self.pending_entries))

    @property
    def can_embed(self) -> bool:
        """Whether there is an embedder that an index run could ask."""
        return self.card.embedder.name != overview.NONE


def build(actor: Actor) -> IndexPage:
    """Return everything about the index of the actor's workspace."""
    return IndexPage(overview.card(actor), status.pending_entries(actor))
