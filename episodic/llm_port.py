"""What the ground floor's provider may know of this one: who embeds, and who answers.

Reflections and profiles come from the chat model that proposes rules, when one is
configured, each by a prompt of its own. Whatever goes wrong is told, never raised: the
provider then answers without a model and says why.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

import structlog

from episodic.consolidation import run as consolidation
from episodic.index import engine
from episodic.summarisers import answers
from episodic.summarisers.base import SummariserError
from episodic.summarisers.ollama import OllamaSummariser
from memory.ports import language_model
from memory.ports.language_model import Answer, Engine, Question, Statement, Thought

# Somebody waits for the answer: longer than this nobody does.
SECONDS: Final = 20.0
# How many callers may wait for the model at once; the others get the plain answer.
AT_ONCE: Final = 2
log = structlog.get_logger(__name__)
_seats = threading.BoundedSemaphore(AT_ONCE)


class Mind:
    """The mind of the first floor."""

    def engine(self) -> Engine:
        """Return the embedder in place; without one, words."""
        embedder = engine.embedder()
        if embedder.name == "none":
            return language_model.WORDS
        far = embedder.name.startswith("ollama")
        name = embedder.model or embedder.name
        return Engine("ollama" if far else "transformers", name, embedder.dim or 1)

    def thinker(self) -> str:
        """Return the chat model's name, or that there is none."""
        chosen = consolidation.summariser()
        return (
            chosen.name
            if isinstance(chosen, OllamaSummariser)
            else language_model.NOBODY
        )

    def answer(self, asked: Question, statements: Sequence[Statement]) -> Answer:
        """Return the model's statements, or why there are none."""
        chosen = consolidation.summariser()
        if not isinstance(chosen, OllamaSummariser):
            return Answer()
        if not _seats.acquire(blocking=False):
            return Answer(model=chosen.name, fault="busy")
        try:
            return _asked(chosen, asked, statements)
        except SummariserError as error:
            log.warning("answer_without_model", kind=asked.kind, reason=error.reason)
            return Answer(model=chosen.name, fault=error.reason)
        finally:
            _seats.release()


def _asked(
    chosen: OllamaSummariser, asked: Question, statements: Sequence[Statement]
) -> Answer:
    memories = [(one.id, one.text) for one in statements]
    found = answers.ask(
        chosen.within(SECONDS), asked.kind, asked.text, asked.scope, memories
    )
    thoughts = tuple(Thought(one.content, one.confidence, one.ids) for one in found)
    return Answer(thoughts, chosen.name)
