"""The map as people see it: its points, a selection of them, and the entries there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext
from numpy.typing import NDArray

from episodic.index import snapshot
from episodic.map import dimensions, points, telling_words
from episodic.map.dimensions import Dimension
from episodic.map.points import Points
from episodic.models import MemoryMap
from memory import workspace_tree
from memory.journal import erasure
from memory.journal.visibility import USABLE, usable_entries
from memory.models import JournalEntry
from memory.rules.permissions import Actor
from memory.word_index import entry_rows

# How many entries of a group name it: those nearest to its middle.
NAMING: Final = 24
PAGE: Final = 25
# How many entries on one spot are shown.
SPOT: Final = 8
Place = tuple[int, int]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which points: a value of some dimensions, a group, an area drawn around them."""

    filters: dict[str, str] = field(default_factory=dict)
    group: int | None = None
    area: tuple[Place, ...] = ()

    @property
    def is_everything(self) -> bool:
        return not self.filters and self.group is None and not self.area


@dataclass(frozen=True, slots=True)
class Group:
    """A group of points, its middle, and the words that tell it from the others."""

    number: int
    count: int
    place: Place
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return ", ".join(self.words) or gettext("Group {number}").format(
            number=self.number + 1
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A workspace's map. ``indexed_now`` is what the index holds today."""

    workspace_id: str
    computed_at: datetime
    model: str
    indexed: int
    indexed_now: int
    agreement: float
    points: Points
    dimensions: list[Dimension]

    @property
    def version(self) -> str:
        """What is another text after a computation and after points have left."""
        return f"{self.computed_at.isoformat()} {len(self.points)}"

    def select(self, selection: Selection) -> Mask:
        """Return which points are selected; an unknown value selects none."""
        mask = np.ones(len(self.points), dtype=np.bool_)
        for dimension in self.dimensions:
            if dimension.name in selection.filters:
                code = dimension.code(selection.filters[dimension.name])
                mask &= dimension.codes == (255 if code is None else code)
        if selection.group is not None:
            mask &= self.points["group"] == selection.group
        if selection.area:
            mask &= _inside(self.points, selection.area)
        return mask

    def newest(self, mask: Mask) -> Rows:
        """Return the selected points, newest first."""
        rows = np.flatnonzero(mask)
        order: Rows = rows[np.argsort(-self.points["ts"][rows], kind="stable")]
        return order

    def at(self, place: Place) -> Rows:
        """Return the points on one spot, newest first."""
        x, y = place
        return self.newest((self.points["x"] == x) & (self.points["y"] == y))

    def places(self, entry_ids: Sequence[str]) -> dict[str, Place]:
        """Return where entries are; those without a point are left out."""
        rows = np.flatnonzero(np.isin(self.points["id"], entry_rows.encode(entry_ids)))
        return {
            str(point["id"].decode()): (int(point["x"]), int(point["y"]))
            for point in self.points[rows]
        }

    def entries(self, rows: Rows) -> list[JournalEntry]:
        """Return the entries of points, in their order, those that may be used."""
        names = points.ids(self.points[rows])
        by_id = {
            entry.id: entry
            for entry in usable_entries(names)
            if entry.workspace_id == self.workspace_id
        }
        return [by_id[name] for name in names if name in by_id]

    def groups(self) -> list[Group]:
        """Return the groups, the largest first, with their telling words."""
        members = self.points["group"].astype(np.int64)
        sizes = []
        naming: dict[int, list[str]] = {}
        for number in np.unique(members).tolist():
            rows = np.flatnonzero(members == number)
            x, y = (self.points[axis][rows].astype(np.int64) for axis in ("x", "y"))
            middle = (round(float(x.mean())), round(float(y.mean())))
            away = np.square(x - middle[0]) + np.square(y - middle[1])
            nearest = rows[np.argsort(away, kind="stable")[:NAMING]]
            naming[number] = points.ids(self.points[nearest])
            sizes.append((number, len(rows), middle))
        words = telling_words.telling(_summaries(self.workspace_id, naming))
        return [
            Group(number, count, middle, tuple(words.get(number, ())))
            for number, count, middle in sizes
        ]

    def data(self) -> dict[str, Any]:
        """Return what a browser draws: places, a digit per dimension and point."""
        codes = {
            dimension.name: (dimension.codes + ord("0")).tobytes().decode("ascii")
            for dimension in self.dimensions
        }
        letters = (self.points["group"] + ord("A")).tobytes().decode("ascii")
        return {
            "version": self.version,
            "x": self.points["x"].tolist(),
            "y": self.points["y"].tolist(),
            "codes": codes,
            "group": letters,
            "names": [[*group.place, group.name] for group in self.groups()],
        }


def load(actor: Actor) -> Picture | None:
    """Return the map of the actor's workspace; None before the first one."""
    actor.require("journal.read")
    row = MemoryMap.objects.filter(pk=actor.workspace_id).first()
    if row is None or row.computed_at is None:
        return None
    rows = points.unpacked(row)
    slugs = {crew.id: crew.slug for crew in workspace_tree.crews(actor)}
    return Picture(
        workspace_id=actor.workspace_id,
        computed_at=row.computed_at,
        model=row.model,
        indexed=row.indexed,
        indexed_now=snapshot.current(actor.workspace_id).count(),
        agreement=row.agreement,
        points=rows,
        dimensions=dimensions.of(rows, row.crews, slugs, timezone.now()),
    )


def _summaries(workspace_id: str, naming: dict[int, list[str]]) -> dict[int, list[str]]:
    names = [name for part in naming.values() for name in part]
    rows = JournalEntry.objects.filter(USABLE, pk__in=names, erased_at=None)
    summaries = dict(erasure.of(rows, workspace_id).values_list("pk", "summary"))
    return {
        number: [summaries[name] for name in part if name in summaries]
        for number, part in naming.items()
    }


def _inside(rows: Points, area: Sequence[Place]) -> Mask:
    """Return which points lie inside a polygon (even-odd rule)."""
    x, y = (rows[axis].astype(np.float64) for axis in ("x", "y"))
    inside = np.zeros(len(rows), dtype=np.bool_)
    for (x1, y1), (x2, y2) in zip(area, [*area[1:], area[0]], strict=True):
        if y1 == y2:
            continue
        crosses = (y1 > y) != (y2 > y)
        inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return inside
