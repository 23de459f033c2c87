"""The interface between consolidation and the summarisers.

A summariser gets entries and returns rules. It is not trusted: ``checked`` keeps a
rule only when at least two different entries that were given to it support it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from numpy import float32
from numpy.typing import NDArray

PATTERN_CHARS = 240
ACTION_CHARS = 600
LEAST_EVIDENCE = 2


class SummariserError(Exception):
    """No answer that can be used; ``reason`` is unreachable, timeout or bad_answer."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Material:
    """One entry as a summariser sees it. ``outcome`` is what was decided or done."""

    id: str
    entry_type: str
    severity: str
    summary: str
    text: str
    outcome: str
    ts: datetime
    # A lesson can be learned from it: something failed, was refused, or was marked.
    is_informative: bool = True
    vector: NDArray[float32] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """What to watch for, what to do then, and the entries that say so."""

    pattern: str
    action: str
    confidence: float
    evidence: tuple[str, ...]


class Summariser(Protocol):
    """Finds rules; ``batch`` is how many entries it can look at in one go."""

    name: str
    batch: int

    def rules(self, material: Sequence[Material]) -> list[Rule]:
        """Return rules, best first; raise SummariserError when it cannot."""
        ...


def one_line(text: str, limit: int) -> str:
    """Return a text on one line, cut at a word with an ellipsis when it is too long."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    head = flat[: limit - 1]
    return f"{head[: head.rfind(' ') if ' ' in head[limit // 2 :] else limit - 1]}…"


def _clean(rule: Rule, known_ids: frozenset[str]) -> Rule | None:
    evidence = tuple(
        dict.fromkeys(entry_id for entry_id in rule.evidence if entry_id in known_ids)
    )
    pattern = one_line(rule.pattern, PATTERN_CHARS)
    if len(evidence) < LEAST_EVIDENCE or not pattern:
        return None
    sure = 0.0 if math.isnan(rule.confidence) else min(1.0, max(0.0, rule.confidence))
    return Rule(pattern, one_line(rule.action, ACTION_CHARS), sure, evidence)


def checked(rules: Sequence[Rule], material: Sequence[Material]) -> list[Rule]:
    """Return the rules that hold: known ids, two different ones, a pattern, 0..1."""
    known_ids = frozenset(item.id for item in material)
    cleaned = [_clean(rule, known_ids) for rule in rules]
    return [rule for rule in cleaned if rule is not None]
