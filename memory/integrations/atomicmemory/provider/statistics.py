"""Statistics of a scope: size, sources, mutations and lessons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.provider import insights, mapping
from memory.models import HeldFile, HeldState, Record, RecordEntry
from memory.records import Criteria, access
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope

MAX_SCANNED: Final = 500
MAX_COUNTED: Final = 50_000
MAX_LESSONS: Final = 200
# Reported as the maximum; nothing is refused above it.
CAPACITY: Final = 100_000
WARN_RATIO: Final = 0.8
HALF_LIFE_DAYS: Final = 90
MIN_RETENTION: Final = 0.2
MUTATIONS: Final = {
    "created": "add",
    "updated": "update",
    "superseded": "supersede",
    "invalidated": "delete",
}
LEVELS: Final = ((90, "critical"), (70, "high"), (40, "medium"), (0, "low"))
_LESSON_STATES: Final = tuple(
    state for state in HeldState.values if state != HeldState.RELEASED
)


@dataclass(frozen=True, slots=True)
class RecordScope:
    """The records of a scope: their owner, and the actor who reads them."""

    owner: Owner | None
    scope: Scope
    by: Actor

    def query(self, **filters: Any) -> Criteria:
        """Return the filters that select the scope's records."""
        return Criteria(owner=self.owner, scope=self.scope, **filters)

    def rows(self) -> list[Record]:
        """Return the scope's oldest records, MAX_SCANNED at most."""
        return list(islice(records.every(self.query(), by=self.by), MAX_SCANNED))

    def count(self) -> int:
        """Return how many records the scope holds now."""
        return records.count(self.query(), by=self.by)


# ── Size ─────────────────────────────────────────────────────────────────────
def stats(record_scope: RecordScope) -> dict[str, Any]:
    """Return the count; mean confidence and sources of the oldest 500."""
    rows = record_scope.rows()
    sources = Counter(str(mapping.origin(row).get("source") or "") for row in rows)
    confidence = sum(row.confidence for row in rows) / len(rows) if rows else 0.0
    return {
        "count": record_scope.count(),
        "avg_importance": round(confidence, 4),
        "source_distribution": {name or "unknown": n for name, n in sources.items()},
    }


def cap(record_scope: RecordScope) -> dict[str, Any]:
    """Return how full a scope is; nothing is refused above the maximum."""
    active = record_scope.count()
    ratio = active / CAPACITY
    state = "exceeded" if ratio >= 1 else "warn" if ratio >= WARN_RATIO else "ok"
    return {
        "active_memories": active,
        "max_memories": CAPACITY,
        "status": state,
        "usage_ratio": round(ratio, 6),
        "recommendation": "none" if state == "ok" else "consolidate",
    }


def clusters(record_scope: RecordScope) -> dict[str, Any]:
    """Return groups of similar memories; nothing is changed."""
    rows = record_scope.rows()
    groups = [group for group in insights.groups(rows) if len(group.members) > 1]
    return {
        "memories_scanned": len(rows),
        "clusters_found": len(groups),
        "memories_in_clusters": sum(len(group.members) for group in groups),
        "clusters": [
            {"member_ids": group.ids, "member_count": len(group.members)}
            for group in groups
        ],
    }


def retention(record: Record, now: datetime) -> float:
    """Return confidence, halved every HALF_LIFE_DAYS since the last update."""
    days = max(0.0, (now - record.updated_at).total_seconds() / 86_400)
    return round(float(record.confidence * 0.5 ** (days / HALF_LIFE_DAYS)), 4)


def decay(record_scope: RecordScope) -> dict[str, Any]:
    """Return memories below MIN_RETENTION; a dry run, nothing is archived."""
    now, rows = timezone.now(), record_scope.rows()
    scores = {row.id: retention(row, now) for row in rows}
    faded = [row for row in rows if scores[row.id] < MIN_RETENTION]
    mean = sum(scores.values()) / len(scores) if scores else 0.0
    return {
        "memories_evaluated": len(rows),
        "candidates_for_archival": [
            {"id": row.id, "retention_score": scores[row.id]} for row in faded
        ],
        "retention_threshold": MIN_RETENTION,
        "avg_retention_score": round(mean, 4),
        "archived": 0,
    }


