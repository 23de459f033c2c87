"""Export memory files as a bundle; import a bundle: first plan, then apply.

An import is a series of ordinary writes: capped, scanned, versioned. A document that
fails does not affect the others, and the report names every one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import DatabaseError

from memory.files import bundle_format, paths, quarantine, versions, writer
from memory.files.bundle_format import Document
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.models import Agent, Crew, MemoryFile, Workspace
from memory.ports import subject_linker
from memory.rules import entries, errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, WriteMode
from memory.stored_files.store import digest

REJECTED: Final = (
    writer.TierFull,
    quarantine.WriteRefused,
    errors.Invalid,
    errors.Forbidden,
    errors.TooLarge,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What to export, or the target of documents without an owner."""

    workspace: Workspace
    crew: Crew | None = None
    agent: Agent | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One document's planned action, and its outcome after ``apply``.

    ``action`` is new, replace, same or refused; ``outcome`` is written, unchanged,
    held, rejected, failed or refused, empty in a plan.
    """

    path: str
    target: str
    action: str
    size: int
    reason: str = ""
    outcome: str = ""
    held_id: str | None = None
    owner: Owner | None = field(default=None, repr=False)
    place: Place | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the item for a report, without its text."""
        names = ("path", "target", "action", "outcome", "size", "reason", "held_id")
        return {name: getattr(self, name) for name in names}


def scope(workspace: Workspace, crew: str = "", agent: str = "") -> Scope:
    """Return the scope of slugs; raise NotFound for an unknown crew or agent."""
    if agent and not crew:
        raise errors.Invalid("An agent is named with its crew.", code="crew_required")
    if not crew:
        return Scope(workspace)
    crews = Crew.objects.select_related("workspace").filter(
        workspace=workspace, slug=crew
    )
    the_crew = crews.first()
    if the_crew is None:
        raise errors.NotFound(f"There is no crew {crew!r}.")
    if not agent:
        return Scope(workspace, the_crew)
    the_agent = Agent.objects.filter(crew=the_crew, slug=agent).first()
    if the_agent is None:
        raise errors.NotFound(f"There is no agent {agent!r} in {crew!r}.")
    return Scope(workspace, the_crew, the_agent)


# ── Export ───────────────────────────────────────────────────────────────────
def export(scope: Scope, *, by: Actor) -> list[Document]:
    """Return every memory file of a scope, as its newest version has it.

    Held texts are not exported. Restricted people are not exported either: their card
    is left out, elsewhere they are masked. A damaged file makes the whole export fail:
    an incomplete export is worse than none.
    """
    by.require("files.import", scope.workspace.id)
    rows = MemoryFile.objects.filter(workspace=scope.workspace).exclude(sha256="")
    rows = rows.select_related("crew__workspace", "agent").order_by("path")
    if scope.crew is not None:
        rows = rows.filter(crew=scope.crew)
    if scope.agent is not None:
        rows = rows.filter(agent=scope.agent)
    documents = []
    for row in rows:
        newest = versions.latest(row)
        if newest is None or subject_linker.mask(row.workspace_id, row.key) != row.key:
            continue
        text = subject_linker.mask(row.workspace_id, versions.read(newest).decode())
        owner = paths.owner_of(row)
        path = "/".join(owner.parts(paths.place_of(row))[1:])
        agent = row.agent.slug if row.agent else None
        documents.append(Document(path, row.label, text, row.crew.slug, agent))
    return documents


# ── Import ───────────────────────────────────────────────────────────────────
def plan(documents: Sequence[Document], into: Scope, *, by: Actor) -> list[Item]:
    """Return for each document its target and what the import would do there."""
    by.require("files.import", into.workspace.id)
    targets: set[str] = set()
    return [_plan(document, into, targets) for document in documents]


def _plan(doc: Document, into: Scope, targets: set[str]) -> Item:
    size = len(doc.text.encode("utf-8", "replace"))
    item = Item(doc.path, doc.label, "refused", size)
    if doc.fault:
        return replace(item, reason=doc.fault)
    place = paths.refuse_unknown(tiers.split(doc.label))
    try:
        owner = _owner(doc, place, into)
    except errors.AppError as error:
        return replace(item, reason=error.detail)
    target = owner.path(place)
    reason = _objection(doc, place, size) or ("twice" if target in targets else "")
    if reason:
        message = "another document goes there" if reason == "twice" else reason
        return replace(item, target=target, reason=message)
    targets.add(target)
    row = MemoryFile.objects.filter(workspace=into.workspace, path=target).first()
    present = row.sha256 if row else ""
    is_same = present == digest(doc.text.encode())
    action = "same" if is_same else "replace" if present else "new"
    planned = replace(item, target=target, action=action)
    return replace(planned, owner=owner, place=place, text=doc.text)


def _objection(doc: Document, place: Place, size: int) -> str:
    cap = place.rule.cap or tiers.HARD_CAP
    if not entries.is_storable(doc.text):
        return "holds a NUL or half a surrogate pair"
    if not doc.text.strip():
        return "is empty"
    return f"is over the cap: {tiers.usage(size, cap)}" if size > cap else ""


def _owner(doc: Document, place: Place, into: Scope) -> Owner:
    """Return a document's owner: as it says, within the scope of the import."""
    target = (
        scope(into.workspace, doc.crew or "", doc.agent or "") if doc.crew else into
    )
    if into.crew is not None and target.crew != into.crew:
        raise errors.Invalid("belongs to another crew than the one asked for")
    if target.crew is None:
        raise errors.Invalid("names no crew; say which one it is for")
    if place.rule.shared:
        return Owner(target.crew)
    agent = target.agent or (into.agent if not doc.crew else None)
    if agent is None:
        raise errors.Invalid("belongs to one agent; say which one")
    if into.agent is not None and agent != into.agent:
        raise errors.Invalid("belongs to another agent than the one asked for")
    agent.crew = target.crew
    return Owner(target.crew, agent)


def apply(items: Sequence[Item], *, by: Actor) -> list[Item]:
    """Apply a plan; a document that fails does not stop the others."""
    return [_apply(item, by) for item in items]


def _apply(item: Item, by: Actor) -> Item:
    if item.owner is None or item.place is None:
        return replace(item, outcome="refused")
    if item.action == "same":
        return replace(item, outcome="unchanged")
    note = f"imported from {item.path}"
    request = Request(
        item.owner, item.place, item.text, WriteMode.REPLACE, "import", note
    )
    try:
        writer.write(request, by=by)
    except quarantine.HeldForReview as error:
        held_id = str(error.fields["held_id"])
        return replace(item, outcome="held", reason=error.detail, held_id=held_id)
    except REJECTED as error:
        return replace(item, outcome="rejected", reason=error.detail)
    except errors.AppError as error:
        return replace(item, outcome="failed", reason=error.detail)
    except (OSError, DatabaseError):
        return replace(item, outcome="failed", reason="The server could not write it.")
    return replace(item, outcome="written")


def tally(items: Sequence[Item]) -> dict[str, int]:
    """Return how many items have which outcome, or action in a plan."""
    return dict(Counter(item.outcome or item.action for item in items))


def as_json(documents: Sequence[Document], workspace: Workspace) -> dict[str, Any]:
    """Return an export as one JSON document, which an import takes back."""
    entries = [
        {"path": doc.path, **doc.facts, "body": doc.text}
        for doc in sorted(documents, key=lambda doc: doc.path)
    ]
    return {**bundle_format.head(workspace.slug), "documents": entries}
