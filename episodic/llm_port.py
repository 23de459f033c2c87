"""The language-model port of the memory package: the embedder's name, and answers.

Reflections and profiles come from the chat model that proposes rules, when one is
configured, each by a prompt of its own. Every fault is returned, never raised: the
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
from memory.ports import language_model
from memory.ports.language_model import Answer, Engine, Question, Statement

# The caller waits for the answer, so the model gets at most so many seconds.
SECONDS: Final = 20.0
# Callers that may wait for the model at once; others get an answer without it.
AT_ONCE: Final = 2
log = structlog.get_logger(__name__)
_slots = threading.BoundedSemaphore(AT_ONCE)


class OllamaLanguageModel:
    """The language model behind reflections and profiles."""

    def engine(self) -> Engine:
        """Return the embedder in use; without one, words."""
        embedder = engine.embedder()
        if embedder.name == "none":
            return language_model.WORDS
        far = embedder.name.startswith("ollama")
        name = embedder.model or embedder.name
        return Engine("ollama" if far else "transformers", name, embedder.dim or 1)

    def model_name(self) -> str:
        """Return the chat model's name, or that there is none."""
        model = consolidation.chat_model()
        return model.name if model else language_model.NO_MODEL

    def answer(self, question: Question, statements: Sequence[Statement]) -> Answer:
        """Return the model's statements, or why there are none."""
        model = consolidation.chat_model()
        if model is None:
            return Answer()
        if not _slots.acquire(blocking=False):
            return Answer(model=model.name, fault="busy")
        memories = [(statement.id, statement.text) for statement in statements]
        try:
            conclusions = answers.ask(
                model.within(SECONDS),
                question.kind,
                question.text,
                question.scope,
                memories,
            )
        except SummariserError as error:
            log.warning("answer_without_model", kind=question.kind, reason=error.reason)
            return Answer(model=model.name, fault=error.reason)
        finally:
            _slots.release()
        return Answer(tuple(conclusions), model.name)
