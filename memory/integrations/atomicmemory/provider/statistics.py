"""What can be counted of a scope: its size, its sources, its mutations, its lessons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.provider import insights, mapping
from memory.models import HeldFile, HeldState, Record, RecordEntry
from memory.records import Order, Wanted, access
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope

SCANNED: Final = 500
COUNTED: Final = 50_000
STEP: Final = 100
LESSONS: Final = 200
# A scope may hold more; from here on it is worth tidying.
MOST: Final = 100_000
WARN: Final = 0.8
HALF_LIFE_DAYS: Final = 90
RETAINED: Final = 0.2
MUTATIONS: Final = {
    "created": "add",
    "updated": "update",
    "superseded": "supersede",
    "invalidated": "delete",
}
LEVELS: Final = ((90, "critical"), (70, "high"), (40, "medium"), (0, "low"))
_MADE: Final = tuple(state for state in HeldState.values if state != HeldState.RELEASED)


@dataclass(frozen=True, slots=True)
class Desk:
    """Whose records of which scope are counted, and for whom."""

    owner: Owner | None
    scope: Scope
    by: Actor

    def wanted(self, **more: Any) -> Wanted:
        """Return the scope's records as a wish."""
        return Wanted(owner=self.owner, scope=self.scope, **more)

    def rows(self, most: int = SCANNED, **more: Any) -> list[Record]:
        """Return the scope's records in the order of creation, up to ``most``."""
        found: list[Record] = []
        cursor = None
        while len(found) < most:
            page = records.page(
                self.wanted(**more),
                limit=min(STEP, most - len(found)),
                cursor=cursor,
                order=Order.OLDEST,
                by=self.by,
            )
            found, cursor = [*found, *page.rows], page.next_cursor
            if cursor is None:
                break
        return found

    def count(self) -> int:
        """Return how many records the scope holds now."""
        return records.count(self.wanted(), by=self.by)


# ── Size ─────────────────────────────────────────────────────────────────────
def stats(desk: Desk) -> dict[str, Any]:
    """Return how many; how sure and from which sources, of the oldest 500."""
    rows = desk.rows()
    sources = Counter(str(mapping.origin(row).get("source") or "") for row in rows)
    sure = sum(row.confidence for row in rows) / len(rows) if rows else 0.0
    return {
        "count": desk.count(),
        "avg_importance": round(sure, 4),
        "source_distribution": {name or "unknown": n for name, n in sources.items()},
    }


def cap(desk: Desk) -> dict[str, Any]:
    """Return how full a scope is; nothing is refused above the mark."""
    active = desk.count()
    ratio = active / MOST
    state = "exceeded" if ratio >= 1 else "warn" if ratio >= WARN else "ok"
    return {
        "active_memories": active,
        "max_memories": MOST,
        "status": state,
        "usage_ratio": round(ratio, 6),
        "recommendation": "none" if state == "ok" else "consolidate",
    }


def clusters(desk: Desk) -> dict[str, Any]:
    """Return memories that say much the same; nothing is changed."""
    rows = desk.rows()
    found = [one for one in insights.groups(rows) if len(one.members) > 1]
    return {
        "memories_scanned": len(rows),
        "clusters_found": len(found),
        "memories_in_clusters": sum(len(one.members) for one in found),
        "clusters": [
            {"member_ids": one.ids, "member_count": len(one.members)} for one in found
        ],
    }


def retention(record: Record, now: datetime) -> float:
    """Return what a memory is worth keeping: its confidence, halved with its age."""
    days = max(0.0, (now - record.updated_at).total_seconds() / 86_400)
    return round(float(record.confidence * 0.5 ** (days / HALF_LIFE_DAYS)), 4)


