"""What the file pages show: the tree with its usage, one file, its history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from memory import workspace_tree
from memory.files import paths, reading, restricted, versions
from memory.files.paths import Owner
from memory.files.reading import Hit, Text
from memory.files.versions import BlobDamaged, DiffLine
from memory.models import HeldFile, HeldState, MemoryFile, MemoryVersion
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place
from memory.rules.translation import gettext
from memory.stored_files.store import Unsafe

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
        return min(100, self.share)

    @property
    def band(self) -> str:
        """Red over the cap, yellow from 80 %, none below or without a cap."""
        if self.cap and self.size > self.cap:
            return "red"
        return "yellow" if self.cap and self.size >= tiers.WARN_SHARE * self.cap else ""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file in the tree; without ``exists`` only a held text for it."""

    owner_id: str
    label: str
    usage: Usage
    updated_at: datetime | None
    held: int = 0
    exists: bool = True


@dataclass(frozen=True, slots=True)
class Branch:
    """One agent's files, or a crew's own; ``strays`` are files of no tier."""

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
class Comparison:
    """Two versions side by side."""

    older: MemoryVersion
    newer: MemoryVersion
    lines: tuple[DiffLine, ...]
    fault: str = ""


# ── Owners ───────────────────────────────────────────────────────────────────
def owner(actor: Actor, owner_id: str) -> Owner:
    """Return the crew or the agent of an id, or NotFound."""
    actor.require("files.read")
    if owner_id.startswith("agent"):
        agent = workspace_tree.agent(actor, owner_id)
        return paths.owner_of_agent(agent)
    return Owner(workspace_tree.crew(actor, owner_id))


def place(owner: Owner, label: str) -> Place:
    """Return the place of a label in this owner's own tree, or NotFound."""
    place_ = paths.refuse_unknown(tiers.split(label))
    if place_.rule.shared is not (owner.agent is None):
        raise errors.NotFound
    return place_


def _name(owner: Owner) -> str:
    """Return what people read of an owner."""
    if owner.agent:
        return owner.agent.slug
    return gettext("{crew}, shared").format(crew=owner.crew.slug)


def owners(actor: Actor) -> list[Owner]:
    """Return every owner the actor may read, each crew before its agents."""
    by_crew = defaultdict(list)
    for agent in workspace_tree.agents(actor):
        by_crew[agent.crew_id].append(agent)
    result = []
    for crew in workspace_tree.crews(actor):
        result.append(Owner(crew))
        result += [Owner(crew, agent) for agent in by_crew[crew.id]]
    return result


# ── The tree ─────────────────────────────────────────────────────────────────
def tree(actor: Actor) -> Tree:
    """Return every file with its usage, and the stray files on disk."""
    actor.require("files.read")
    stored_files = MemoryFile.objects.filter(workspace_id=actor.workspace_id)
    files = defaultdict(list)
    for row in restricted.visible_files(stored_files.exclude(sha256=""), actor):
        files[row.agent_id or row.crew_id].append(row)
    held_counts = _held_counts(actor)
    strays = _strays(workspace_tree.workspace(actor).slug)
    crews: dict[str, list[Branch]] = {}
    for owner in owners(actor):
        branch = _branch(owner, files[owner.id], held_counts, strays)
        crews.setdefault(owner.crew.slug, []).append(branch)
    rows = [row for branches in crews.values() for b in branches for row in b.files]
    return Tree(
        tuple((name, tuple(branches)) for name, branches in crews.items()),
        files=sum(row.exists for row in rows),
        nearly_full=sum(bool(row.usage.band) for row in rows),
        held=sum(row.held for row in rows),
    )


def _held_counts(actor: Actor) -> dict[tuple[str, str], int]:
    rows = HeldFile.objects.filter(
        workspace_id=actor.workspace_id, state=HeldState.HELD
    )
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for crew_id, agent_id, label in rows.values_list("crew_id", "agent_id", "label"):
        place_ = tiers.split(label)
        if place_ is not None:
            target_id = crew_id if place_.rule.shared else agent_id
            counts[str(target_id), label] += 1
    return counts


