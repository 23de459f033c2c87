"""The drawing of what the first hit is related to: where each neighbour stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from episodic.index import relations
from episodic.index.relations import Edge
from episodic.recall.search import Answer
from memory.models import JournalEntry

NEIGHBOURS: Final = 6
# Where the first stands, and how far the next is below it.
TOP: Final = 32
STEP: Final = 61


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One relation of the first hit; ``y`` is its height in the drawing."""

    entry: JournalEntry
    relation: str
    weight: float
    y: int
    label: int

    @property
    def plate(self) -> int:
        """The top of the plate behind the edge's label."""
        return self.label - 13

    @property
    def above(self) -> int:
        """The base line of its first line of text."""
        return self.y - 1

    @property
    def below(self) -> int:
        """The base line of its second."""
        return self.y + 14


def height(count: int) -> int:
    """Return how high the drawing of some neighbours is."""
    return 2 * TOP + STEP * max(0, count - 1)


def neighbours(answer: Answer) -> list[Neighbour]:
    """Return what the first hit is related to, strongest first."""
    if not answer.hits:
        return []
    first = answer.hits[0].entry.id
    return layout(relations.of([first], answer.reach)[first])


def layout(relations_of_entry: Sequence[Edge]) -> list[Neighbour]:
    """Return where the strongest relations of one entry stand."""
    edges = relations_of_entry[:NEIGHBOURS]
    middle = height(len(edges)) // 2
    nodes = []
    for number, edge in enumerate(edges):
        y = TOP + STEP * number
        # The label stands a little past the half of its edge, on the line.
        label = round(middle + (y - middle) * (300 - 164) / (398 - 164)) + 4
        nodes.append(Neighbour(edge.neighbour, edge.relation, edge.weight, y, label))
    return nodes