def decay(desk: Desk) -> dict[str, Any]:
    """Return what has faded; a dry run, nothing is archived."""
    now, rows = timezone.now(), desk.rows()
    scores = {row.id: retention(row, now) for row in rows}
    faded = [row for row in rows if scores[row.id] < RETAINED]
    mean = sum(scores.values()) / len(scores) if scores else 0.0
    return {
        "memories_evaluated": len(rows),
        "candidates_for_archival": [
            {"id": row.id, "retention_score": scores[row.id]} for row in faded
        ],
        "retention_threshold": RETAINED,
        "avg_retention_score": round(mean, 4),
        "archived": 0,
    }


def reset_source(desk: Desk, source: str) -> int:
    """Forget what came from a source, in the caller's own word for it."""
    field = f"metadata.{mapping.ORIGIN}.source"
    named = {"field": field, "op": "eq", "value": source}
    return records.forget_scope(
        desk.wanted(filter=named), reason="its source was reset", by=desk.by
    )


# ── Mutations ────────────────────────────────────────────────────────────────
def _links(desk: Desk) -> Any:
    rows = access.standing(desk.wanted(), by=desk.by).exclude(status="forgotten")
    rows = rows.filter(access.alive())
    if desk.by.is_agent:
        # What it may not read is not there: neither its versions nor how many.
        rows = rows.exclude(pk__in=records.withheld(rows, COUNTED))
    return RecordEntry.objects.filter(
        workspace_id=desk.by.workspace_id, record__in=rows.values("id")
    )


def _event(link: RecordEntry) -> str:
    return link.event or ("created" if link.version == 1 else "updated")


def summary(desk: Desk) -> dict[str, Any]:
    """Return how often memories were made, changed and replaced."""
    links = list(_links(desk).only("event", "version", "record_id"))
    events = Counter(MUTATIONS[_event(link)] for link in links)
    active = desk.count()
    return {
        "total_versions": len(links),
        "active_versions": active,
        "superseded_versions": len(links) - active,
        "total_claims": len({link.record_id for link in links}),
        "by_mutation_type": dict(events),
    }


def recent(desk: Desk, limit: int) -> list[tuple[str, records.Version]]:
    """Return the last mutations, newest first, each with its record's id."""
    links = list(_links(desk).order_by("-entry__ts", "-entry_id")[:limit])
    histories: dict[str, dict[int, records.Version]] = {}
    found = []
    for link in links:
        record_id = str(link.record_id)
        if record_id not in histories:
            told = records.history(record_id, owner=desk.owner, by=desk.by)
            histories[record_id] = {one.number: one for one in told}
        version = histories[record_id].get(link.version)
        if version is not None:
            found.append((record_id, version))
    return found


# ── Lessons ──────────────────────────────────────────────────────────────────
def _level(risk: float) -> str:
    """Return a risk as one of the contract's four words; risk is 0..1 or 0..100."""
    points = risk * 100 if risk <= 1 else risk
    return next(name for least, name in LEVELS if points >= least)


def _lesson(held: HeldFile, user: str) -> dict[str, Any]:
    rules = sorted({str(one.get("rule", "")) for one in held.findings} - {""})
    return {
        "id": held.id,
        "user_id": user,
        "lesson_type": "injection_blocked",
        "pattern": ", ".join(rules) or held.family or "held",
        "embedding": [],
        "source_memory_ids": [],
        "source_query": None,
        "severity": _level(held.risk),
        "active": held.state == HeldState.HELD,
        "metadata": {"state": held.state, "times_seen": held.times_seen},
        "created_at": held.received_at,
    }


def lessons(desk: Desk) -> list[dict[str, Any]]:
    """Return what the scanner held of a scope: the rules that fired, never the text."""
    desk.by.require("records.read")
    if desk.owner is None or desk.owner.agent is None:
        return []
    rows = HeldFile.objects.filter(
        workspace_id=desk.by.workspace_id,
        agent=desk.owner.agent,
        tier="records",
        state__in=_MADE,
    ).select_related("record_draft")
    found = []
    for held in rows.order_by("-received_at", "id")[:LESSONS]:
        kept = getattr(held, "record_draft", None)
        named = kept.draft.get("scope", {}).get("user", "") if kept else ""
        if named == desk.scope.user:
            found.append(_lesson(held, named))
    return found
