"""What the page Map shows: the picture's state, its legend, and the list beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext

from episodic.index import engine, snapshot
from episodic.map import compute, picture
from episodic.map.dimensions import Dimension
from episodic.map.picture import PAGE, SPOT, Group, Mask, Picture, Place, Selection
from episodic.map.points import GRID
from episodic.recall import search as recall
from episodic.recall.request import QUERY_CHARS, Request
from memory.figures import grouped
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

COLOUR: Final = "crew"
CORNERS: Final = 64
TRAIL: Final = 10


@dataclass(frozen=True, slots=True)
class LegendLine:
    """One value of the colouring, how many selected points have it, and its filter."""

    code: int
    words: str
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the page, its words, and whether it is what is shown."""

    words: str
    href: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group and how many of it are selected."""

    group: Group
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the answer to a question; without a place it has no point."""

    rank: int
    entry: JournalEntry
    place: Place | None


@dataclass(frozen=True, slots=True)
class Remark:
    """How many points a sentence under the picture is about, and their filter."""

    count: int
    href: str


@dataclass(frozen=True, slots=True)
class MapPage:
    """Everything on the page; ``picture`` is None before the first computation."""

    picture: Picture | None
    indexed_now: int
    params: QueryDict
    colour: str
    selection: Selection
    mask: Mask | None = None
    regions: tuple[Group, ...] = ()
    spot: list[JournalEntry] | None = None
    spot_count: int = 0
    steps: list[Step] | None = None
    entries: list[JournalEntry] | None = None
    start: int = 0
    next_cursor: str = ""
    fault: str = ""

    @property
    def query(self) -> str:
        return str(self.params.get("query", ""))

    @property
    def status(self) -> int:
        return 422 if self.fault else 200

    @property
    def point_count(self) -> int:
        """How many entries have a point."""
        return len(self.picture.points) if self.picture else 0

    @property
    def is_sample(self) -> bool:
        return self.picture is not None and self.picture.indexed > compute.MOST_POINTS

    @property
    def is_of_other_model(self) -> bool:
        """Whether the vectors in use are another model's than the map's."""
        return self.picture is not None and (
            self.picture.model != engine.embedder().model
        )

    @property
    def agreement(self) -> float:
        return 100 * self.picture.agreement if self.picture else 0.0

    @property
    def selected(self) -> int:
        return int(self.mask.sum()) if self.mask is not None else 0

    @property
    def dimensions(self) -> list[Dimension]:
        return self.picture.dimensions if self.picture else []

    @property
    def dimension(self) -> Dimension:
        return next(d for d in self.dimensions if d.name == self.colour)

    def address(self, **changes: str | None) -> str:
        """Return the page's address with some parameters changed; None drops one."""
        params = self.params.copy()
        for name in ("cursor", "at", *changes):
            params.pop(name, None)
        params.update({name: value for name, value in changes.items() if value})
        return pages.address("map:page", query=params.urlencode())

    @property
    def without_spot(self) -> str:
        return self.address(at=None)

    @property
    def without_question(self) -> str:
        return self.address(query=None)

    @property
    def explorer(self) -> str:
        """The address of the question on the page Recall."""
        return pages.address("episodic:recall", query=urlencode({"query": self.query}))

    @property
    def colours(self) -> list[Link]:
        """The dimensions to colour by."""
        return [
            Link(d.title, self.address(colour=d.name), d.name == self.colour)
            for d in self.dimensions
        ]

    @property
    def legend(self) -> list[LegendLine]:
        """The values of the colouring that a point has."""
        if self.mask is None:
            return []
        dimension, current = self.dimension, self.selection.filters.get(self.colour)
        counts = dimension.counts(self.mask)
        return [
            LegendLine(
                code,
                value.words,
                counts[code],
                self.address(
                    **{
                        dimension.name: None if value.name == current else value.name,
                        "colour": dimension.name,
                        "query": None,
                    }
                ),
                value.name == current,
            )
            for code, value in enumerate(dimension.values)
        ]

    @property
    def filters(self) -> list[Link]:
        """What the list is narrowed by; each link drops one."""
        links = []
        for dimension in self.dimensions:
            name = self.selection.filters.get(dimension.name)
            if name is not None:
                words = {value.name: value.words for value in dimension.values}
                text = f"{dimension.title}: {words.get(name, name)}"
                links.append(Link(text, self.address(**{dimension.name: None})))
        if self.selection.group is not None:
            names = {group.number: group.name for group in self.regions}
            text = names.get(self.selection.group, gettext("A group that is gone"))
            links.append(Link(text, self.address(group=None)))
        if self.selection.area:
            links.append(Link(gettext("An area you drew"), self.address(area=None)))
        return links

    @property
    def groups(self) -> list[GroupLine]:
        """The groups with how many of each are selected."""
        if self.picture is None or self.mask is None:
            return []
        members = self.picture.points["group"]
        current = self.selection.group
        return [
            GroupLine(
                group,
                int((self.mask & (members == group.number)).sum()),
                self.address(
                    group=None if group.number == current else str(group.number),
                    query=None,
                ),
                group.number == current,
            )
            for group in self.regions
        ]

    @property
    def isolated(self) -> Remark:
        return self._remark("relations")

    @property
    def apart(self) -> Remark:
        return self._remark("topic")

    @property
    def copies(self) -> Remark:
        return self._remark("copies")

    def _remark(self, name: str) -> Remark:
        """Return what a dimension's first value is true of, coloured and filtered."""
        dimension = next(d for d in self.dimensions if d.name == name)
        query = urlencode({"colour": name, name: dimension.values[0].name})
        count = int((dimension.codes == 0).sum())
        return Remark(count, pages.address("map:page", query=query))

    @property
    def state(self) -> dict[str, Any]:
        """What the picture needs to know of the page around it."""
        filters = {
            dimension.name: dimension.code(self.selection.filters[dimension.name])
            for dimension in self.dimensions
            if dimension.name in self.selection.filters
        }
        return {
            "version": self.picture.version if self.picture else "",
            "colour": self.colour,
            "filters": filters,
            "group": self.selection.group,
            "area": [list(corner) for corner in self.selection.area],
            "at": _numbers(self.params.get("at", "")),
            "trail": [
                [*step.place, step.rank] for step in self.steps or [] if step.place
            ],
        }


