"""The status of a workspace's providers: last parity run, last health check."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext

from memory import workspace_settings
from memory.journal import append as journal
from memory.models import ProviderPulse, ProviderRun, Workspace
from memory.providers import (
    base,
    deadline,
    native,
    parity_harness,
    registry,
    remote,
    tierfiles,
)
from memory.providers.base import Binding
from memory.providers.parity import suite as parity
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, system
from memory.workspace_settings import declarations

FRESH: Final = timedelta(seconds=10)
KEPT_RUNS: Final = 20
TESTED_PROVIDERS: Final = (tierfiles.NAME, native.NAME, remote.NAME)
_running = threading.Lock()


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider of the list, with its last check and its last parity run.

    ``is_chosen`` is the one that the workspace uses.
    """

    entry: registry.Entry
    is_chosen: bool
    pulse: ProviderPulse
    run: ProviderRun | None


def last_run(workspace_id: str, provider: str) -> ProviderRun | None:
    """Return the newest parity run of a provider, None before the first."""
    rows = ProviderRun.objects.filter(workspace_id=workspace_id, provider=provider)
    return rows.order_by("-started_at", "-id").first()


def run_now(
    workspace: Workspace,
    provider: str,
    *,
    by: Actor,
    watch: Callable[[parity.Outcome], None] | None = None,
) -> ProviderRun:
    """Run the parity suite on a provider in a temporary workspace; store the result.

    Takes seconds; ``watch`` is called with each outcome. One run at a time in a
    process: the second caller gets Conflict.
    """
    by.require("providers.manage", workspace.id)
    if provider not in TESTED_PROVIDERS:
        raise errors.NotFound
    if not _running.acquire(blocking=False):
        detail = gettext("A conformance run is going on; wait for its result.")
        raise errors.Conflict(detail, code="run_going_on")
    try:
        started = timezone.now()
        english = translation.override(settings.LANGUAGE_CODE)
        with english, parity_harness.open_harness(provider) as harness:
            report = parity.run(harness, watch)
    finally:
        _running.release()
    return _keep(workspace, report, started, by)


def _keep(
    workspace: Workspace, report: parity.Report, started: datetime, by: Actor
) -> ProviderRun:
    passed, failed = report.count(parity.PASSED), report.count(parity.FAILED)
    with transaction.atomic():
        run = ProviderRun.objects.create(
            workspace=workspace,
            provider=report.provider,
            started_at=started,
            seconds=report.seconds,
            passed=passed,
            failed=failed,
            skipped=report.count(parity.NOT_APPLICABLE),
            details=[asdict(outcome) for outcome in report.outcomes],
            started_by=by.label,
        )
        rows = ProviderRun.objects.filter(workspace=workspace, provider=report.provider)
        newest = list(rows.order_by("-id").values_list("pk", flat=True)[:KEPT_RUNS])
        rows.exclude(pk__in=newest).delete()
        new = NewEntry(
            entry_type="provider.checked",
            severity=Severity.WARN if failed else Severity.INFO,
            summary=f"Provider {report.provider}: {passed} passed, {failed} failed",
            payload={"provider": report.provider, "passed": passed, "failed": failed},
        )
        journal.write([new], by=by)
    return run


# ── Health ───────────────────────────────────────────────────────────────────
def check_health(workspace: Workspace, entry: registry.Entry) -> ProviderPulse:
    """Check a provider's health within its deadline; store the result, in English."""
    with translation.override(settings.LANGUAGE_CODE):
        return _check_health(workspace, entry)


def _check_health(workspace: Workspace, entry: registry.Entry) -> ProviderPulse:
    binding = Binding(by=system(workspace.id, "pulse"), workspace_id=workspace.id)
    try:
        provider = registry.provider(workspace, binding, entry.name)
        start = time.perf_counter()
        status = deadline.check_health(provider, entry.seconds)
        milliseconds = (time.perf_counter() - start) * 1000
    except errors.AppError as error:
        status, milliseconds = base.health_status(error.detail), 0.0
    fields = {
        "ok": status.ok,
        "message": status.message[:300],
        "checked_at": status.checked_at,
        "milliseconds": round(milliseconds, 1),
    }
    if status.ok:
        fields["last_good_at"] = status.checked_at
    row, _ = ProviderPulse.objects.update_or_create(
        workspace=workspace, provider=entry.name, defaults=fields
    )
    return row


def provider_states(workspace_id: str) -> list[ProviderState]:
    """Return every provider with a status at most ten seconds old and its last run."""
    workspace = Workspace.objects.get(pk=workspace_id)
    rows = ProviderPulse.objects.filter(workspace=workspace)
    pulses = {row.provider: row for row in rows}
    chosen_name = workspace_settings.value(workspace.id, declarations.PROVIDER)
    states = []
    for entry in registry.entries():
        row = pulses.get(entry.name)
        if row is None or timezone.now() - row.checked_at > FRESH:
            row = check_health(workspace, entry)
        run = last_run(workspace_id, entry.name)
        states.append(ProviderState(entry, entry.name == chosen_name, row, run))
    return states


def last_pulse(actor: Actor) -> tuple[registry.Entry | None, ProviderPulse | None]:
    """Return the workspace's provider and its stored health, without a new check.

    The provider is None where this version lacks the one that is set.
    """
    actor.require("providers.read")
    name = workspace_settings.value(actor.workspace_id, declarations.PROVIDER)
    rows = ProviderPulse.objects.filter(workspace_id=actor.workspace_id, provider=name)
    return registry.ENTRIES.get(name), rows.first()
