"""The runner's side of a case: its lease, its steps, and how the run ended.

A runner claims a case with a conditional UPDATE and renews its lease; after a crash
the next runner takes over when the lease expires. Steps *set* numbers, never add:
repeating a step has the same result. The runner acts as the system, so no permission
is checked here: the user's ``cases.execute`` came before.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from gdpr.cases import transitions
from gdpr.cases import workflow as cases
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import ERASED, Kind
from gdpr.models import (
    Case,
    CaseEvent,
    CasePlan,
    CaseState,
    CaseStep,
    Hold,
    RowVerdict,
    StepState,
)
from memory.rules import errors
from memory.rules.entries import Severity
from memory.rules.permissions import Actor

LEASE: Final = timedelta(seconds=60)
ACTIVE: Final = (CaseState.RUNNING, CaseState.VERIFYING)


class LeaseLost(errors.AppError):
    """Another runner has the case; the one that sees this stops at once."""

    code, status, title = "lease_lost", 409, "Another worker runs this case"
    sentence = "The lease of this run is over and another worker took it."


# ── Claiming ─────────────────────────────────────────────────────────────────
def runner_name() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"


def unclaimed(now: datetime) -> Q:
    """Return the condition of rows whose lease is over, or that never had one."""
    return Q(lease_until=None) | Q(lease_until__lt=now)


def due() -> list[tuple[str, str]]:
    """Return (workspace id, case id) of cases waiting for a runner, by deadline."""
    rows = Case.objects.filter(unclaimed(timezone.now()), state__in=ACTIVE)
    return list(rows.order_by("due_at", "id").values_list("workspace_id", "pk"))


def claim(
    workspace_id: str, case_id: str, runner: str, lease: timedelta = LEASE
) -> Case | None:
    """Claim a case that waits for a runner; None when another runner was first."""
    now = timezone.now()
    rows = Case.objects.filter(
        unclaimed(now), workspace_id=workspace_id, pk=case_id, state__in=ACTIVE
    )
    if not rows.update(claimed_by=runner, lease_until=now + lease):
        return None
    rows_with_subject = Case.objects.select_related("subject", "workspace")
    return rows_with_subject.get(workspace_id=workspace_id, pk=case_id)


def _claimed(case: Case, runner: str) -> Any:
    return Case.objects.filter(
        workspace_id=case.workspace_id, pk=case.pk, claimed_by=runner
    )


def renew(case: Case, runner: str, lease: timedelta = LEASE) -> bool:
    """Extend the lease; False when another runner has the case: stop at once."""
    return bool(_claimed(case, runner).update(lease_until=timezone.now() + lease))


def release(case: Case, runner: str, *, after: timedelta | None = None) -> None:
    """End the claim; ``after`` delays the next runner's claim."""
    until = timezone.now() + after if after else None
    _claimed(case, runner).update(claimed_by="", lease_until=until)


def _locked_for(case: Case, runner: str) -> Case:
    live = transitions.locked(case)
    if live.claimed_by != runner:
        raise LeaseLost
    return live


# ── Steps ────────────────────────────────────────────────────────────────────
def steps(case: Case) -> list[CaseStep]:
    """Return the steps of the current run, in order."""
    rows = CaseStep.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.filter(run=case.run).order_by("position"))


def ensure_steps(
    case: Case, definitions: Iterable[tuple[str, str, int]]
) -> list[CaseStep]:
    """Create the steps of a run from (name, title, total); existing ones stay."""
    rows = [
        CaseStep(
            workspace_id=case.workspace_id,
            case=case,
            run=case.run,
            position=position,
            name=name,
            title=title,
            total=total,
        )
        for position, (name, title, total) in enumerate(definitions, start=1)
    ]
    CaseStep.objects.bulk_create(rows, ignore_conflicts=True)
    return steps(case)


def _set(step: CaseStep, **fields: Any) -> CaseStep:
    rows = CaseStep.objects.filter(workspace_id=step.workspace_id, pk=step.pk)
    rows.update(**fields)
    for name, value in fields.items():
        setattr(step, name, value)
    return step


def begin(step: CaseStep) -> CaseStep:
    """Start or resume a step; ``started_at`` is its first start."""
    started = step.started_at or timezone.now()
    return _set(step, state=StepState.RUNNING, started_at=started, fault="")


def progress(step: CaseStep, rows_done: int, **counts: int) -> CaseStep:
    """Set how many rows of a step are done, and its counts."""
    return _set(step, done=rows_done, counts={**step.counts, **counts})


def finish(step: CaseStep, rows_done: int | None = None, **counts: Any) -> CaseStep:
    """End a step; ``rows_done`` defaults to its total."""
    return _set(
        step,
        state=StepState.DONE,
        done=step.total if rows_done is None else rows_done,
        counts={**step.counts, **counts},
        finished_at=timezone.now(),
        fault="",
    )


def fail(step: CaseStep, fault: str) -> CaseStep:
    """Mark a step as failed; the next runner tries it again."""
    return _set(step, state=StepState.FAILED, fault=fault[:400])


