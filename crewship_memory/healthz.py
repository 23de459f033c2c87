"""Liveness and readiness of this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from crewship_memory.version import VERSION
from episodic.index import engine
from gdpr.erasure import readiness
from memory import outages, recall_database
from memory.installation import identity as installation
from memory.installation import schema_version
from memory.jobs import pulses

# Below the first requests are served and a warning is given; below the second SQLite
# may have no room for its log.
LOW_BYTES: Final = 512 * 1024**2
FULL_BYTES: Final = 8 * 1024**2
NO_REDIS: Final = (
    "Redis does not answer: each process counts rate limits for itself, and tasks wait"
    " in the database until it is back."
)


class NotReady(Exception):
    """A requirement is missing; the message may be shown to anybody."""


class Degraded(Exception):
    """Requests are served with something missing; the message is public."""


def waiting_migrations() -> list[str]:
    """Return the names of migrations that are not applied."""
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes()
    plan = executor.migration_plan(targets)
    return [f"{migration.app_label}.{migration.name}" for migration, _back in plan]


def check_database() -> None:
    """Read one row."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError as error:
        raise NotReady("The database does not answer.") from error


class _Migrations:
    """Checks the migrations until all are applied; they stay applied."""

    def __init__(self) -> None:
        self.applied = False

    def __call__(self) -> None:
        if self.applied:
            return
        try:
            pending = waiting_migrations()
        except (DatabaseError, LookupError) as error:
            raise NotReady("The migrations cannot be read.") from error
        if pending:
            raise NotReady(f"{len(pending)} migrations are not applied.")
        self.applied = True


def check_schema() -> None:
    """Fail when a newer version has migrated the database."""
    try:
        names = schema_version.unknown()
    except DatabaseError as error:
        raise NotReady("The migrations cannot be read.") from error
    if names:
        raise NotReady(schema_version.refusal(names).detail)


def check_integrity() -> None:
    """Report damage that the background check or a request saw."""
    if outages.damage.is_noted:
        raise NotReady(outages.DAMAGED)


def check_data_dir() -> None:
    """Fail when no file can be made in the data folder."""
    if not os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        raise NotReady("The data folder cannot be written to.")


def check_installation() -> None:
    """Fail when keys or data folder belong to another database."""
    reason = installation.problem()
    if reason is not None:
        raise NotReady(reason)


def check_erasures() -> None:
    """Fail while people have to be erased again in a restored database."""
    try:
        is_replaced, gaps = readiness.is_replaced(), readiness.gaps().values()
    except (DatabaseError, OSError):
        # The database's and the folder's own checks say so.
        return
    if is_replaced:
        raise NotReady(readiness.REPLACED)
    count, closed = sum(gap.count for gap in gaps), [g for g in gaps if not g.is_served]
    faults = [gap.fault for gap in closed if gap.fault]
    if count:
        progress = f"{count} to go in {len(closed)} workspaces, which are not served"
        raise NotReady(f"Erasures made after this backup are repeated: {progress}.")
    if faults:
        raise NotReady(f"{faults[0]} {len(faults)} workspaces are not served.")
    if any(gap.is_tail_lost for gap in gaps):
        raise Degraded(readiness.TAIL_LOST)


def free_bytes() -> int:
    """Return the free bytes of the data folder's disk."""
    return shutil.disk_usage(settings.DATA_DIR).free


def check_disk() -> None:
    """Warn of little free space or a refused request; too little is not ready."""
    try:
        free = free_bytes()
    except OSError:
        # The data folder is away; its own check says so.
        return
    free_space = f"{free / 1024**2:.0f} MiB are free"
    if free < FULL_BYTES:
        raise NotReady(f"The disk of the data folder is full: {free_space}. Make room.")
    if outages.refusal.is_recent:
        raise Degraded(outages.REFUSED)
    if free < LOW_BYTES:
        raise Degraded(f"The disk of the data folder is nearly full: {free_space}.")


def check_redis() -> None:
    """Ping Redis if configured; after a failure at most every five seconds."""
    if not settings.REDIS_URL:
        return
    cache.get("readyz")
    if _is_redis_down():
        raise Degraded(NO_REDIS)


def _is_redis_down() -> bool:
    # The library takes a twentieth of a start's time, and is needed only with Redis.
    return bool(import_module("crewship_memory.shared_cache").link.is_down)


def check_queues() -> None:
    """Report queues without a worker, and a missing clock, while Redis answers."""
    if not settings.REDIS_URL or _is_redis_down():
        return
    try:
        sentences = pulses.missing()
    except DatabaseError:
        # The database's own check says so.
        return
    if sentences:
        raise Degraded(" ".join(sentences))


def check_replica() -> None:
    """Report a read replica that is away or far behind: recall does without it."""
    try:
        reason = recall_database.problem()
    except DatabaseError:
        # The primary's own check says so.
        return
    if reason is not None:
        raise Degraded(reason)


# One function a check. It returns when all is well; it raises NotReady where requests
# would fail, Degraded where they are served with something missing.
CHECKS: Final[dict[str, Callable[[], None]]] = {
    "database": check_database,
    "schema": check_schema,
    "migrations": _Migrations(),
    "integrity": check_integrity,
    "data_directory": check_data_dir,
    "disk": check_disk,
    "redis": check_redis,
    "queues": check_queues,
    "replica": check_replica,
    "installation": check_installation,
    "erasures": check_erasures,
}


def embedder_state() -> dict[str, Any]:
    """Return the result of the last call to the embedder; never a reason to fail."""
    embedder, status = engine.embedder(), engine.status()
    return {
        "name": embedder.name,
        "model": embedder.model or None,
        "state": status.state.value,
        "reason": status.reason.value if status.reason else None,
        "last_ms": round(status.last_ms, 1) if status.last_ms is not None else None,
    }


def erasures_state() -> dict[str, Any]:
    """Return how many erasures a restored backup lacks, and what hides them."""
    try:
        gaps = readiness.gaps().values()
    except (DatabaseError, OSError) as error:
        return {"ok": False, "behind": 0, "fault": type(error).__name__}
    faults = [gap.fault for gap in gaps if gap.fault]
    faults += [readiness.TAIL_LOST for gap in gaps if gap.is_tail_lost]
    behind = sum(gap.count for gap in gaps)
    fault = next(iter(faults), "")
    return {"ok": not behind and not fault, "behind": behind, "fault": fault}


def _failures() -> dict[str, NotReady | Degraded]:
    """Run the checks; return those that failed and how, by name."""
    failures: dict[str, NotReady | Degraded] = {}
    for name, check in CHECKS.items():
        try:
            check()
        except (NotReady, Degraded) as error:
            failures[name] = error
    return failures


@login_not_required
@never_cache
@require_safe
def livez(_request: HttpRequest) -> HttpResponse:
    """Answer 200 without checking anything."""
    return JsonResponse({"alive": True})


@login_not_required
@never_cache
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Answer whether requests can be served, with the reasons if not."""
    failures = _failures()
    reasons = [str(e) for e in failures.values() if isinstance(e, NotReady)]
    # In an outage several checks fail for the same reason.
    reasons = list(dict.fromkeys(reasons))
    body = {
        "ready": not reasons,
        "version": VERSION,
        "reasons": reasons,
        "degraded": [str(e) for e in failures.values() if isinstance(e, Degraded)],
        "checks": {name: str(failures.get(name, "ok")) for name in CHECKS},
        "embedder": embedder_state(),
        "erasures": erasures_state(),
    }
    return JsonResponse(body, status=503 if reasons else 200)