# ── Reading the address ──────────────────────────────────────────────────────
def _numbers(text: str) -> list[int]:
    """Return whole numbers of the grid that an address lists with commas."""
    numbers = [pages.number(part) for part in text.split(",")] if text else []
    places = [number for number in numbers if number is not None and number <= GRID]
    if len(places) != len(numbers) or len(places) % 2:
        detail = gettext("A place of the map is not one.")
        raise errors.Invalid(detail, code="bad_place")
    return places


def _area(text: str) -> tuple[Place, ...]:
    numbers = _numbers(text)
    corners = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if corners and not 3 <= len(corners) <= CORNERS:
        detail = gettext("An area has 3 to {most} corners.").format(most=CORNERS)
        raise errors.Invalid(detail, code="bad_area")
    return corners


def _selection(params: QueryDict, dimensions: list[Dimension]) -> Selection:
    filters = {d.name: str(params[d.name]) for d in dimensions if params.get(d.name)}
    group = pages.number(params.get("group", ""))
    return Selection(filters, group, _area(params.get("area", "")))


def _colour(params: QueryDict, dimensions: list[Dimension]) -> str:
    colour = params.get("colour") or COLOUR
    if dimensions and colour not in [dimension.name for dimension in dimensions]:
        detail = gettext("There is no such colouring.")
        raise errors.Invalid(detail, code="unknown_colour")
    return colour


# ── Building the page ────────────────────────────────────────────────────────
def build(actor: Actor, params: QueryDict) -> MapPage:
    """Return the page for the parameters of an address."""
    drawing = picture.load(actor)
    if drawing is None or not len(drawing.points):
        indexed = snapshot.current(actor.workspace_id).count()
        return MapPage(None, indexed, params, COLOUR, Selection())
    colour = _colour(params, drawing.dimensions)
    selection = _selection(params, drawing.dimensions)
    steps, fault = _steps(actor, drawing, params.get("query", "").strip())
    mask = drawing.select(selection)
    rows = drawing.newest(mask)
    start = pages.number(params.get("cursor", "")) or 0
    if start >= len(rows):
        start = 0
    next_cursor = str(start + PAGE) if start + PAGE < len(rows) else ""
    place = _numbers(params.get("at", ""))
    spot = drawing.at((place[0], place[1])) if len(place) == 2 else None
    return MapPage(
        picture=drawing,
        indexed_now=drawing.indexed_now,
        params=params,
        colour=colour,
        selection=selection,
        mask=mask,
        regions=tuple(drawing.groups()),
        spot=None if spot is None else drawing.entries(spot[:SPOT]),
        spot_count=0 if spot is None else len(spot),
        steps=steps,
        entries=drawing.entries(rows[start : start + PAGE]),
        start=start,
        next_cursor=next_cursor,
        fault=fault,
    )


def _steps(actor: Actor, drawing: Picture, query: str) -> tuple[list[Step] | None, str]:
    """Return the answer to a question with its places, and why there is none."""
    if not query:
        return None, ""
    if len(query) > QUERY_CHARS:
        text = gettext("A question has at most {most} characters.")
        return None, text.format(most=grouped(QUERY_CHARS))
    answer = recall.search(Request(query=query, k=TRAIL, mark=False), by=actor)
    entries = [hit.entry for hit in answer.hits]
    places = drawing.places([entry.id for entry in entries])
    steps = [
        Step(rank, entry, places.get(entry.id)) for rank, entry in enumerate(entries, 1)
    ]
    return steps, ""