def defer_step(step: CaseStep, hold: Hold) -> CaseStep:
    """Defer a step because of a hold on its rows; one event per hold."""
    if step.state == StepState.DEFERRED and step.counts.get("hold") == hold.pk:
        return step
    counts = {**step.counts, "hold": hold.pk}
    text = f"{step.title}: deferred by hold {hold.pk}"
    with transaction.atomic():
        _set(step, state=StepState.DEFERRED, counts=counts)
        CaseEvent.objects.create(
            workspace_id=step.workspace_id,
            case_id=step.case_id,
            kind=Kind.FACT,
            state=CaseState.RUNNING,
            text=text,
            data={"step": step.name, "hold_id": hold.pk},
            by="gdpr",
        )
    return step


def wait_for_words(case: Case, step: CaseStep, words: int, *, by: Actor) -> None:
    """Let a step wait for decisions on words of a bundle; an event when it begins."""
    was_waiting = step.counts.get("words", 0)
    _set(step, state=StepState.WAITING, counts={**step.counts, "words": words})
    if words and not was_waiting:
        text = f"Waits for a decision on {words} word" + ("s" if words != 1 else "")
        transitions.event(case, Kind.FACT, text, by=by, data={"words": words})
        transitions.record(case, "case_waits", by=by, details={"words": words})


# ── Moving ───────────────────────────────────────────────────────────────────
def _end_claim(case: Case) -> None:
    case.claimed_by, case.lease_until = "", None


def defer(case: Case, runner: str, *, by: Actor) -> Case:
    """Put a run on hold: its deferred steps wait until a hold is released."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        _end_claim(live)
        return cases.put_on_hold(live, by=by)


def to_verifying(case: Case, runner: str, *, by: Actor) -> Case:
    """Move a run from erasing to verifying; idempotent."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        if live.state == CaseState.VERIFYING:
            return live
        return transitions.move(live, Verb.VERIFY, "Searching for what is left", by=by)


def close(
    case: Case, runner: str, result: str, facts: Mapping[str, Any], *, by: Actor
) -> Case:
    """End a run as ``complete`` (nothing was found) or ``partial``.

    Idempotent for the same result, so that a runner that crashed after the commit
    can be followed by another.
    """
    verb = {"complete": Verb.COMPLETE, "partial": Verb.LEAVE_PARTIAL}[result]
    with transaction.atomic():
        live = transitions.locked(case)
        if live.state == result:
            return live
        if live.claimed_by != runner:
            raise LeaseLost
        _end_claim(live)
        live.result = dict(facts)
        if verb is Verb.COMPLETE:
            live.closed_at, live.closed_by = timezone.now(), by.label
            if live.kind in cases.HOLDABLE:
                # Comments written while the search ran are erased as well.
                _erase_event_texts(live)
        text = "Complete" if verb is Verb.COMPLETE else "Partial: something is left"
        return transitions.move(live, verb, text, by=by, run=live.run)


def report_fault(case: Case, fault: str, *, by: Actor) -> None:
    """Record a fault that a retry may mend; never a foreign error's message."""
    with transaction.atomic():
        transitions.event(case, Kind.ALARM, fault[:400], by=by)
        transitions.record(case, "case_trouble", by=by, severity=Severity.WARN)


# ── Erasing texts ────────────────────────────────────────────────────────────
def _without_samples(body: Mapping[str, Any]) -> dict[str, Any]:
    holders = [{**holder, "samples": []} for holder in body.get("holders", ())]
    # Suggested aliases and doubtful rows hold the person's data or digests of it.
    doubts = {**body.get("doubts", {}), "rows": []} if "doubts" in body else {}
    return {**body, "holders": holders, "beside": [], "doubts": doubts}


def _erase_event_texts(case: Case) -> None:
    events = CaseEvent.objects.filter(workspace_id=case.workspace_id, case=case)
    kinds = (Kind.NOTE, Kind.ATTACHMENT, Kind.ALARM)
    events.filter(kind__in=kinds).update(text=ERASED)


def erase_texts(case: Case) -> None:
    """Erase the person's data in a case: samples of plans, reasons, comments.

    What was done, when, by which user and with which counts is kept.
    """
    with transaction.atomic():
        live = transitions.locked(case)
        plans = CasePlan.objects.filter(workspace_id=live.workspace_id, case=live)
        for plan in plans.defer("rows"):
            plan.body = _without_samples(plan.body)
            plan.save(update_fields=["body"])
        _erase_event_texts(live)
        verdicts = RowVerdict.objects.filter(workspace_id=live.workspace_id, case=live)
        verdicts.exclude(reason="").update(reason=ERASED)
        live.reason = ERASED
        for name in (
            "requester", "ticket", "identity_how", "extension_reason",
            "break_glass_reason", "refusal_reason", "identity_skipped_reason",
        ):  # fmt: skip
            if getattr(live, name):
                setattr(live, name, ERASED)
        live.correction = {}
        live.save()


def erase_texts_of(workspace_id: str, subject_ref: str) -> int:
    """Erase the texts of every case of a person; return how many cases."""
    rows = Case.objects.filter(workspace_id=workspace_id, subject_ref=subject_ref)
    subject_cases = list(rows)
    for case in subject_cases:
        erase_texts(case)
    return len(subject_cases)
