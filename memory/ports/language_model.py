"""The port for what only an upper floor knows: the embedder, and a model that answers.

Without either, ranking is by words and answers are extractive, and both say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Engine:
    """What ranks by meaning; ``dimensions`` is 1 where nothing is embedded.

    ``provider`` is ollama or transformers, the contract's words for far and near; the
    truth is in ``model``.
    """

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as a mind sees it."""

    id: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Thought:
    """A conclusion and the ids of the statements it rests on."""

    content: str
    confidence: float
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the statements of a scope: a reflection, or a profile."""

    kind: Literal["reflect", "profile"]
    text: str = ""
    scope: Mapping[str, str] = field(default_factory=dict)


WORDS: Final = Engine("transformers", "words-only", 1)
NOBODY: Final = "none: rules and extraction"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, resting on statements it was given and on nothing else.

    ``fault`` says in a word why there is nothing: timeout, unreachable, bad_answer,
    unknown_ids, empty_answer, unsafe_answer, busy; it is empty without a model.
    """

    thoughts: tuple[Thought, ...] = ()
    model: str = NOBODY
    fault: str = ""


class Mind(Protocol):
    """What the first floor fills in."""

    def engine(self) -> Engine:
        """Return what ranks by meaning now."""
        ...

    def thinker(self) -> str:
        """Return the name of the model that thinks, ``NOBODY`` without one."""
        ...

    def answer(self, question: Question, statements: Sequence[Statement]) -> Answer:
        """Return what a model says of the statements; a fault is told, never raised."""
        ...


class NoLanguageModel:
    """The default: words, and nobody who thinks."""

    def engine(self) -> Engine:
        """Words alone."""
        return WORDS

    def thinker(self) -> str:
        """Nobody."""
        return NOBODY

    def answer(
        self,
        question: Question,  # noqa: ARG002  (the protocol names it)
        statements: Sequence[Statement],  # noqa: ARG002
    ) -> Answer:
        """Nobody does."""
        return Answer()


class _Port:
    def __init__(self) -> None:
        self.mind: Mind = NoLanguageModel()


_port = _Port()


def register(mind: Mind) -> None:
    """Put the upper floor's mind in place; called once, at start-up."""
    _port.mind = mind


def mind() -> Mind:
    """Return the mind in place."""
    return _port.mind
