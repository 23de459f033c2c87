"""Statements drawn from text without a model: the same text gives the same ones.

A line is cut into sentences; a sentence that leans on the one before it ("It also …")
stays with it. Questions, greetings and thanks tell nothing and are left out. Nothing is
rephrased: a statement is what somebody said, word for word.
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
SPOKEN: Final = frozenset({"user", "assistant"})
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]*[^\W_a-z])")
_ROLE: Final = re.compile(r"^(user|assistant|system|tool):\s*", re.IGNORECASE)
_LEANS: Final = frozenset(
    "it its it's this that these those they them their he she his her so then also and"
    " but or because which who however therefore otherwise both either".split()
)
_POLITE: Final = frozenset(
    (
        "hi hello hey thanks thank you a lot very much so ok okay sure great nice good"
        " morning evening afternoon day bye goodbye welcome please cheers yes no noted"
        " got it there all perfect awesome cool happy to help glad let me know how"
        " can i today"
    ).split()
)


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’) ").endswith("?")


def _tells(sentence: str) -> bool:
    """Whether a sentence says something that can be remembered."""
    said = tokenizer.split(sentence)
    return len(said) >= LEAST_WORDS and any(word not in _POLITE for word in said)


def _leans(sentence: str) -> bool:
    first = sentence.lower().split(maxsplit=1)[:1]
    return bool(first) and first[0].strip(",'\"“") in _LEANS


def of_line(line: str) -> list[str]:
    """Return the statements of one line or turn."""
    found: list[str] = []
    for part in _SENTENCE.split(line.strip()):
        sentence = " ".join(part.split())
        if _asks(sentence):
            continue
        joined = f"{found[-1]} {sentence}" if found else ""
        if found and _leans(sentence) and len(joined) <= CHARS:
            found[-1] = joined
        elif _tells(sentence):
            found.append(sentence[:CHARS])
    return found


def _once(found: Sequence[str]) -> list[str]:
    kept = {tokenizer.fold(one): one for one in reversed(found)}
    return list(reversed(kept.values()))[:STATEMENTS]


def of_text(text: str) -> list[str]:
    """Return the statements of a text, or of lines like ``user: …``.

    What a system or a tool said is not what was remembered by anybody.
    """
    found: list[str] = []
    spoken = True
    for line in text.splitlines():
        role = _ROLE.match(line)
        spoken = role[1].lower() in SPOKEN if role else spoken
        if spoken:
            found += of_line(line[role.end() :] if role else line)
    return _once(found)


def of_messages(messages: Sequence[Message]) -> list[str]:
    """Return the statements of a conversation."""
    found: list[str] = []
    for message in messages:
        if message.role in SPOKEN:
            for line in message.content.splitlines():
                found += of_line(line)
    return _once(found)
