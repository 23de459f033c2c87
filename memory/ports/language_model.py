"""The port through which ``episodic`` supplies the embedder and a language model.

Without either, ranking is by words and answers are extractive, marked as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol

from memory.ports.port import Port


@dataclass(frozen=True, slots=True)
class Engine:
    """What ranks by meaning; ``dimensions`` is 1 where nothing is embedded.

    ``provider`` is ollama or transformers, the contract's words for a remote and a
    local model; ``model`` is the real name.
    """

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as it is given to the model."""

    id: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Conclusion:
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
NO_MODEL: Final = "none: rules and extraction"


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's conclusions, each based on statements it was given.

    ``fault`` is why there are none: timeout, unreachable, bad_answer,
    unknown_ids, empty_answer, unsafe_answer, busy; it is empty without a model.
    """

    conclusions: tuple[Conclusion, ...] = ()
    model: str = NO_MODEL
    fault: str = ""


class LanguageModel(Protocol):
    """What ``episodic`` implements; as it stands, the answers without any model."""

    def engine(self) -> Engine:
        """Return what ranks by meaning now."""
        return WORDS

    def model_name(self) -> str:
        """Return the name of the language model, ``NO_MODEL`` without one."""
        return NO_MODEL

    def answer(self, question: Question, statements: Sequence[Statement]) -> Answer:
        """Return the model's conclusions; faults are returned, never raised."""
        return Answer()


class NoLanguageModel(LanguageModel):
    """The default."""


_port: Port[LanguageModel] = Port(NoLanguageModel())


def register(model: LanguageModel) -> None:
    """Set the implementation; called once, at start-up."""
    _port.implementation = model


def current() -> LanguageModel:
    """Return the registered implementation."""
    return _port.implementation
