"""Extracts statements from text without a model: deterministic.

A line is split into sentences; a sentence that continues the one before it ("It also
…") is joined to it. Questions, greetings and thanks are left out. Nothing is rephrased:
a statement is verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memory.integrations.atomicmemory.contract.types import Message
from memory.rules import tokenizer

STATEMENTS: Final = 50
CHARS: Final = 1_000
LEAST_WORDS: Final = 3
SPEAKER_ROLES: Final = frozenset({"user", "assistant"})
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]*[^\W_a-z])")
_ROLE: Final = re.compile(r"^(user|assistant|system|tool):\s*", re.IGNORECASE)
_CONTINUATION_WORDS: Final = frozenset(
    "it its it's this that these those they them their he she his her so then also and"
    " but or because which who however therefore otherwise both either".split()
)
_SMALL_TALK: Final = frozenset(
    (
        "hi hello hey thanks thank you a lot very much so ok okay sure great nice good"
        " morning evening afternoon day bye goodbye welcome please cheers yes no noted"
        " got it there all perfect awesome cool happy to help glad let me know how"
        " can i today"
    ).split()
)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’) ").endswith("?")


def _is_statement(sentence: str) -> bool:
    """Return whether a sentence has content worth storing."""
    words = tokenizer.split(sentence)
    return len(words) >= LEAST_WORDS and any(word not in _SMALL_TALK for word in words)


def _continues(sentence: str) -> bool:
    first = sentence.lower().split(maxsplit=1)[:1]
    return bool(first) and first[0].strip(",'\"“") in _CONTINUATION_WORDS


def of_line(line: str) -> list[str]:
    """Return the statements of one line or turn."""
    statements: list[str] = []
    for part in _SENTENCE.split(line.strip()):
        sentence = " ".join(part.split())
        if _is_question(sentence):
            continue
        longer = f"{statements[-1]} {sentence}" if statements else ""
        if statements and _continues(sentence) and len(longer) <= CHARS:
            statements[-1] = longer
        elif _is_statement(sentence):
            statements.append(sentence[:CHARS])
    return statements


def _unique(statements: Sequence[str]) -> list[str]:
    by_text = {
        tokenizer.fold(statement): statement for statement in reversed(statements)
    }
    return list(reversed(by_text.values()))[:STATEMENTS]


def of_text(text: str) -> list[str]:
    """Return the statements of a text, or of lines like ``user: …``.

    Lines of a system or a tool are skipped.
    """
    statements: list[str] = []
    is_speaker = True
    for line in text.splitlines():
        role = _ROLE.match(line)
        is_speaker = role[1].lower() in SPEAKER_ROLES if role else is_speaker
        if is_speaker:
            statements += of_line(line[role.end() :] if role else line)
    return _unique(statements)


def of_messages(messages: Sequence[Message]) -> list[str]:
    """Return the statements of a conversation."""
    statements: list[str] = []
    for message in messages:
        if message.role in SPEAKER_ROLES:
            for line in message.content.splitlines():
                statements += of_line(line)
    return _unique(statements)
