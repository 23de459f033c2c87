"""Lists for the first floor's pages: what waits for the index, what to ask first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q

from episodic.health import overview
from episodic.index import engine
from episodic.models import Embedding, State
from memory import workspace_tree
from memory.journal import queries
from memory.journal.visibility import USABLE
from memory.models import JournalEntry
from memory.rules.permissions import Actor

WAITING_SHOWN: Final = 50
EXAMPLES: Final = 3
LOOKED_AT: Final = 60
QUESTION_CHARS: Final = 64
_CLAUSE: Final = re.compile(r"[.;:,!?](?=\s)|\s[–—-]\s")


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry whose embedding is missing, and what was tried."""

    entry: JournalEntry
    has_failed: bool
    attempts: int
    last_error: str
    next_attempt_at: datetime | None
    model: str


@dataclass(frozen=True, slots=True)
class IndexPage:
    """How complete the index is, whether the embedder answers, and what waits."""

    card: overview.Card
    waiting: list[Waiting]

    @property
    def rest(self) -> int:
        """How many wait beyond the ones listed."""
        status = self.card.status
        return max(0, status.pending + status.failed - len(self.waiting))

    @property
    def can_embed(self) -> bool:
        """Whether there is an embedder that an index run could ask."""
        return self.card.embedder.name != overview.NONE


@dataclass(frozen=True, slots=True)
class Example:
    """A question whose answer is in the journal, and the agent that would know."""

    question: str
    agent_id: str
    agent: str


def waiting(actor: Actor, limit: int = WAITING_SHOWN) -> list[Waiting]:
    """Return entries that want an embedding: failed first, then the longest tried."""
    actor.require("index.read")
    current = Q(state=State.INDEXED, model=engine.embedder().model)
    rows = Embedding.objects.filter(workspace_id=actor.workspace_id).exclude(current)
    rows = rows.filter(entry__erased_at__isnull=True, entry__embeddable=True)
    rows = rows.exclude(state=State.WITHHELD)
    ordered = rows.order_by("state", "-attempts", "entry__seq")
    return [
        Waiting(
            entry=row.entry,
            has_failed=row.state == State.FAILED,
            attempts=row.attempts,
            last_error=row.last_error,
            next_attempt_at=row.next_attempt_at,
            model=row.model,
        )
        for row in ordered.select_related("entry").defer("vector")[:limit]
    ]


def index_page(actor: Actor) -> IndexPage:
    """Return everything about the index of the actor's workspace."""
    return IndexPage(overview.card(actor), waiting(actor))


def _question(summary: str) -> str:
    """Return the first clause of a summary that says something, cut at a word."""
    text = " ".join(summary.split())
    for found in _CLAUSE.finditer(text):
        if found.start() >= QUESTION_CHARS // 3:
            text = text[: found.start()]
            break
    if len(text) > QUESTION_CHARS:
        text = text[:QUESTION_CHARS].rsplit(" ", 1)[0]
    return text.strip(" .,;:")


def examples(actor: Actor) -> list[Example]:
    """Return questions made from recent embeddable entries, of different types."""
    rows = queries.visible_entries(actor).filter(
        USABLE, embeddable=True, erased_at__isnull=True, agent_id__isnull=False
    )
    recent = list(rows.order_by("-ts", "-seq")[:LOOKED_AT])
    slugs = workspace_tree.names(recent)
    chosen: dict[str, Example] = {}
    for row in recent:
        agent, question = row.agent_id or "", _question(row.summary)
        if question and agent in slugs:
            chosen.setdefault(row.entry_type, Example(question, agent, slugs[agent]))
    return list(chosen.values())[:EXAMPLES]
