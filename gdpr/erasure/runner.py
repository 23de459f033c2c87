"""The runner: claims waiting cases and carries them out by kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.utils.translation import gettext_noop

from gdpr.cases import leases, sealed_names
from gdpr.cases.leases import LeaseLost
from gdpr.erasure import execute, failpoints, finish, process_caches, seal_names
from gdpr.erasure.run_context import ProcessEnds, Run, heartbeat
from gdpr.export import make as export
from gdpr.export import review
from gdpr.models import CaseKind, CaseState, ExportState, StepState
from gdpr.recipients import listing as recipients
from gdpr.subjects import consents, restriction
from memory.installation import identity as installation
from memory.jobs import time_box
from memory.rules import errors

# How long a case waits after a fault before the next try.
REST: Final = timedelta(seconds=30)
FAULT: Final = gettext_noop("{name}; see the server's log")
log = structlog.get_logger(__name__)

_BEFORE: Final = (("prepare", gettext_noop("Audit log and suppression"), 1),)
_AFTER: Final = (
    ("processes", gettext_noop("Caches of every process"), 1),
    ("names", gettext_noop("Names and the case's own texts"), 1),
    ("residue", gettext_noop("Database and word indexes cleaned"), 1),
    ("verification", gettext_noop("Search for what is left"), 1),
    ("certificate", gettext_noop("Certificate"), 1),
)


def sweep() -> dict[str, int]:
    """Carry out every waiting case; return how many ran, and how many failed.

    A case that failed is tried again after ``REST``.
    """
    counts = {"run": 0, "failed": 0}
    for workspace_id, case_id in leases.due():
        if time_box.is_ending():
            break
        outcome = run(workspace_id, case_id)
        if outcome is not None:
            counts["run" if outcome else "failed"] += 1
    return counts


def run(workspace_id: str, case_id: str) -> bool | None:
    """Carry out a case; None when another runner has it, False after a fault."""
    runner = leases.runner_name()
    case = leases.claim(workspace_id, case_id, runner)
    if case is None:
        return None
    current = Run(case, runner)
    failpoints.step("claimed")
    with heartbeat(current):
        return _attempt(current)


def _attempt(run: Run) -> bool | None:
    """Carry out a claimed case; None when another runner took it over, or is to.

    False after a fault, which releases it for a retry. A process that ends releases it
    between two batches, for the next one to go on.
    """
    try:
        installation.require()
        _KINDS[CaseKind(run.case.kind)](run)
    except ProcessEnds:
        leases.release(run.case, run.runner)
        return None
    except LeaseLost:
        log.info("gdpr_lease_lost", case=run.case.id)
        return None
    except Exception as error:  # a case's fault must not stop the others
        log.exception("gdpr_case_failed", case=run.case.id)
        _report_fault(run, error)
        return False
    return True


def _report_fault(run: Run, error: Exception) -> None:
    is_ours = isinstance(error, errors.AppError)
    message = str(error) if is_ours else FAULT.format(name=type(error).__name__)
    try:
        for step in leases.steps(run.case):
            if step.state == StepState.RUNNING:
                leases.fail(step, message)
        leases.report_fault(run.case, message, by=run.by)
        leases.release(run.case, run.runner, after=REST)
    except DatabaseError:
        log.warning("gdpr_fault_not_told", case=run.case.id)


# ── Erasure, and rectification, which takes the same steps ───────────────────
def _erase(run: Run) -> None:
    run.tokens.add("kept", sealed_names.resume_words(run.case).strings)
    if run.case.state == CaseState.RUNNING:
        _ensure_steps(run)
        execute.prepare(run)
        if execute.erase_places(run):
            leases.defer(run.case, run.runner, by=run.by)
            return
        with run.step("processes") as step:
            if not settings.REDIS_URL:
                cache.clear()
            home = run.case.workspace_id
            step.counts |= process_caches.flush_everywhere(home, run.check_lease)
        failpoints.step("processes_flushed")
        with run.step("names"):
            seal_names.seal(run)
        run.case = leases.to_verifying(run.case, run.runner, by=run.by)
        failpoints.step("verifying")
    finish.close(run, finish.clean_and_search(run))
    # The search compiled expressions of the names once more.
    process_caches.forget_texts()


def _ensure_steps(run: Run) -> None:
    rows = run.plan.rows
    holders = [
        (holder.name, holder.title, len(rows.get(holder.name, ())))
        for holder in execute.places(run)
    ]
    leases.ensure_steps(run.case, [*_BEFORE, *holders, *_AFTER])


# ── Access, portability, restriction, objection ──────────────────────────────
def _access(run: Run) -> None:
    """Make the bundle; the case ends ``partial`` with the error if that fails.

    While the bundle waits for a decision, or somebody else makes it, so does the case.
    """
    leases.ensure_steps(run.case, [("export", gettext_noop("Bundle of everything"), 1)])
    step = leases.begin(run.steps()["export"])
    request = export.request(run.subject, case=run.case, by=run.officer)
    bundle = export.make(request)
    failpoints.step("exported")
    run.renew_lease()
    if bundle.state in (ExportState.MAKING, ExportState.REVIEW):
        leases.wait_for_words(run.case, step, review.waiting(bundle), by=run.by)
        leases.release(run.case, run.runner, after=REST)
        return
    if bundle.state != ExportState.READY:
        leases.fail(step, bundle.error)
        _end(run, "partial", {"export": bundle.id, "error": bundle.error})
        return
    leases.finish(step)
    _end(run, "complete", {"export": bundle.id, "counts": bundle.counts})


def _restrict(run: Run) -> None:
    """Restrict the use of the person's data."""
    leases.ensure_steps(
        run.case, [("restriction", gettext_noop("Out of recall and search"), 1)]
    )
    with run.step("restriction"):
        person = run.person()
        recipients.store(run.case, person, by=run.by)
        decisions = restriction.RowDecisions(person.confirmed, person.spared_rows)
        restriction.restrict(run.subject, by=run.by, decisions=decisions)
        run.renew_lease()
    _end(run, "complete", {})


def _object(run: Run) -> None:
    """Restrict the person's data, and opt them out: nothing new is kept."""
    consents.opt_out(run.subject, by=run.by)
    _restrict(run)


def _end(run: Run, result: str, facts: dict[str, object]) -> None:
    if run.case.state == CaseState.RUNNING and result == "complete":
        run.case = leases.to_verifying(run.case, run.runner, by=run.by)
    leases.close(run.case, run.runner, result, facts, by=run.by)


_KINDS: Final[dict[CaseKind, Callable[[Run], None]]] = {
    CaseKind.ERASURE: _erase,
    CaseKind.ACCESS: _access,
    CaseKind.RESTRICTION: _restrict,
    CaseKind.RECTIFICATION: _erase,
    CaseKind.PORTABILITY: _access,
    CaseKind.OBJECTION: _object,
}
