"""What waits for people and for workers, from small tables and short indexes."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.db import connection
from django.db.models import Count, F, Min, Sum
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan
from django.utils import timezone

from gdpr.models import OPEN, Case, CaseKind, Certificate
from memory import fulltext
from memory.jobs import claims
from memory.jobs.registry import STALE
from memory.measurements import declared
from memory.measurements.declared import Figure, Value
from memory.models import (
    Agent,
    ChainHead,
    DeliveryStatus,
    HeldFile,
    HeldState,
    JobRun,
    RunState,
    WebhookDelivery,
    Workspace,
)

Values = dict[Figure, list[Value]]
DUE: Final = timedelta(days=1)
# As the verdict of a certificate's run.
RESULTS: Final = ("complete", "partial")

WORKSPACES: Final = declared.computed("workspaces", "Workspaces.")
AGENTS: Final = declared.computed("agents", "Agents.")
ENTRIES: Final = declared.computed(
    "journal_entries", "Entries ever appended.", kind="counter"
)
JOURNAL: Final = (WORKSPACES, AGENTS, ENTRIES)

HELD_TEXTS: Final = declared.computed("held_texts", "Texts that wait for a reviewer.")
HELD_OLDEST: Final = declared.computed(
    "held_oldest_seconds", "How long the oldest of them has waited."
)
REVIEW: Final = (HELD_TEXTS, HELD_OLDEST)

CASES_OPEN: Final = declared.computed("cases_open", "Open cases.", ["kind"])
CASES_DUE: Final = declared.computed(
    "cases_due", "Open cases due within a day.", ["kind"]
)
CASES_OVERDUE: Final = declared.computed(
    "cases_overdue", "Open cases past their deadline.", ["kind"]
)
CASES: Final = (CASES_OPEN, CASES_DUE, CASES_OVERDUE)

JOBS_WAITING: Final = declared.computed(
    "job_runs_waiting", "Runs that people asked for and no worker has taken."
)
JOBS_OLDEST: Final = declared.computed(
    "job_runs_oldest_waiting_seconds", "How long the oldest of them has waited."
)
JOBS_SILENT: Final = declared.computed(
    "job_runs_silent", "Runs whose process died, or whose next part nobody takes."
)
JOBS: Final = (JOBS_WAITING, JOBS_OLDEST, JOBS_SILENT)

DELIVERIES_DUE: Final = declared.computed(
    "webhook_deliveries_due", "Messages that are due and not sent."
)
WEBHOOKS: Final = (DELIVERIES_DUE,)
ERASED: Final = declared.computed(
    "erasures", "Erasures with a certificate.", ["result"], kind="counter"
)
ERASURES: Final = (ERASED,)
DATABASE_BYTES: Final = declared.computed("database_bytes", "Size of the database.")
SIZE: Final = (DATABASE_BYTES,)


def _single(value: float | None) -> list[Value]:
    return [((), float(value or 0))]


def _age(moment: datetime | None) -> list[Value]:
    seconds = (timezone.now() - moment).total_seconds() if moment else 0.0
    return _single(max(0.0, seconds))


def journal() -> Values:
    """Return tenants and entries; the ends of the chains know how many there are."""
    entries = ChainHead.objects.aggregate(total=Sum("seq"))["total"]
    return {
        WORKSPACES: _single(Workspace.objects.count()),
        AGENTS: _single(Agent.objects.count()),
        ENTRIES: _single(entries),
    }


def review() -> Values:
    """Return what reviewers have before them."""
    rows = HeldFile.objects.filter(state=HeldState.HELD).order_by()
    counts = rows.aggregate(number=Count("pk"), oldest=Min("received_at"))
    return {
        HELD_TEXTS: _single(counts["number"]),
        HELD_OLDEST: _age(counts["oldest"]),
    }


def cases() -> Values:
    """Return the open cases of each kind, those due and those late."""
    now, until = timezone.now(), Coalesce(F("extended_until"), F("due_at"))
    rows = Case.objects.filter(state__in=OPEN).order_by().values("kind")
    is_late = LessThan(until, now)
    counts = rows.annotate(
        total=Count("pk"),
        late=Count("pk", filter=is_late),
        soon=Count("pk", filter=LessThan(until, now + DUE)),
    )
    by_kind = {row["kind"]: row for row in counts}
    none = {"total": 0, "late": 0, "soon": 0}
    values: Values = {CASES_OPEN: [], CASES_DUE: [], CASES_OVERDUE: []}
    for kind in CaseKind.values:
        row = by_kind.get(kind, none)
        values[CASES_OPEN].append(((kind,), row["total"]))
        values[CASES_DUE].append(((kind,), row["soon"] - row["late"]))
        values[CASES_OVERDUE].append(((kind,), row["late"]))
    return values


def jobs() -> Values:
    """Return the runs that nobody takes, and those that nobody does any more."""
    open_runs = JobRun.objects.filter(ended_at=None).order_by()
    waiting_runs = open_runs.filter(state=RunState.WAITING)
    counts = waiting_runs.aggregate(number=Count("pk"), oldest=Min("started_at"))
    silent_runs = claims.silent(timezone.now(), STALE)
    return {
        JOBS_WAITING: _single(counts["number"]),
        JOBS_OLDEST: _age(counts["oldest"]),
        JOBS_SILENT: _single(silent_runs.order_by().count()),
    }


def webhooks() -> Values:
    """Return the messages that are due."""
    due = WebhookDelivery.objects.filter(
        status=DeliveryStatus.PENDING,
        next_attempt_at__lte=timezone.now(),
        webhook__active=True,
    )
    return {DELIVERIES_DUE: _single(due.order_by().count())}


def erasures() -> Values:
    """Return how many runs ended, by the result on their certificates."""
    rows = Certificate.objects.order_by().values_list("result")
    numbers = dict(rows.annotate(number=Count("pk")))
    return {ERASED: [((result,), numbers.get(result, 0)) for result in RESULTS]}


def size() -> Values:
    """Return the size of the database, on SQLite with its log."""
    if not fulltext.is_sqlite():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return {DATABASE_BYTES: _single(cursor.fetchone()[0])}
    name = str(connection.settings_dict["NAME"])
    files = [path for path in (Path(name), Path(f"{name}-wal")) if path.exists()]
    return {DATABASE_BYTES: _single(sum(path.stat().st_size for path in files))}
