"""Snapshots of memory health: measured nightly and on demand, one a day and scope.

A snapshot of today replaces an earlier one of today. When a score changes its band, the
journal says so in the same transaction. A workspace that has vectors and no snapshot
yet gets its past as well: for each day of the last five weeks, what today's index says
about the entries that existed by then. Those snapshots are marked ``backfilled``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from episodic.health import bands
from episodic.health.metrics import table as metrics
from episodic.index import snapshot
from episodic.index.snapshot import IndexArrays
from episodic.models import Embedding, HealthSnapshot, State
from memory import webhooks, workspace_tree
from memory.journal import append as journal
from memory.models import Crew, JournalEntry, Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, system

BACKFILL_DAYS: Final = 35
BACKFILL_VECTORS: Final = 20_000
HISTORY_DAYS: Final = 30
BAND_CHANGED: Final = "memory.health_band_changed"


class NoSnapshot(errors.NotFound):
    """Nothing was measured yet."""

    code = "no_snapshot"
    sentence = gettext_noop("The health of this memory has not been measured yet.")


# ── Measuring ────────────────────────────────────────────────────────────────
def crews(workspace_id: str) -> list[str]:
    rows = Crew.objects.filter(workspace_id=workspace_id).order_by("slug")
    return list(rows.values_list("id", flat=True))


def take(
    workspace_id: str,
    crew_ids: Iterable[str] | None = None,
    *,
    include_workspace: bool = True,
) -> list[HealthSnapshot]:
    """Measure a workspace and its crews (or the named ones) now and store it."""
    arrays = snapshot.load(workspace_id)
    selected = crews(workspace_id) if crew_ids is None else list(crew_ids)
    scopes = [*([""] if include_workspace else []), *selected]
    return [_take(workspace_id, crew_id, arrays) for crew_id in scopes]


def _take(
    workspace_id: str, crew_id: str, arrays: IndexArrays | None
) -> HealthSnapshot:
    now = timezone.now()
    values = metrics.measure(workspace_id, crew_id or None, arrays, now)
    with transaction.atomic():
        # One at a time: two that measure at once see each other's bands.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        before = _newest(workspace_id, crew_id)
        after, _ = HealthSnapshot.objects.update_or_create(
            workspace_id=workspace_id,
            crew_id=crew_id,
            date=now.astimezone(UTC).date(),
            defaults=metrics.fields(values) | {"computed_at": now},
        )
        if before is not None:
            _record_band_change(before, after)
    return after


def _record_band_change(before: HealthSnapshot, after: HealthSnapshot) -> None:
    """Write to the journal that the score changed its band, unless one is "no data"."""
    old, new = bands.band(before.score), bands.band(after.score)
    if old == new or bands.Band.NONE in (old, new):
        return
    fell = (after.score or 0) < (before.score or 0)
    crew = Crew.objects.filter(pk=after.crew_id).first() if after.crew_id else None
    owner = f"crew {crew.slug}" if crew else "the workspace"
    payload = {
        "scope": crew.slug if crew else "workspace",
        "from": old.value,
        "to": new.value,
        "score_before": before.score,
        "score": after.score,
        "metrics": metrics.values(after),
    }
    new_entry = NewEntry(
        entry_type=BAND_CHANGED,
        severity=Severity.WARN if fell else Severity.NOTICE,
        summary=f"Memory health of {owner} "
        f"{'fell' if fell else 'rose'} from {old.value} to {new.value}: "
        f"{before.score} to {after.score}",
        payload=payload,
        crew_id=after.crew_id or None,
    )
    webhooks.queue(*journal.write([new_entry], by=system(after.workspace_id, "health")))


# ── The past ─────────────────────────────────────────────────────────────────
def begin() -> int:
    """Measure workspaces that hold vectors and were never measured, with their past.

    A workspace whose entries still wait for their first try is left for later.
    """
    rows = Embedding.objects.order_by()
    ready = set(
        rows.filter(state=State.INDEXED)
        .exclude(workspace__in=HealthSnapshot.objects.values("workspace"))
        .values_list("workspace_id", flat=True)
        .distinct()
    )
    if not ready:
        return 0
    unread = rows.filter(workspace__in=ready, state=State.PENDING, attempts=0)
    ready -= set(unread.values_list("workspace_id", flat=True).distinct())
    return sum(_begin(workspace_id) for workspace_id in sorted(ready))


def _begin(workspace_id: str) -> int:
    arrays = snapshot.load(workspace_id)
    past = 0
    if arrays is not None and len(arrays.matrix) <= BACKFILL_VECTORS:
        past = _backfill(workspace_id, arrays)
    return past + len(take(workspace_id))


def _backfill(workspace_id: str, arrays: IndexArrays) -> int:
    """Store what today's index says about the memory of each past day."""
    today = timezone.now().astimezone(UTC).date()
    first = JournalEntry.objects.filter(workspace_id=workspace_id).order_by("ts")
    start = first.values_list("ts", flat=True).first()
    if start is None:
        return 0
    days = min(BACKFILL_DAYS, (today - start.astimezone(UTC).date()).days)
    snapshots = [
        _past(workspace_id, crew_id, arrays, today - timedelta(days=back))
        for crew_id in ["", *crews(workspace_id)]
        for back in range(days, 0, -1)
    ]
    measured = [row for row in snapshots if row.score is not None]
    HealthSnapshot.objects.bulk_create(measured, ignore_conflicts=True)
    return len(measured)