def reset_source(record_scope: RecordScope, source: str) -> int:
    """Forget memories by the caller's own name of their source; return the count."""
    return records.forget_scope(
        record_scope.query(filter=mapping.from_source(source)),
        reason="its source was reset",
        by=record_scope.by,
    )


# ── Mutations ────────────────────────────────────────────────────────────────
def _links(record_scope: RecordScope) -> Any:
    rows = access.in_scope(record_scope.query(), by=record_scope.by).exclude(
        status="forgotten"
    )
    rows = rows.filter(access.alive())
    if record_scope.by.is_agent:
        # Records it may not read are left out, and are not counted.
        rows = rows.exclude(pk__in=records.unsafe_ids(rows, MAX_COUNTED))
    return RecordEntry.objects.filter(
        workspace_id=record_scope.by.workspace_id, record__in=rows.values("id")
    )


def summary(record_scope: RecordScope) -> dict[str, Any]:
    """Return how often memories were created, changed and replaced."""
    links = list(_links(record_scope).only("event", "version", "record_id"))
    events = Counter(
        MUTATIONS[link.event or ("created" if link.version == 1 else "updated")]
        for link in links
    )
    active = record_scope.count()
    return {
        "total_versions": len(links),
        "active_versions": active,
        "superseded_versions": len(links) - active,
        "total_claims": len({link.record_id for link in links}),
        "by_mutation_type": dict(events),
    }


def recent(record_scope: RecordScope, limit: int) -> list[tuple[str, records.Version]]:
    """Return the last mutations, newest first, each with its record's id."""
    links = list(_links(record_scope).order_by("-entry__ts", "-entry_id")[:limit])
    histories: dict[str, dict[int, records.Version]] = {}
    mutations = []
    for link in links:
        record_id = str(link.record_id)
        if record_id not in histories:
            versions = records.history(
                record_id, owner=record_scope.owner, by=record_scope.by
            )
            histories[record_id] = {version.number: version for version in versions}
        version = histories[record_id].get(link.version)
        if version is not None:
            mutations.append((record_id, version))
    return mutations


# ── Lessons ──────────────────────────────────────────────────────────────────
def _level(risk: float) -> str:
    """Return a risk, 0..1 or 0..100, as one of the contract's four severities."""
    points = risk * 100 if risk <= 1 else risk
    return next(name for threshold, name in LEVELS if points >= threshold)


def _lesson(held_file: HeldFile, user: str) -> dict[str, Any]:
    rules = sorted(
        {str(finding.get("rule", "")) for finding in held_file.findings} - {""}
    )
    return {
        "id": held_file.id,
        "user_id": user,
        "lesson_type": "injection_blocked",
        "pattern": ", ".join(rules) or held_file.family or "held",
        "embedding": [],
        "source_memory_ids": [],
        "source_query": None,
        "severity": _level(held_file.risk),
        "active": held_file.state == HeldState.HELD,
        "metadata": {"state": held_file.state, "times_seen": held_file.times_seen},
        "created_at": held_file.received_at,
    }


def lessons(record_scope: RecordScope) -> list[dict[str, Any]]:
    """Return what the scanner held in a scope: the rules matched, never the text."""
    record_scope.by.require("records.read")
    if record_scope.owner is None or record_scope.owner.agent is None:
        return []
    rows = HeldFile.objects.filter(
        workspace_id=record_scope.by.workspace_id,
        agent=record_scope.owner.agent,
        tier="records",
        state__in=_LESSON_STATES,
    ).select_related("record_draft")
    lesson_rows = []
    for held_file in rows.order_by("-received_at", "id")[:MAX_LESSONS]:
        draft = getattr(held_file, "record_draft", None)
        user = draft.draft.get("scope", {}).get("user", "") if draft else ""
        if user == record_scope.scope.user:
            lesson_rows.append(_lesson(held_file, user))
    return lesson_rows
