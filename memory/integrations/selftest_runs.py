"""One run over every wire and provider, as a job; results are told as they come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from memory.integrations import selftest_server
from memory.integrations.selftest import WIRES
from memory.integrations.selftest_server import Promise, Stand, Wire
from memory.jobs import registry as jobs
from memory.jobs.registry import Job, Outcome
from memory.journal import append as journal
from memory.models import JobRun, ProviderRun, RunState, Workspace
from memory.providers import parity_runs, registry
from memory.providers.parity.base import Failed, NotApplicable
from memory.providers.parity.suite import FAILED, PASSED, SKIPPED
from memory.providers.parity.suite import Outcome as Tried
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, system

JOB: Final = "conformance"
KEPT: Final = 20
PROVIDERS: Final = parity_runs.TRIED


@dataclass(frozen=True, slots=True)
class Line:
    """One wire with its last run, None before the first."""

    wire: Wire
    run: ProviderRun | None


@dataclass(frozen=True, slots=True)
class Board:
    """Every wire and every provider; ``going_on`` is the run of now."""

    lines: list[Line]
    providers: list[tuple[str, str, ProviderRun | None]]
    going_on: JobRun | None

    @property
    def failed(self) -> list[Line]:
        """The wires that broke a promise when they were last tried."""
        return [line for line in self.lines if line.run and line.run.failed]

    @property
    def untried(self) -> list[Line]:
        """The wires that were never tried here."""
        return [line for line in self.lines if line.run is None]


def _name(wire: Wire) -> str:
    """Return what a wire's runs are kept under, beside those of the providers."""
    return f"wire:{wire.name}"


# ── Running ──────────────────────────────────────────────────────────────────
def _try(one: Promise, make: Callable[[], Stand]) -> tuple[str, str]:
    try:
        one.run(make())
    except NotApplicable as reason:
        return SKIPPED, str(reason)
    except Failed as failure:
        return FAILED, str(failure)
    except Exception as error:  # noqa: BLE001  (an answer may have any shape at all)
        return FAILED, f"{type(error).__name__}: {error}"[:300]
    return PASSED, ""


def tried(wire: Wire, make: Callable[[], Stand]) -> list[Tried]:
    """Try every promise of a wire, each with agents of its own."""
    found = []
    for one in wire.promises:
        start = time.perf_counter()
        state, note = _try(one, make)
        spent = round((time.perf_counter() - start) * 1000, 1)
        found.append(Tried(one.id, one.says, state, note, spent))
    return found


def _keep(wire: Wire, outcomes: list[Tried], *, by: Actor) -> ProviderRun:
    counts = {
        state: sum(one.state == state for one in outcomes)
        for state in (PASSED, FAILED, SKIPPED)
    }
    passed, failed = counts[PASSED], counts[FAILED]
    with transaction.atomic():
        run = ProviderRun.objects.create(
            workspace_id=by.workspace_id,
            provider=_name(wire),
            started_at=timezone.now(),
            seconds=round(sum(one.milliseconds for one in outcomes) / 1000, 2),
            passed=passed,
            failed=failed,
            skipped=counts[SKIPPED],
            details=[asdict(one) for one in outcomes],
            started_by=by.label,
        )
        rows = ProviderRun.objects.filter(
            workspace_id=by.workspace_id, provider=_name(wire)
        )
        kept = list(rows.order_by("-id").values_list("pk", flat=True)[:KEPT])
        rows.exclude(pk__in=kept).delete()
        new = NewEntry(
            entry_type="wire.checked",
            severity=Severity.WARN if failed else Severity.INFO,
            summary=f"Wire {wire.name}: {passed} promises kept, {failed} broken",
            payload={"wire": wire.name, "passed": passed, "failed": failed},
        )
        journal.write([new], by=by)
    return run


def run(workspace_id: str) -> Outcome:
    """Try every wire and provider for a workspace, on stages of their own.

    Takes the better part of a minute, so the worker does it.
    """
    by = system(workspace_id, "conformance")
    counts = {"kept": 0, "broken": 0}
    with selftest_server.raised() as make:
        for wire in WIRES:
            done = _keep(wire, tried(wire, make), by=by)
            counts["kept"] += done.passed
            counts["broken"] += done.failed
    workspace = Workspace.objects.get(pk=workspace_id)
    for name in PROVIDERS:
        parity = parity_runs.run_now(workspace, name, by=by)
        counts["kept"] += parity.passed
        counts["broken"] += parity.failed
    fault = f"{counts['broken']} promises were broken" if counts["broken"] else ""
    return Outcome(counts, fault)


def begin(*, by: Actor) -> JobRun:
    """Have it run now: by the worker where there is one; Conflict when it runs."""
    return jobs.ask(JOB, by=by)


# ── Telling ──────────────────────────────────────────────────────────────────
def _last(workspace_id: str, wire: Wire) -> ProviderRun | None:
    return parity_runs.last_run(workspace_id, _name(wire))


def board(*, by: Actor) -> Board:
    """Return every wire and provider with what became of it last."""
    by.require("providers.read")
    home = by.workspace_id
    open_runs = JobRun.objects.filter(
        name=JOB,
        workspace_id=home,
        state__in=(RunState.WAITING, RunState.RUNNING),
        heartbeat_at__gte=timezone.now() - jobs.STALE,
    )
    return Board(
        lines=[Line(wire, _last(home, wire)) for wire in WIRES],
        providers=[
            (one.name, one.title, parity_runs.last_run(home, one.name))
            for one in registry.entries()
        ],
        going_on=open_runs.order_by("-pk").first(),
    )


def install() -> None:
    """Put it among the jobs; nothing but a person starts it."""
    jobs.register(Job(name=JOB, title="Conformance", schedule="when asked", act=run))