def _past(
    workspace_id: str, crew_id: str, arrays: IndexArrays, day: date
) -> HealthSnapshot:
    at = datetime.combine(day, time.max, tzinfo=UTC)
    values = metrics.measure(workspace_id, crew_id or None, arrays, at, as_of=True)
    values.details["backfilled"] = True
    return HealthSnapshot(
        workspace_id=workspace_id,
        crew_id=crew_id,
        date=day,
        computed_at=timezone.now(),
        **metrics.fields(values),
    )


# ── Reading ──────────────────────────────────────────────────────────────────
def scope(actor: Actor, crew_id: str | None) -> str:
    """Return whose health the actor asks for; an agent's is its crew's."""
    actor.require("health.read")
    if crew_id:
        return workspace_tree.crew(actor, crew_id).id
    return (actor.crew_id or "") if actor.is_agent else ""


def _newest(workspace_id: str, crew_id: str) -> HealthSnapshot | None:
    rows = HealthSnapshot.objects.filter(workspace_id=workspace_id, crew_id=crew_id)
    return rows.order_by("-date").first()


def latest(actor: Actor, crew_id: str | None = None) -> HealthSnapshot:
    """Return the newest snapshot of the workspace or a crew."""
    row = _newest(actor.workspace_id, scope(actor, crew_id))
    if row is None:
        raise NoSnapshot
    return row


def history(
    actor: Actor, days: int = HISTORY_DAYS, crew_id: str | None = None
) -> list[HealthSnapshot]:
    """Return the snapshots of the last days, oldest first."""
    since = timezone.now().astimezone(UTC).date() - timedelta(days=days)
    rows = HealthSnapshot.objects.filter(
        workspace_id=actor.workspace_id,
        crew_id=scope(actor, crew_id),
        date__gte=since,
    )
    return list(rows.order_by("date"))


def around(
    actor: Actor, at: datetime
) -> tuple[HealthSnapshot | None, HealthSnapshot | None]:
    """Return the workspace's last score of before a moment, and the newest since."""
    actor.require("health.read")
    rows = HealthSnapshot.objects.filter(
        workspace_id=actor.workspace_id, crew_id="", score__isnull=False
    ).order_by("-date")
    before = rows.filter(date__lte=at.date(), computed_at__lt=at).first()
    return before, rows.filter(date__gte=at.date(), computed_at__gte=at).first()


def by_scope(actor: Actor, days: int = HISTORY_DAYS) -> dict[str, list[HealthSnapshot]]:
    """Return the snapshots of every scope, oldest first; the last with its details."""
    actor.require("health.read")
    since = timezone.now().astimezone(UTC).date() - timedelta(days=days)
    rows = HealthSnapshot.objects.filter(
        workspace_id=actor.workspace_id, date__gte=since
    )
    by_crew: dict[str, list[HealthSnapshot]] = {}
    if all(metrics.has_column(name) for name in metrics.names()):
        rows = rows.defer("details")
    for row in rows.order_by("date"):
        by_crew.setdefault(row.crew_id, []).append(row)
    last = HealthSnapshot.objects.in_bulk([rows[-1].pk for rows in by_crew.values()])
    return {crew: [*rows[:-1], last[rows[-1].pk]] for crew, rows in by_crew.items()}


def recompute(actor: Actor, crew_id: str | None = None) -> HealthSnapshot:
    """Measure now, for an operator, and return the snapshot."""
    actor.require("health.recompute")
    crew = scope(actor, crew_id)
    rows = take(
        actor.workspace_id, [crew] if crew else None, include_workspace=not crew
    )
    return next(row for row in rows if row.crew_id == crew)
