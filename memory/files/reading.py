"""Reading and searching memory files for an actor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory import scanner
from memory.files import paths, reconcile, restricted, search_index
from memory.files.paths import Owner
from memory.files.search_index import SNIPPET_CHARS
from memory.models import HeldFile, HeldState, MemoryFile
from memory.ports import subject_linker
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier
from memory.rules.translation import gettext
from memory.stored_files.store import RootLost

LIMIT: Final = 20


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text and facts; ``exists`` is false for a file that is not there."""

    label: str
    text: str
    sha256: str
    size: int
    cap: int
    exists: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One place in a file that answers a search; ``score`` lies in 0..1."""

    source: str
    snippet: str
    line: int
    heading: str
    score: float
    tier: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and the labels of files whose newest text is held."""

    hits: list[Hit]
    quarantined: list[str]


def permit(owner: Owner, by: Actor) -> None:
    """Raise NotFound unless a person, or the agent's own or its crew's files."""
    by.require("files.read", owner.workspace_id)
    if by.is_agent and (
        owner.crew.id != by.crew_id or owner.agent_id not in (None, by.id)
    ):
        raise errors.NotFound


def visible_text(workspace_id: str, text: str, by: Actor) -> str:
    """Return a text as an actor may see it: restricted people are masked.

    Actors with ``gdpr.read`` see everything.
    """
    return text if by.can("gdpr.read") else subject_linker.mask(workspace_id, text)


def read(owner: Owner, place: Place, *, by: Actor) -> Text:
    """Return a file's text; the bytes on disk are scanned first."""
    permit(owner, by)
    if restricted.is_hidden(place, owner.workspace_id, by):
        raise errors.NotFound
    reconcile.notice(owner, place)
    stored_file = paths.file_store().read(owner.of(place).parts(place))
    data = stored_file.data if stored_file else b""
    return Text(
        label=place.label,
        text=visible_text(owner.workspace_id, data.decode("utf-8", "replace"), by),
        sha256=stored_file.sha256 if stored_file else "",
        size=len(data),
        cap=place.rule.cap,
        exists=stored_file is not None,
    )


def files(owner: Owner, *, by: Actor, tier: Tier | None = None) -> list[MemoryFile]:
    """Return the files an owner can reach: its own, and its crew's shared ones."""
    permit(owner, by)
    rows = MemoryFile.objects.filter(workspace_id=owner.workspace_id, crew=owner.crew)
    rows = rows.exclude(sha256="").select_related("crew__workspace", "agent")
    rows = restricted.visible_files(rows, by)
    reachable = [row for row in rows if row.agent_id in (None, owner.agent_id)]
    return [row for row in reachable if tier is None or row.tier == tier.value]


def held_labels(owner: Owner) -> list[str]:
    """Return the labels for which a text is held for review."""
    rows = HeldFile.objects.filter(
        workspace_id=owner.workspace_id, crew=owner.crew, state=HeldState.HELD
    )
    pairs = rows.values_list("label", "agent_id").distinct()
    return sorted({label for label, agent in pairs if agent in (None, owner.agent_id)})


def _reconciled(rows: Sequence[MemoryFile]) -> list[MemoryFile]:
    """Reconcile files with the disk; leave out those that cannot be read safely."""
    readable = []
    for file in rows:
        try:
            reconcile.notice(paths.owner_of(file), paths.place_of(file))
        except RootLost:
            raise
        except errors.AppError:
            continue
        readable.append(file)
    return readable


def search(
    owner: Owner, query: str, *, by: Actor, tier: Tier | None = None, limit: int = LIMIT
) -> SearchResult:
    """Return the best pieces of the files an owner can reach, crew and own merged.

    Scores are divided by the best one, so that they lie in 0..1 within one answer.
    """
    if not query.strip():
        raise errors.Invalid(gettext("q must not be blank."), code="blank_query")
    limit = limit if 0 < limit <= LIMIT else LIMIT
    reachable = {file.id: file for file in _reconciled(files(owner, by=by, tier=tier))}
    chunk_hits = search_index.find(list(reachable), query, limit)
    best = max((hit.score for hit in chunk_hits), default=0.0)
    hits = [
        Hit(
            source=reachable[hit.file_id].label,
            snippet=scanner.redact_for_prompt(
                visible_text(owner.workspace_id, hit.text, by)[:SNIPPET_CHARS]
            ),
            line=hit.line,
            heading=hit.heading,
            score=round(hit.score / best, 4) if best > 0 else 0.0,
            tier=reachable[hit.file_id].tier,
        )
        for hit in chunk_hits
    ]
    labels = [
        label for label in held_labels(owner) if tier is None or _is_of(label, tier)
    ]
    return SearchResult(hits, labels)


def _is_of(label: str, tier: Tier) -> bool:
    place = tiers.split(label)
    return place is not None and place.tier is tier


def quarantined(owner: Owner, place: Place) -> bool:
    """Whether a text for this place is held for review."""
    return place.label in held_labels(owner)
