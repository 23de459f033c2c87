"""The port for what only an upper floor knows: the embedder, and a model that thinks.

Without either, ranking is by words and conclusions are extractive, and both say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol


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


WORDS: Final = Engine("transformers", "words-only", 1)
NOBODY: Final = "none: rules and extraction"


class Mind(Protocol):
    """What the first floor fills in."""

    def engine(self) -> Engine:
        """Return what ranks by meaning now."""
        ...

    def thinker(self) -> str:
        """Return the name of the model that thinks, ``NOBODY`` without one."""
        ...

    def think(self, statements: Sequence[Statement]) -> list[Thought] | None:
        """Return conclusions, None without a model or when it does not answer."""
        ...


class NoMind:
    """The default: words, and nobody who thinks."""

    def engine(self) -> Engine:
        """Words alone."""
        return WORDS

    def thinker(self) -> str:
        """Nobody."""
        return NOBODY

    def think(
        self,
        statements: Sequence[Statement],  # noqa: ARG002  (the protocol names it)
    ) -> list[Thought] | None:
        """Nobody does."""
        return None


class _Port:
    def __init__(self) -> None:
        self.mind: Mind = NoMind()


_port = _Port()


def register(mind: Mind) -> None:
    """Put the upper floor's mind in place; called once, at start-up."""
    _port.mind = mind


def mind() -> Mind:
    """Return the mind in place."""
    return _port.mind
