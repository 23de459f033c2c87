"""Profile and reflection over memories, each conclusion citing its memories by id.

Without a model both are extractive and deterministic: memories that share enough words
form a group, the one closest to the others represents it, and more members raise its
confidence. With a model (``ports.language_model``), its answer may cite only memories
it was given; when anything is wrong with it, the extractive answer is returned instead,
with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider.context_package import plain
from memory.models import Record
from memory.ports import language_model
from memory.ports.language_model import Question, Statement
from memory.rules import tokenizer

MIN_OVERLAP: Final = 0.3
FACTS: Final = 40
LINES: Final = 5
INSIGHTS: Final = 10
# The certainty of one memory; every further one halves the remaining doubt.
SINGLE_WITNESS: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Group:
    """Similar memories; the first represents them."""

    members: tuple[Record, ...]

    @property
    def ids(self) -> list[str]:
        return [row.id for row in self.members]

    @property
    def confidence(self) -> float:
        certainty = 1 - SINGLE_WITNESS ** len(self.members)
        trust = sum(row.confidence for row in self.members) / len(self.members)
        return round(certainty * trust, 3)


def compared_words(record: Record) -> frozenset[str]:
    """Return the words by which two memories are compared."""
    return frozenset(tokenizer.without_stop_words(tokenizer.split(record.content)))


def overlap(left_words: frozenset[str], right_words: frozenset[str]) -> float:
    """Return the share of common words (Jaccard), 0..1."""
    union = left_words | right_words
    return len(left_words & right_words) / len(union) if union else 0.0


def _nearest(members: Sequence[Record], words: dict[str, frozenset[str]]) -> Record:
    """Return the member with the largest overlap; the newest of equals."""

    def closeness(row: Record) -> float:
        return sum(overlap(words[row.id], words[other.id]) for other in members)

    return max(
        members, key=lambda row: (round(closeness(row), 6), row.updated_at, row.id)
    )


def groups(rows: Sequence[Record]) -> list[_Group]:
    """Return memories grouped by similarity, in the order of first members."""
    words = {row.id: compared_words(row) for row in rows}
    remaining, result = list(rows), []
    while remaining:
        first = remaining[0]
        similar = [
            row
            for row in remaining
            if overlap(words[first.id], words[row.id]) >= MIN_OVERLAP
        ]
        members = [first, *(row for row in similar if row.id != first.id)]
        representative = _nearest(members, words)
        rest = tuple(row for row in members if row.id != representative.id)
        result.append(_Group((representative, *rest)))
        member_ids = {row.id for row in members}
        remaining = [row for row in remaining if row.id not in member_ids]
    return result


@dataclass(frozen=True, slots=True)
class Maker:
    """What made an answer: a model by name, or extraction and the model's fault."""

    how: Literal["model", "extractive"]
    model: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """Conclusions, and what made them."""

    insights: list[types.Insight]
    maker: Maker


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """A profile, and what made its summary; the facts are always extracted."""

    profile: types.Profile
    maker: Maker


def _of_model(
    question: Question, rows: Sequence[Record]
) -> tuple[list[types.Insight], Maker]:
    """Return a model's insights, each citing memories it was given."""
    if not rows:
        return [], Maker("extractive")
    row_ids = {row.id for row in rows}
    statements = [Statement(row.id, plain(row.content), row.updated_at) for row in rows]
    answer = language_model.current().answer(question, statements)
    fault = answer.fault
    if any(
        not conclusion.evidence or set(conclusion.evidence) - row_ids
        for conclusion in answer.conclusions
    ):
        fault = "unknown_ids"
    name = None if answer.model == language_model.NO_MODEL else answer.model
    if fault or not answer.conclusions:
        return [], Maker("extractive", name, fault or None)
    insights = [
        types.Insight(
            content=plain(conclusion.content),
            confidence=min(1.0, max(0.0, conclusion.confidence)),
            supporting_memory_ids=list(conclusion.evidence),
        )
        for conclusion in answer.conclusions
    ]
    return insights, Maker("model", name)


def reflect(rows: Sequence[Record], query: str, scope: Mapping[str, str]) -> Reflection:
    """Return conclusions from the hits of a query, best first."""
    model_insights, maker = _of_model(Question("reflect", query, scope), rows)
    if model_insights:
        return Reflection(model_insights[:INSIGHTS], maker)
    insights = [
        types.Insight(
            content=plain(group.members[0].content),
            confidence=group.confidence,
            supporting_memory_ids=group.ids,
        )
        for group in groups(rows)
    ]
    return Reflection(insights[:INSIGHTS], maker)


def _cited(content: str, ids: Sequence[str]) -> str:
    return f"{content} [{', '.join(ids)}]"


def profile(
    rows: Sequence[Record],
    instructions: str | None,
    scope: Mapping[str, str],
) -> ProfileResult:
    """Return a profile from memories, newest first.

    ``instructions`` put facts that share their words first.
    """
    instruction_words = frozenset(
        tokenizer.without_stop_words(tokenizer.split(instructions or ""))
    )
    newest = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)
    fact_groups = groups(newest)
    fact_groups.sort(
        key=lambda group: (
            -overlap(instruction_words, compared_words(group.members[0])),
            -len(group.ids),
        )
    )
    facts = [
        _cited(plain(group.members[0].content), group.ids) for group in fact_groups
    ]
    model_insights, maker = _of_model(
        Question("profile", instructions or "", scope), newest
    )
    lines = [
        _cited(group.content, group.supporting_memory_ids) for group in model_insights
    ]
    result = types.Profile(
        summary=" ".join((lines or facts)[:LINES]),
        facts=facts[:FACTS],
        updated_at=newest[0].updated_at if newest else None,
    )
    return ProfileResult(result, maker)