def _branch(
    owner: Owner,
    rows: Sequence[MemoryFile],
    held_counts: dict[tuple[str, str], int],
    strays: dict[str, list[str]],
) -> Branch:
    file_rows = [
        FileRow(
            owner.id,
            row.label,
            Usage(row.bytes, paths.place_of(row).rule.cap),
            row.updated_at,
            held_counts.get((owner.id, row.label), 0),
        )
        for row in sorted(rows, key=_order)
    ]
    labels = {row.label for row in rows}
    for (target_id, label), count in held_counts.items():
        place_ = tiers.split(label)
        if target_id == owner.id and label not in labels and place_ is not None:
            usage = Usage(0, place_.rule.cap)
            file_rows.append(FileRow(owner.id, label, usage, None, count, exists=False))
    return Branch(
        owner.id,
        _name(owner),
        owner.agent.role if owner.agent else "",
        tuple(file_rows),
        tuple(strays.get("/".join(owner.parts()), ())),
    )


def _order(row: MemoryFile) -> tuple[int, int, str]:
    """Return the key by which files are sorted: days newest first, others by name."""
    number = -int(row.key.replace("-", "")) if row.tier in tiers.DATED else 0
    return _ORDER[row.tier], number, row.key


def _strays(workspace_slug: str) -> dict[str, list[str]]:
    """Return names on disk that are no tier file, by the tree they lie in."""
    names_by_tree: dict[str, list[str]] = defaultdict(list)
    for parts in paths.file_store().walk((workspace_slug,)):
        depth = 4 if len(parts) > 2 and parts[2] == "agents" else 3
        label = "/".join(parts[depth:])
        place_ = tiers.split(label)
        if place_ is None or place_.rule.shared is (depth == 4):
            names = names_by_tree["/".join(parts[:depth])]
            if len(names) < STRAYS:
                names.append(label.encode("utf-8", "replace").decode())
    return names_by_tree


# ── Search ───────────────────────────────────────────────────────────────────
def search(actor: Actor, query: str, only_owner: str = "") -> list[Answer]:
    """Return the hits of a query in one owner's files, or in all owners'."""
    targets = [owner(actor, only_owner)] if only_owner else owners(actor)
    answers = []
    for target in targets:
        result = reading.search(target, query, by=actor)
        hits = [
            hit
            for hit in result.hits
            if _is_shared(hit.source) is (target.agent is None) or only_owner
        ]
        if hits:
            answers.append(Answer(target.id, _name(target), tuple(hits)))
    return answers


def _is_shared(label: str) -> bool:
    place_ = tiers.split(label)
    return place_ is not None and place_.rule.shared


# ── One file ─────────────────────────────────────────────────────────────────
def file(actor: Actor, owner: Owner, place: Place) -> FilePage:
    """Return a file with its state; the bytes on disk are scanned before."""
    text, fault = None, ""
    try:
        text = reading.read(owner, place, by=actor)
    except (Unsafe, BlobDamaged, errors.TooLarge) as error:
        fault = error.detail
    row = paths.row_of(owner, place)
    newest = versions.latest(row) if row else None
    held_files = HeldFile.objects.filter(
        workspace_id=owner.workspace_id,
        crew=owner.crew,
        label=place.label,
        state=HeldState.HELD,
    )
    if owner.agent is not None:
        held_files = held_files.filter(agent=owner.agent)
    return FilePage(
        owner=owner,
        owner_id=owner.id,
        place=place,
        text=text,
        usage=Usage(text.size if text else 0, place.rule.cap),
        history=_history(newest, fault),
        newest=newest,
        count=row.versions.filter(committed=True).count() if row else 0,
        held=tuple(held_files.defer("body")),
        fault=fault,
    )


def _history(newest: MemoryVersion | None, fault: str) -> History:
    if fault:
        return History.UNRECORDED
    if newest is None:
        return History.RECORDED
    try:
        versions.read(newest)
    except errors.AppError:
        return History.UNAVAILABLE
    return History.RECORDED


# ── History ──────────────────────────────────────────────────────────────────
def log(row: MemoryFile | None) -> list[MemoryVersion]:
    """Return a file's versions, newest first."""
    return versions.log(row, LOG) if row else []


def version(row: MemoryFile | None, number: int) -> MemoryVersion:
    """Return one finished version of a file by its number, or NotFound."""
    row_ = row.versions.filter(number=number, committed=True).first() if row else None
    if row_ is None:
        raise errors.NotFound
    return row_


def compare(row: MemoryFile | None, first: int, second: int) -> Comparison:
    """Return what changed between two versions, the older one first."""
    older, newer = (version(row, number) for number in sorted((first, second)))
    try:
        lines = versions.diff(versions.read(older), versions.read(newer))
    except errors.AppError as error:
        return Comparison(older, newer, (), error.detail)
    return Comparison(older, newer, tuple(lines))
