"""The runner: claims what waits, does it by its kind, and lets go when it must."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog
from django.db import DatabaseError

from gdpr.cases import leases, sealed_names
from gdpr.cases.leases import LeaseLost
from gdpr.erasure import execute, failpoints, finish, flush_processes, seal_names
from gdpr.erasure.run_context import Run, heart, name
from gdpr.export import make as export
from gdpr.models import CaseKind, CaseState, ExportState, StepState
from gdpr.subjects import restriction
from memory.installation import identity as installation
from memory.rules import errors

# How long a case rests after a fault before the next try.
REST: Final = timedelta(seconds=30)
log = structlog.get_logger(__name__)

_BEFORE: Final = (("prepare", "Ledger and suppression", 1),)
_AFTER: Final = (
    ("processes", "Caches of every process", 1),
    ("names", "Names and the case's own texts", 1),
    ("residue", "Database and word indexes cleaned", 1),
    ("verification", "Search for what is left", 1),
    ("certificate", "Certificate", 1),
)


def sweep() -> dict[str, int]:
    """Carry out every case that waits for a runner; return how many, and how many not.

    A case that stopped at a fault rests a while and is tried again.
    """
    done = {"run": 0, "failed": 0}
    for workspace_id, case_id in leases.due():
        went = run(workspace_id, case_id)
        if went is not None:
            done["run" if went else "failed"] += 1
    return done


def run(workspace_id: str, case_id: str) -> bool | None:
    """Carry out a case; None when somebody else does, False when a fault stopped it."""
    me = name()
    case = leases.claim(workspace_id, case_id, me)
    if case is None:
        return None
    one = Run(case, me)
    failpoints.step("claimed")
    with heart(one):
        return _attempt(one)


def _attempt(run: Run) -> bool:
    """Do a case; a fault gives it back to be tried again, a lost lease is no fault."""
    try:
        installation.require()
        _KINDS[CaseKind(run.case.kind)](run)
    except LeaseLost:
        log.info("gdpr_lease_lost", case=run.case.id)
    except Exception as error:  # a case's fault must not stop the others
        log.exception("gdpr_case_failed", case=run.case.id)
        _tell(run, error)
        return False
    return True


def _tell(run: Run, error: Exception) -> None:
    is_ours = isinstance(error, errors.HouseError)
    told = str(error) if is_ours else f"{type(error).__name__}; see the server's log"
    try:
        for step in leases.steps(run.case):
            if step.state == StepState.RUNNING:
                leases.fail(step, told)
        leases.trouble(run.case, told, by=run.by)
        leases.release(run.case, run.me, after=REST)
    except DatabaseError:
        log.warning("gdpr_fault_not_told", case=run.case.id)


# ── Erasure, and rectification, which is one with other words ────────────────
def _erase(run: Run) -> None:
    run.tokens.add("kept", sealed_names.taken_up(run.case).strings)
    if run.case.state == CaseState.RUNNING:
        _ensure_steps(run)
        steps = run.steps()
        if steps["prepare"].state != StepState.DONE:
            execute.prepare(run, steps["prepare"])
        if execute.everywhere(run):
            leases.defer(run.case, run.me, by=run.by)
            return
        flush_processes.tell(run, steps["processes"])
        failpoints.step("processes_told")
        _seal(run)
        run.case = leases.to_verifying(run.case, run.me, by=run.by)
        failpoints.step("verifying")
    report = finish.clean(run)
    finish.look(run, report)
    finish.close(run, report)


def _seal(run: Run) -> None:
    step = leases.begin(run.steps()["names"])
    seal_names.seal(run)
    leases.finish(step)


def _ensure_steps(run: Run) -> None:
    rows = run.plan.rows
    holders = [
        (holder.name, holder.title, len(rows.get(holder.name, ())))
        for holder in execute.places(run)
    ]
    leases.ensure_steps(run.case, [*_BEFORE, *holders, *_AFTER])


# ── Access and restriction ───────────────────────────────────────────────────
def _access(run: Run) -> None:
    """Make the bundle; it is there or the case says why not."""
    leases.ensure_steps(run.case, [("export", "Bundle of everything", 1)])
    step = leases.begin(run.steps()["export"])
    subject = run.case.subject
    assert subject is not None  # noqa: S101
    made = export.make(export.request(subject, case=run.case, by=run.officer))
    failpoints.step("exported")
    run.hold_on()
    if made.state != ExportState.READY:
        leases.fail(step, made.error)
        _end(run, "partial", {"export": made.id, "error": made.error})
        return
    leases.finish(step)
    _end(run, "complete", {"export": made.id, "counts": made.counts})


def _restrict(run: Run) -> None:
    """Take the person's data out of use."""
    leases.ensure_steps(run.case, [("restriction", "Out of recall and search", 1)])
    step = leases.begin(run.steps()["restriction"])
    subject = run.case.subject
    assert subject is not None  # noqa: S101
    who = run.person()
    judged = restriction.Judged(who.confirmed, who.spared)
    restriction.restrict(subject, by=run.by, judged=judged)
    run.hold_on()
    leases.finish(step)
    _end(run, "complete", {})


def _end(run: Run, result: str, facts: dict[str, object]) -> None:
    if run.case.state == CaseState.RUNNING and result == "complete":
        run.case = leases.to_verifying(run.case, run.me, by=run.by)
    leases.close(run.case, run.me, result, facts, by=run.by)


_KINDS: Final[dict[CaseKind, Callable[[Run], None]]] = {
    CaseKind.ERASURE: _erase,
    CaseKind.ACCESS: _access,
    CaseKind.RESTRICTION: _restrict,
    CaseKind.RECTIFICATION: _erase,
}
