"""The drawing of an entry's relations: a card for each entry, a line for each edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from episodic.index.relations import LEAST_COSINE
from episodic.recall.neighbours import Graph, Link, Ring
from memory.figures import decimal
from memory.models import JournalEntry

CARD_WIDTH: Final = 216
CARD_HEIGHT: Final = 32
STEP: Final = 38
GAP: Final = 72
# Lines between entries of one column bulge into the gap beside it.
BULGE: Final = 40
THINNEST, THICKEST = 1.0, 5.0
# Two kinds of edges between the same entries run beside each other.
OFFSETS: Final = {"supports": -9, "contradicts": 9}


@dataclass(frozen=True, slots=True)
class Card:
    """One entry; ``number`` is its number in drawing and table, 0 for the middle."""

    number: int
    entry: JournalEntry
    column: int
    y: int
    words: str

    @property
    def x(self) -> int:
        return self.column * (CARD_WIDTH + GAP)

    @property
    def middle(self) -> int:
        """The height at which lines meet the card."""
        return self.y + CARD_HEIGHT // 2


@dataclass(frozen=True, slots=True)
class Line:
    """One edge: from the card nearer to the middle to the one farther from it."""

    inner: Card
    outer: Card
    link: Link

    @property
    def path(self) -> str:
        """The line as an SVG path."""
        start, end = self.inner.x + CARD_WIDTH, self.outer.x
        offset = OFFSETS.get(self.link.relation, 0)
        top, bottom = self.inner.middle + offset, self.outer.middle + offset
        if self.inner.column == self.outer.column:
            apart = abs(self.outer.y - self.inner.y) // STEP
            end, bend = start, start + min(BULGE, 10 + 5 * apart)
        else:
            bend = (start + end) // 2
        return f"M{start} {top}C{bend} {top} {bend} {bottom} {end} {bottom}"

    @property
    def width(self) -> str:
        """The width of the line: from the least cosine to 1, thin to thick."""
        share = (self.link.weight - LEAST_COSINE) / (1 - LEAST_COSINE)
        width = THINNEST + (THICKEST - THINNEST) * min(1.0, max(0.0, share))
        return f"{width:.1f}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Cards in columns and the lines between them; ``lines`` are the table as well."""

    root: Card
    cards: list[Card]
    lines: list[Line]
    rings: list[Ring]
    height: int

    @property
    def width(self) -> int:
        columns = 1 + len(self.rings)
        return columns * CARD_WIDTH + (columns - 1) * GAP + BULGE

    @property
    def kinds(self) -> list[str]:
        """The kinds of relation that are drawn, for the key."""
        return sorted({line.link.relation for line in self.lines})

    @property
    def rest(self) -> int:
        """How many entries were found and are not drawn."""
        return sum(ring.rest for ring in self.rings)

    @property
    def is_capped(self) -> bool:
        """Whether there may be more entries than were counted."""
        return any(ring.is_capped for ring in self.rings)


def draw(graph: Graph) -> Drawing | None:
    """Return where everything stands, None for an entry without a relation."""
    rings = [_sorted(ring, graph.links, n) for n, ring in enumerate(graph.rings)]
    rows = max((len(ring) for ring in rings), default=0)
    if not rows:
        return None
    height = rows * STEP - (STEP - CARD_HEIGHT)
    links_of = defaultdict(list)
    for link in graph.links:
        links_of[link.src].append(link)
        links_of[link.dst].append(link)
    root = Card(0, graph.root, 0, (height - CARD_HEIGHT) // 2, "")
    cards: dict[str, Card] = {root.entry.id: root}
    for column, entries in enumerate(rings, 1):
        # What is drawn already is nearer, and says which edges lead here.
        nearer = set(cards)
        top = (height - (len(entries) * STEP - (STEP - CARD_HEIGHT))) // 2
        for place, entry in enumerate(entries):
            words = _words(links_of[entry.id], nearer)
            y = top + place * STEP
            cards[entry.id] = Card(len(cards), entry, column, y, words)
    lines = [_line(cards[link.src], cards[link.dst], link) for link in graph.links]
    lines.sort(key=lambda line: (line.outer.number, line.inner.number))
    return Drawing(root, list(cards.values())[1:], lines, graph.rings, height)


def _sorted(ring: Ring, links: Sequence[Link], number: int) -> list[JournalEntry]:
    """Return the entries of a ring as they stand below each other.

    Those of the second ring are ordered by what they hang on, so that few lines cross.
    """
    if number == 0:
        return ring.entries
    order: dict[str, int] = {}
    for place, link in enumerate(links):
        for own, other in ((link.src, link.dst), (link.dst, link.src)):
            order.setdefault(own, order.get(other, place))
    return sorted(ring.entries, key=lambda entry: order.get(entry.id, len(links)))


def _words(links: Sequence[Link], nearer: set[str]) -> str:
    """Return how an entry is related to what is nearer, the strongest of each kind."""
    kinds: dict[str, float] = {}
    for link in links:
        if link.src in nearer or link.dst in nearer:
            kinds.setdefault(link.relation, link.weight)
    return ", ".join(f"{kind} {decimal(weight)}" for kind, weight in kinds.items())


def _line(src: Card, dst: Card, link: Link) -> Line:
    inner, outer = sorted((src, dst), key=lambda card: card.number)
    return Line(inner, outer, link)
