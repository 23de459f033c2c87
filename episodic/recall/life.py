"""What happened to one entry and what will, from what is stored: its life line.

Nothing is guessed. How often an entry was returned is counted, when it was last is
stored, and single times only while the recall log keeps them; of the rest nothing is
said. The curve of its importance is the formula with today's priority and references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext

from episodic.embedders.base import failure_text
from episodic.index import importance, policy
from episodic.models import Embedding, LoggedHit, State
from episodic.recall import importance_detail, questions
from episodic.recall.importance_detail import Weight
from memory.journal import queries
from memory.models import JournalEntry, PriorityChange, RecordEntry, RecordStatus
from memory.rules.permissions import Actor

# Appended later than this after its own time, both times are told.
LATE: Final = timedelta(minutes=1)
PRIORITIES_MOST: Final = 20
LOGGED_MOST: Final = 200
CURVE_DAYS: Final = 180
CURVE_STEP: Final = 3
OUTLOOK_DAYS: Final = (30, 90, 180)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, or a date that was set; ``kind`` names it.

    written, appended, embedded, embedded_again, recalled, priority, redacted, replaced,
    retired, restricted, erased, expires. ``step`` is the change of a priority, and
    ``successor`` the entry that replaced this one.
    """

    kind: str
    at: datetime
    step: PriorityChange | None = None
    successor: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """The importance at a moment, 0..1."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Life:
    """An entry's life, oldest event first.

    ``curve`` is empty and ``outlook`` too for an entry that was never indexed or is
    erased. ``logged`` are the times of the newest logged questions that returned it,
    and ``is_log_capped`` says that there are more.
    ``reason`` says why it has no embedding, "" when it has one.
    """

    weight: Weight
    events: list[Event]
    logged: list[datetime]
    is_log_capped: bool
    curve: list[Point]
    outlook: list[tuple[int, Point]]
    reason: str
    now: datetime

    @property
    def entry(self) -> JournalEntry:
        return self.weight.entry


def of(actor: Actor, entry_id: str) -> Life:
    """Return the life of an entry the actor may read."""
    weight = importance_detail.of(actor, entry_id)
    now = timezone.now()
    events = sorted(_events(weight), key=lambda event: event.at)
    logged = _logged(actor, weight.entry)
    return Life(
        weight=weight,
        events=events,
        logged=logged[:LOGGED_MOST],
        is_log_capped=len(logged) > LOGGED_MOST,
        curve=_curve(weight),
        outlook=_outlook(weight, now),
        reason=_reason(weight),
        now=now,
    )


def _events(weight: Weight) -> Iterator[Event]:
    entry, row = weight.entry, weight.embedding
    yield Event("written", entry.ts)
    if entry.recorded_at - entry.ts > LATE:
        yield Event("appended", entry.recorded_at)
    if row is not None and row.indexed_at is not None:
        yield Event("embedded", row.indexed_at)
        if row.embedded_at and row.embedded_at - row.indexed_at > LATE:
            yield Event("embedded_again", row.embedded_at)
    if row is not None and row.last_referenced_at is not None:
        yield Event("recalled", row.last_referenced_at)
    for step in queries.priorities(entry)[-PRIORITIES_MOST:]:
        yield Event("priority", step.set_at, step)
    if entry.retired_at is not None:
        successor = _successor(entry)
        kind = "replaced" if successor else "retired"
        yield Event(kind, entry.retired_at, successor=successor)
    dates = {
        "redacted": entry.redacted_at,
        "restricted": entry.restricted_at,
        "erased": entry.erased_at,
        "expires": entry.expires_at,
    }
    yield from (Event(kind, at) for kind, at in dates.items() if at is not None)


def _successor(entry: JournalEntry) -> str:
    """Return the entry with the current version of its record, "" without one."""
    row = (
        RecordEntry.objects.filter(
            workspace_id=entry.workspace_id,
            entry=entry,
            record__status=RecordStatus.CURRENT,
        )
        .exclude(record__current_entry_id=entry.id)
        .values_list("record__current_entry_id", flat=True)
        .first()
    )
    return row or ""


def _logged(actor: Actor, entry: JournalEntry) -> list[datetime]:
    """Return the newest times, one more than are shown when there are more."""
    if not actor.can(questions.READ):
        return []
    hits = LoggedHit.objects.filter(
        workspace_id=entry.workspace_id, entry_id=entry.id
    ).order_by("-id")
    return list(hits.values_list("question__asked_at", flat=True)[: LOGGED_MOST + 1])


def _value(weight: Weight, days: float) -> float:
    entry = weight.entry
    references = weight.parts.references if weight.parts else 0
    return importance.explain(
        entry.entry_type,
        entry.severity,
        entry.priority,
        days=days,
        references=references,
    ).value


def _indexed_at(weight: Weight) -> datetime | None:
    if weight.embedding is None or weight.entry.erased_at is not None:
        return None
    return weight.embedding.indexed_at


def _curve(weight: Weight) -> list[Point]:
    """Return the importance from the first indexing until it decays no further."""
    start = _indexed_at(weight)
    if start is None:
        return []
    return [
        Point(start + timedelta(days=days), _value(weight, days))
        for days in range(0, CURVE_DAYS + 1, CURVE_STEP)
    ]


def _outlook(weight: Weight, now: datetime) -> list[tuple[int, Point]]:
    """Return the importance in some days, if nothing else changes."""
    start = _indexed_at(weight)
    if start is None:
        return []
    moments = [(days, now + timedelta(days=days)) for days in OUTLOOK_DAYS]
    return [
        (days, Point(at, _value(weight, (at - start) / timedelta(days=1))))
        for days, at in moments
    ]


def _reason(weight: Weight) -> str:
    """Return why an entry has no embedding, "" when it has one or is out of use."""
    entry, row = weight.entry, weight.embedding
    is_indexed = row is not None and row.indexed_at is not None
    if is_indexed or entry.erased_at or entry.retired_at or entry.restricted_at:
        return ""
    if row is None and not entry.embeddable:
        judgement = policy.judge(
            entry.entry_type, entry.severity, entry.payload, entry.refs
        )
        return "" if judgement.embeds else judgement.why
    return _wait_reason(row)


def _wait_reason(row: Embedding | None) -> str:
    if row is not None and row.state == State.FAILED:
        if not row.last_error:
            return gettext("the embedder failed: without an error text")
        return gettext("the embedder failed: {error}").format(
            error=failure_text(row.last_error)
        )
    return gettext("it waits for the index")
