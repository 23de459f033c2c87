"""What the file pages show: the tree with its usage, one file, its history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from memory import workspace_tree
from memory.files import paths, reading, versions
from memory.files.paths import Owner
from memory.files.reading import Hit, Text
from memory.files.storage import Unsafe
from memory.files.versions import BlobDamaged, DiffLine
from memory.models import HeldFile, HeldState, MemoryFile, MemoryVersion
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place

LOG: Final = 200
STRAYS: Final = 50
_ORDER: Final = {tier.value: number for number, tier in enumerate(tiers.Tier)}


class History(StrEnum):
    """What an empty or short history means."""

    RECORDED = "recorded"
    UNRECORDED = "unrecorded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a file is; ``share`` is in percent, 0 where there is no cap."""

    size: int
    cap: int

    @property
    def share(self) -> int:
        """The part of the cap that is used, in percent."""
        return round(100 * self.size / self.cap) if self.cap else 0

    @property
    def width(self) -> int:
        """The length of the bar."""
        return min(100, self.share)

    @property
    def band(self) -> str:
        """Red over the cap, yellow from 80 %, no judgement below or without a cap."""
        if self.cap and self.size > self.cap:
            return "red"
        return "yellow" if self.cap and self.size >= tiers.WARN_SHARE * self.cap else ""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file in the tree."""

    owner_id: str
    label: str
    usage: Usage
    updated_at: datetime | None
    held: int = 0
    exists: bool = True


@dataclass(frozen=True, slots=True)
class Branch:
    """One agent's files, or a crew's own; strays are names that no tier has."""

    owner_id: str
    name: str
    role: str
    files: tuple[FileRow, ...]
    strays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Every file of a workspace, by crew, then by agent."""

    crews: tuple[tuple[str, tuple[Branch, ...]], ...]
    files: int
    nearly_full: int
    held: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found in one owner's own files."""

    owner_id: str
    name: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class FilePage:
    """One file as a page shows it; ``fault`` says why there is no text."""

    owner: Owner
    owner_id: str
    place: Place
    text: Text | None
    usage: Usage
    history: History
    newest: MemoryVersion | None
    count: int
    held: tuple[HeldFile, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two versions side by side."""

    older: MemoryVersion
    newer: MemoryVersion
    lines: tuple[DiffLine, ...]
    fault: str = ""


# ── Whose ────────────────────────────────────────────────────────────────────
def owner(actor: Actor, owner_id: str) -> Owner:
    """Return the crew or the agent of an id, or NotFound."""
    actor.require("files.read")
    if owner_id.startswith("agent"):
        agent = workspace_tree.agent(actor, owner_id)
        return paths.owner_of_agent(agent)
    return Owner(workspace_tree.crew(actor, owner_id))


def place(whose: Owner, label: str) -> Place:
    """Return the place of a label in this owner's own tree, or NotFound."""
    found = paths.refuse_unknown(tiers.split(label))
    if found.rule.shared is not (whose.agent is None):
        raise errors.NotFound
    return found


def owner_id(whose: Owner) -> str:
    """Return the id that names an owner in an address."""
    return whose.agent_id or whose.crew.id


def owners(actor: Actor) -> list[Owner]:
    """Return every tree the actor may look into, each crew before its agents."""
    by_crew = defaultdict(list)
    for agent in workspace_tree.agents(actor):
        by_crew[agent.crew_id].append(agent)
    found = []
    for crew in workspace_tree.crews(actor):
        found.append(Owner(crew))
        found += [Owner(crew, agent) for agent in by_crew[crew.id]]
    return found


# ── The tree ─────────────────────────────────────────────────────────────────
def tree(actor: Actor) -> Tree:
    """Return every file with its usage, and what lies there without being ours."""
    actor.require("files.read")
    rows = MemoryFile.objects.filter(workspace_id=actor.workspace_id)
    files = defaultdict(list)
    for row in rows.exclude(sha256=""):
        files[row.agent_id or row.crew_id].append(row)
    held = _held_counts(actor)
    strays = _strays(workspace_tree.workspace(actor).slug)
    crews: dict[str, list[Branch]] = {}
    for whose in owners(actor):
        made = _branch(whose, files[owner_id(whose)], held, strays)
        crews.setdefault(whose.crew.slug, []).append(made)
    found = [row for branches in crews.values() for b in branches for row in b.files]
    return Tree(
        tuple((name, tuple(branches)) for name, branches in crews.items()),
        files=sum(row.exists for row in found),
        nearly_full=sum(bool(row.usage.band) for row in found),
        held=sum(row.held for row in found),
    )


def _held_counts(actor: Actor) -> dict[tuple[str, str], int]:
    rows = HeldFile.objects.filter(
        workspace_id=actor.workspace_id, state=HeldState.HELD
    )
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for crew_id, agent_id, label in rows.values_list("crew_id", "agent_id", "label"):
        found = tiers.split(label)
        if found is not None:
            whose = crew_id if found.rule.shared else agent_id
            counts[str(whose), label] += 1
    return counts


def _branch(
    whose: Owner,
    rows: Sequence[MemoryFile],
    held: dict[tuple[str, str], int],
    strays: dict[str, list[str]],
) -> Branch:
    name = owner_id(whose)
    found = [
        FileRow(
            name,
            row.label,
            Usage(row.bytes, paths.place_of(row).rule.cap),
            row.updated_at,
            held.get((name, row.label), 0),
        )
        for row in sorted(rows, key=_by_tier)
    ]
    there = {row.label for row in rows}
    for (who, label), count in held.items():
        place_ = tiers.split(label)
        if who == name and label not in there and place_ is not None:
            usage = Usage(0, place_.rule.cap)
            found.append(FileRow(name, label, usage, None, count, exists=False))
    return Branch(
        name,
        whose.agent.slug if whose.agent else f"{whose.crew.slug}, shared",
        whose.agent.role if whose.agent else "",
        tuple(found),
        tuple(strays.get("/".join(whose.parts()), ())),
    )


def _by_tier(row: MemoryFile) -> tuple[int, int, str]:
    # Days newest first; everything else by name.
    number = -int(row.key.replace("-", "")) if row.tier in tiers.DATED else 0
    return _ORDER[row.tier], number, row.key


def _strays(workspace_slug: str) -> dict[str, list[str]]:
    """Return names on disk that are no tier file, by the tree they lie in."""
    found: dict[str, list[str]] = defaultdict(list)
    for parts in paths.vault().walk((workspace_slug,)):
        deep = 4 if len(parts) > 2 and parts[2] == "agents" else 3
        label = "/".join(parts[deep:])
        place_ = tiers.split(label)
        if place_ is None or place_.rule.shared is (deep == 4):
            names = found["/".join(parts[:deep])]
            if len(names) < STRAYS:
                names.append(label.encode("utf-8", "replace").decode())
    return found


# ── Search ───────────────────────────────────────────────────────────────────
def search(actor: Actor, query: str, wanted: str = "") -> list[Answer]:
    """Return what one owner's files, or everybody's, say about a query."""
    chosen = [owner(actor, wanted)] if wanted else owners(actor)
    answers = []
    for whose in chosen:
        found = reading.search(whose, query, by=actor)
        mine = [
            hit
            for hit in found.hits
            if _shared(hit.source) is (whose.agent is None) or wanted
        ]
        if mine:
            name = whose.agent.slug if whose.agent else f"{whose.crew.slug}, shared"
            answers.append(Answer(owner_id(whose), name, tuple(mine)))
    return answers


def _shared(label: str) -> bool:
    found = tiers.split(label)
    return found is not None and found.rule.shared


# ── One file ─────────────────────────────────────────────────────────────────
def file(actor: Actor, whose: Owner, where: Place) -> FilePage:
    """Return a file with its state; what is on disk is judged before it is shown."""
    text, fault = None, ""
    try:
        text = reading.read(whose, where, by=actor)
    except (Unsafe, BlobDamaged, errors.TooLarge) as error:
        fault = error.detail
    row = row_of(whose, where)
    newest = versions.latest(row) if row else None
    held = HeldFile.objects.filter(
        workspace_id=whose.workspace_id,
        crew=whose.crew,
        label=where.label,
        state=HeldState.HELD,
    )
    if whose.agent is not None:
        held = held.filter(agent=whose.agent)
    return FilePage(
        owner=whose,
        owner_id=owner_id(whose),
        place=where,
        text=text,
        usage=Usage(text.size if text else 0, where.rule.cap),
        history=_history(newest, fault),
        newest=newest,
        count=row.versions.filter(committed=True).count() if row else 0,
        held=tuple(held.defer("body")),
        fault=fault,
    )


def row_of(whose: Owner, where: Place) -> MemoryFile | None:
    """Return a file's row, None for one that never was."""
    rows = MemoryFile.objects.select_related("crew__workspace", "agent")
    path = whose.path(where)
    return rows.filter(workspace_id=whose.workspace_id, path=path).first()


def _history(newest: MemoryVersion | None, fault: str) -> History:
    if fault:
        return History.UNRECORDED
    if newest is None:
        return History.RECORDED
    try:
        versions.read(newest)
    except errors.HouseError:
        return History.UNAVAILABLE
    return History.RECORDED


# ── History ──────────────────────────────────────────────────────────────────
def log(row: MemoryFile | None) -> list[MemoryVersion]:
    """Return a file's versions, newest first."""
    return versions.log(row, LOG) if row else []


def version(row: MemoryFile | None, number: int) -> MemoryVersion:
    """Return one finished version of a file by its number, or NotFound."""
    found = row.versions.filter(number=number, committed=True).first() if row else None
    if found is None:
        raise errors.NotFound
    return found


def compare(row: MemoryFile | None, first: int, second: int) -> Compared:
    """Return what changed between two versions, the older one first."""
    older, newer = (version(row, number) for number in sorted((first, second)))
    try:
        lines = versions.diff(versions.read(older), versions.read(newer))
    except errors.HouseError as error:
        return Compared(older, newer, (), error.detail)
    return Compared(older, newer, tuple(lines))
