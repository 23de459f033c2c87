"""The drawing of an entry's relations: the coordinates of each neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from episodic.index import relations
from episodic.index.relations import Edge
from episodic.recall.search import Answer
from memory.models import JournalEntry

NEIGHBOURS: Final = 6
# Height of the first neighbour, and the distance to the next one below.
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
        """The top of the rectangle behind the edge's label."""
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
    """Return the coordinates of an entry's strongest relations."""
    edges = relations_of_entry[:NEIGHBOURS]
    middle = height(len(edges)) // 2
    nodes = []
    for number, edge in enumerate(edges):
        y = TOP + STEP * number
        # The label is a little past the middle of its edge, on the line.
        label = round(middle + (y - middle) * (300 - 164) / (398 - 164)) + 4
        nodes.append(Neighbour(edge.neighbour, edge.relation, edge.weight, y, label))
    return nodes
