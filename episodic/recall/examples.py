"""Questions to try first on the recall page, made from recent entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memory import workspace_tree
from memory.journal import queries
from memory.journal.visibility import USABLE
from memory.rules.permissions import Actor

EXAMPLES: Final = 3
RECENT_ENTRIES: Final = 60
QUESTION_CHARS: Final = 64
_CLAUSE: Final = re.compile(r"[.;:,!?](?=\s)|\s[–—-]\s")


@dataclass(frozen=True, slots=True)
class Example:
    """A question whose answer is in the journal, and the agent that would know."""

    question: str
    agent_id: str
    agent: str


def _question(summary: str) -> str:
    """Return the first clause of a summary that says something, cut at a word."""
    text = " ".join(summary.split())
    for match in _CLAUSE.finditer(text):
        if match.start() >= QUESTION_CHARS // 3:
            text = text[: match.start()]
            break
    if len(text) > QUESTION_CHARS:
        text = text[:QUESTION_CHARS].rsplit(" ", 1)[0]
    return text.strip(" .,;:")


def of(actor: Actor) -> list[Example]:
    """Return questions made from recent embeddable entries, of different types."""
    rows = queries.visible_entries(actor).filter(
        USABLE, embeddable=True, erased_at__isnull=True, agent_id__isnull=False
    )
    recent = list(rows.order_by("-ts", "-seq")[:RECENT_ENTRIES])
    slugs = workspace_tree.agent_slugs(recent)
    by_type: dict[str, Example] = {}
    for row in recent:
        agent, question = row.agent_id or "", _question(row.summary)
        if question and agent in slugs:
            by_type.setdefault(row.entry_type, Example(question, agent, slugs[agent]))
    return list(by_type.values())[:EXAMPLES]
