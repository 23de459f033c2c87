"""What the ground floor's provider may know of this one: who embeds, and who thinks.

Conclusions come from the chat model that proposes rules, when one is configured; what
it says is trusted only as far as the memories it names were really shown to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from episodic import consolidation, engine
from episodic.summarisers import base
from episodic.summarisers.base import Material, Rule, SummariserError
from episodic.summarisers.ollama import OllamaSummariser
from memory.providers.ours import upstairs
from memory.providers.ours.upstairs import Engine, Statement, Thought

log = structlog.get_logger(__name__)


def _material(one: Statement) -> Material:
    return Material(
        id=one.id,
        entry_type="memory.recorded",
        severity="info",
        summary=one.text,
        text=one.text,
        outcome="",
        ts=one.at,
    )


def _thought(rule: Rule) -> Thought:
    content = f"{rule.pattern} {rule.action}".strip()
    return Thought(content, rule.confidence, rule.evidence)


class Mind:
    """The mind of the first floor."""

    def engine(self) -> Engine:
        """Return the embedder in place; without one, words."""
        embedder = engine.embedder()
        if embedder.name == "none":
            return upstairs.WORDS
        far = embedder.name.startswith("ollama")
        name = embedder.model or embedder.name
        return Engine("ollama" if far else "transformers", name, embedder.dim or 1)

    def thinker(self) -> str:
        """Return the chat model's name, or that there is none."""
        chosen = consolidation.summariser()
        return chosen.name if isinstance(chosen, OllamaSummariser) else upstairs.NOBODY

    def think(self, statements: Sequence[Statement]) -> list[Thought] | None:
        """Return the model's conclusions; None without one, or when it fails."""
        chosen = consolidation.summariser()
        if not isinstance(chosen, OllamaSummariser):
            return None
        material = [_material(one) for one in statements[: chosen.batch]]
        try:
            found = base.checked(chosen.rules(material), material)
        except SummariserError as error:
            log.warning("mind_without_answer", reason=error.reason)
            return None
        return [_thought(rule) for rule in found.rules]
