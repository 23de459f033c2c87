"""Our extractor: finds statements about the user with fixed patterns.

Only messages of the user are read: what a model said is no fact. One sentence is one
memory, verbatim, so nothing is made up. Questions are skipped. ``register`` replaces it
by another extractor, like one with a model; ``episodic`` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory.integrations.promptkit.memories import Memory, Message, Scope, categorise
from memory.integrations.promptkit.protocols import Extractor, Memories

SENTENCE_CHARS: Final = 500
SENTENCES: Final = 200
MAX_MEMORIES: Final = 20
_END: Final = re.compile(r"(?<=[.!?;\n])\s+|\n+")


class Pattern(NamedTuple):
    """A pattern of sentences worth storing, and the memory's type then."""

    words: re.Pattern[str]
    type: str
    category: str
    confidence: float


def _pattern(words: str, kind: str, category: str, confidence: float) -> Pattern:
    return Pattern(re.compile(words, re.IGNORECASE), kind, category, confidence)


# The first match decides, so the specific ones come first.
PATTERNS: Final = (
    _pattern(
        r"\b(?:i'm|i am|my \w+ is) (?:\w+ ){0,2}"
        r"(?:allergic|diabetic|pregnant|intolerant|vegan|vegetarian)\b",
        *("fact", "memory:health", 0.8),
    ),
    _pattern(
        r"\b(?:my name is|call me|i go by|my pronouns are"
        r"|my e-?mail(?: address)? is)\b",
        *("fact", "memory:identity", 0.9),
    ),
    _pattern(
        r"\bi (?:live|moved|am based|grew up) (?:in|to|at)\b|\bmy address is\b",
        *("fact", "memory:location", 0.8),
    ),
    _pattern(
        r"\bi(?:'d| would)? (?:really |always |usually |much |rather )?"
        r"(?:prefer|like|love|enjoy|hate|dislike|can't stand|favou?r)\b"
        r"|\bmy favou?rite\b|\bi (?:never|always) (?:use|want|eat|drink|take|work)\b",
        *("preference", "memory:preferences", 0.7),
    ),
    _pattern(
        r"^(?:please )?(?:always|never|from now on)\b|\bplease (?:always|never)\b",
        *("preference", "memory:preferences", 0.8),
    ),
    _pattern(
        r"\b(?:remember|don't forget|do not forget|keep in mind|note) that\b",
        *("fact", "", 0.9),
    ),
    _pattern(
        r"\bi(?:'m| am) (?:an? )?\w+ at \w|\bi work (?:at|for|as|on)\b"
        r"|\bmy (?:team|job|boss|company|wife|husband|partner|son|daughter|dog|cat)"
        r" (?:is|was|are|works)\b",
        *("fact", "memory:context", 0.7),
    ),
    _pattern(
        r"\bwe (?:have )?(?:decided|agreed|settled)\b|\bthe decision is\b",
        *("decision", "memory:history", 0.7),
    ),
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that may be statements."""
    parts = [" ".join(part.split()) for part in _END.split(text)]
    return [
        part
        for part in parts[:SENTENCES]
        if 0 < len(part) <= SENTENCE_CHARS and not part.endswith("?")
    ]


def read(sentence: str) -> Pattern | None:
    """Return the pattern that a sentence matches, None for nothing to store."""
    return next(
        (pattern for pattern in PATTERNS if pattern.words.search(sentence)), None
    )


class PatternExtractor:
    """Deterministic: the same conversation gives the same memories."""

    name = "patterns"

    def extract(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return the memories in the user's sentences, each once."""
        memories: dict[str, Memory] = {}
        for number, message in enumerate(messages):
            if message.role != "user":
                continue
            for sentence in sentences(message.content):
                pattern = read(sentence)
                if pattern is None or sentence.casefold() in memories:
                    continue
                memory = Memory(
                    content=sentence,
                    type=pattern.type,
                    scope=dict(scope),
                    confidence=pattern.confidence,
                    turn_range=(number, number),
                )
                categorise(memory.metadata, pattern.category)
                memories[sentence.casefold()] = memory
        return list(memories.values())[:MAX_MEMORIES]


class _Port:
    def __init__(self) -> None:
        self.extractor: Extractor = PatternExtractor()


_port = _Port()


def register(extractor: Extractor) -> None:
    """Replace the extractor; called once, at start-up."""
    _port.extractor = extractor


def extractor() -> Extractor:
    return _port.extractor
