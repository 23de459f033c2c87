"""Profile and reflection: what memories say together, each cited by its id.

Without a model both are extractive: statements that share their telling words stand
together, the one nearest to the others speaks for them, and more witnesses make it
surer. The same memories give the same answer. With a model, the upper floor's mind says
it better; it may rest only on memories it was shown, and where anything is wrong with
its answer the extractive one stands in and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider.context_package import plain
from memory.models import Record
from memory.ports import language_model
from memory.ports.language_model import Question, Statement
from memory.rules import tokenizer

ALIKE: Final = 0.3
FACTS: Final = 40
LINES: Final = 5
INSIGHTS: Final = 10
_NO_SCOPE: Final[Mapping[str, str]] = MappingProxyType({})
# What one witness is worth; every further one halves the doubt that is left.
ALONE: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Group:
    """Memories that say much the same; the first speaks for them."""

    members: tuple[Record, ...]

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.members]

    @property
    def confidence(self) -> float:
        sure = 1 - ALONE ** len(self.members)
        trust = sum(one.confidence for one in self.members) / len(self.members)
        return round(sure * trust, 3)


def telling(record: Record) -> frozenset[str]:
    """Return the words by which two memories are compared."""
    return frozenset(tokenizer.telling(tokenizer.split(record.content)))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how many of their words two texts share, 0..1."""
    both = one | other
    return len(one & other) / len(both) if both else 0.0


def _nearest(members: Sequence[Record], said: dict[str, frozenset[str]]) -> Record:
    """Return the member that shares most with the others; the newest of equals."""

    def near(one: Record) -> float:
        return sum(overlap(said[one.id], said[other.id]) for other in members)

    return max(members, key=lambda one: (round(near(one), 6), one.updated_at, one.id))


def groups(rows: Sequence[Record]) -> list[_Group]:
    """Return memories in groups, in the order of each group's first."""
    said = {row.id: telling(row) for row in rows}
    left, found = list(rows), []
    while left:
        first = left[0]
        near = [one for one in left if overlap(said[first.id], said[one.id]) >= ALIKE]
        members = [first, *(one for one in near if one.id != first.id)]
        speaker = _nearest(members, said)
        rest = tuple(one for one in members if one.id != speaker.id)
        found.append(_Group((speaker, *rest)))
        gone = {one.id for one in members}
        left = [one for one in left if one.id not in gone]
    return found


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made an answer: a model by its name, or extraction and why not the model."""

    how: Literal["model", "extractive"]
    model: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """Conclusions, and who drew them."""

    insights: list[types.Insight]
    maker: Maker


@dataclass(frozen=True, slots=True)
class Portrait:
    """A profile, and who wrote its summary; the facts are extracted in any case."""

    profile: types.Profile
    maker: Maker


def _of_model(
    asked: Question, rows: Sequence[Record]
) -> tuple[list[types.Insight], Maker]:
    """Return what a model says, each statement resting on memories it was shown."""
    if not rows:
        return [], Maker("extractive")
    known = {row.id for row in rows}
    shown = [Statement(row.id, plain(row.content), row.updated_at) for row in rows]
    found = language_model.mind().answer(asked, shown)
    fault = found.fault
    if any(not one.evidence or set(one.evidence) - known for one in found.thoughts):
        fault = "unknown_ids"
    name = None if found.model == language_model.NOBODY else found.model
    if fault or not found.thoughts:
        return [], Maker("extractive", name, fault or None)
    made = [
        types.Insight(
            content=plain(one.content),
            confidence=min(1.0, max(0.0, one.confidence)),
            supporting_memory_ids=list(one.evidence),
        )
        for one in found.thoughts
    ]
    return made, Maker("model", name)


def reflect(
    rows: Sequence[Record], query: str = "", scope: Mapping[str, str] = _NO_SCOPE
) -> Reflection:
    """Return conclusions from memories that answer a question, best first."""
    thought, maker = _of_model(Question("reflect", query, scope), rows)
    if thought:
        return Reflection(thought[:INSIGHTS], maker)
    made = [
        types.Insight(
            content=plain(one.members[0].content),
            confidence=one.confidence,
            supporting_memory_ids=one.ids,
        )
        for one in groups(rows)
    ]
    return Reflection(made[:INSIGHTS], maker)


def _cited(content: str, ids: Sequence[str]) -> str:
    return f"{content} [{', '.join(ids)}]"


def profile(
    rows: Sequence[Record],
    instructions: str | None = None,
    scope: Mapping[str, str] = _NO_SCOPE,
) -> Portrait:
    """Return what memories tell of whom they are about, newest word first.

    ``instructions`` steer what comes first: facts that share its words.
    """
    asked = frozenset(tokenizer.telling(tokenizer.split(instructions or "")))
    fresh = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)
    made = groups(fresh)
    made.sort(key=lambda one: (-overlap(asked, telling(one.members[0])), -len(one.ids)))
    facts = [_cited(plain(one.members[0].content), one.ids) for one in made]
    thought, maker = _of_model(Question("profile", instructions or "", scope), fresh)
    told = [_cited(one.content, one.supporting_memory_ids) for one in thought]
    found = types.Profile(
        summary=" ".join((told or facts)[:LINES]),
        facts=facts[:FACTS],
        updated_at=fresh[0].updated_at if fresh else None,
    )
    return Portrait(found, maker)
