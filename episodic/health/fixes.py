"""What the health page's buttons do, and what it changed.

Each fix is the act that its own page offers; health is measured again right after, so
the answer can say what the metric was and what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.db.models import Q

from episodic.consolidation import run as consolidation
from episodic.health import snapshots as health
from episodic.index import engine, relations, snapshot
from episodic.index import status as index_status
from episodic.models import Embedding, HealthSnapshot, MemoryRelation, State
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.permissions import Actor

AT_ONCE: Final = 512
LINKED_AT_ONCE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Changed:
    """What a fix did, in words, and whether all of it went well."""

    text: str
    whole: bool


def fix(kind: str, actor: Actor, crew_id: str | None = None) -> Changed:
    """Carry out a fix for a scope, measure again, and tell before and after."""
    if kind not in FIXES:
        raise errors.NotFound
    actor.require("health.recompute")
    wanted = health.scope(actor, crew_id) or None
    before = health.history(actor, 400, wanted)[-1:]
    did, whole = FIXES[kind][1](actor, wanted)
    after = health.recompute(actor, wanted)
    if wanted:
        # The workspace's score holds the crew's as well.
        health.take(actor.workspace_id, [])
    told = _change(FIXES[kind][0], before[0] if before else None, after)
    return Changed(f"{did}. {told}", whole)


def _change(metric: str, before: HealthSnapshot | None, after: HealthSnapshot) -> str:
    said = []
    for name in dict.fromkeys((metric, "score")):
        old = getattr(before, name) if before else None
        said.append(f"{name} {_text(old)} → {_text(getattr(after, name))}")
    return ", ".join(said).capitalize()


def _text(value: float | None) -> str:
    return "no data" if value is None else f"{value:.1f}"


# ── The fixes ────────────────────────────────────────────────────────────────
def _index(actor: Actor, crew_id: str | None) -> tuple[str, bool]:
    rows = Embedding.objects.filter(workspace_id=actor.workspace_id)
    rows = rows.exclude(state=State.INDEXED, model=engine.embedder().model)
    rows = rows.exclude(state=State.WITHHELD)
    named = None
    if crew_id:
        mine = rows.filter(crew_id=crew_id).order_by("attempts", "-seq")
        named = list(mine.values_list("pk", flat=True)[:AT_ONCE])
    report = index_status.run(
        actor.workspace_id, by=actor, entry_ids=named, limit=AT_ONCE
    )
    said = f"{report.indexed:,} indexed"
    if report.failed:
        return f"{said}, {report.failed:,} failed: the embedder refused them", False
    return said, True


def _link(actor: Actor, crew_id: str | None) -> tuple[str, bool]:
    """Link entries that no relation reaches to older ones near enough."""
    actor.require("index.run")
    joined = MemoryRelation.objects.filter(workspace_id=actor.workspace_id)
    rows = snapshot.current(actor.workspace_id).exclude(
        Q(pk__in=joined.values("src")) | Q(pk__in=joined.values("dst"))
    )
    if crew_id:
        rows = rows.filter(crew_id=crew_id)
    chosen = list(
        rows.order_by("-seq").values_list("entry_id", "vector")[:LINKED_AT_ONCE]
    )
    entries = JournalEntry.objects.filter(erased_at__isnull=True).in_bulk(
        [entry_id for entry_id, _ in chosen]
    )
    pairs = [
        (entries[entry_id], np.frombuffer(bytes(blob), dtype="<f4"))
        for entry_id, blob in chosen
        if entry_id in entries
    ]
    made = sum(
        relations.link(pairs[at : at + 100], engine.embedder().model)
        for at in range(0, len(pairs), 100)
    )
    return f"{made:,} {'relation' if made == 1 else 'relations'} written", True


def _consolidate(actor: Actor, crew_id: str | None) -> tuple[str, bool]:
    """Look for rules; what is proposed changes nothing until somebody approves it."""
    done = consolidation.of_workspace(by=actor, crew_id=crew_id)
    made = sum(len(one.proposed) for one in done)
    faults = [f"{one.crew}: {one.error}" for one in done if one.error]
    said = f"{made:,} {'rule' if made == 1 else 'rules'} proposed"
    if made:
        said += ", linked to their evidence once somebody approves them"
    return "; ".join([said, *faults]).rstrip("."), not faults


def _nothing(_actor: Actor, _crew_id: str | None) -> tuple[str, bool]:
    return "Measured again", True


Fix = Callable[[Actor, str | None], tuple[str, bool]]
FIXES: Final[dict[str, tuple[str, Fix]]] = {
    "index": ("coverage", _index),
    "link": ("reachability", _link),
    "consolidate": ("reachability", _consolidate),
    "recompute": ("score", _nothing),
}
