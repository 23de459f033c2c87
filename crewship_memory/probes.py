"""Liveness and readiness, for whoever starts and watches this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from episodic import engine
from gdpr import replay
from memory import installation


class NotReady(Exception):
    """Something the house stands on is missing; the message may be shown to anyone."""


def waiting_migrations() -> list[str]:
    """Return the names of migrations that the database has not seen."""
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes()
    plan = executor.migration_plan(targets)
    return [f"{migration.app_label}.{migration.name}" for migration, _back in plan]


def check_database() -> None:
    """Ask the database for one row."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError as error:
        raise NotReady("The database does not answer.") from error


class _Migrations:
    """Migrations never un-apply themselves, so a good answer is kept."""

    def __init__(self) -> None:
        self.applied = False

    def __call__(self) -> None:
        if self.applied:
            return
        try:
            waiting = waiting_migrations()
        except (DatabaseError, LookupError) as error:
            raise NotReady("The migrations cannot be read.") from error
        if waiting:
            raise NotReady(f"{len(waiting)} migrations are not applied.")
        self.applied = True


def check_data_dir() -> None:
    """Make sure that files can be made in the data folder."""
    if not os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        raise NotReady("The data folder cannot be written to.")


def check_installation() -> None:
    """Make sure that the keys and the data folder belong to this database."""
    reason = installation.problem()
    if reason is not None:
        raise NotReady(reason)


CHECKS: Final[dict[str, Callable[[], None]]] = {
    "database": check_database,
    "migrations": _Migrations(),
    "data_directory": check_data_dir,
    "installation": check_installation,
}


def embedder_state() -> dict[str, Any]:
    """Return what the last real call to the embedder showed; never a reason to fail."""
    embedder, pulse = engine.embedder(), engine.pulse()
    return {
        "name": embedder.name,
        "model": embedder.model or None,
        "state": pulse.state.value,
        "reason": pulse.reason.value if pulse.reason else None,
        "last_ms": round(pulse.last_ms, 1) if pulse.last_ms is not None else None,
    }


def erasures_state() -> dict[str, Any]:
    """Return whether a restore brought back what was erased; told, never a failure."""
    try:
        return replay.state()
    except (DatabaseError, OSError) as error:
        return {"ok": False, "behind": 0, "fault": type(error).__name__}


def _ask(check: Callable[[], None]) -> str:
    try:
        check()
    except NotReady as error:
        return str(error)
    return "ok"


@login_not_required
@never_cache
@require_safe
def livez(_request: HttpRequest) -> HttpResponse:
    """Answer that the process runs; nothing else is asked."""
    return JsonResponse({"alive": True})


@login_not_required
@never_cache
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Answer whether requests can be served, and if not, why not."""
    checks = {name: _ask(check) for name, check in CHECKS.items()}
    reasons = [answer for answer in checks.values() if answer != "ok"]
    body = {
        "ready": not reasons,
        "reasons": reasons,
        "checks": checks,
        "embedder": embedder_state(),
        "erasures": erasures_state(),
    }
    return JsonResponse(body, status=503 if reasons else 200)
