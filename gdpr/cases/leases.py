"""The runner's side of a case: who carries it out, step by step, and how it ended.

A runner claims a case with a conditional UPDATE and renews its lease; one that died is
followed by the next when the lease is over. Steps *set* their numbers, they never add:
whoever follows does a step again and comes to the same end. The runner is the house
itself, so no permission is asked here: a person's ``cases.execute`` came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
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


class LeaseLost(errors.HouseError):
    """Another runner has the case; whoever sees this stops at once."""

    code, status, title = "lease_lost", 409, "Somebody else runs this case"
    sentence = "The lease of this run is over and another worker took it."


# ── Claiming ─────────────────────────────────────────────────────────────────
def due() -> list[tuple[str, str]]:
    """Return (workspace id, case id) of what waits for a runner, the oldest first."""
    free = Q(lease_until=None) | Q(lease_until__lt=timezone.now())
    rows = Case.objects.filter(free, state__in=ACTIVE).order_by("due_at", "id")
    return list(rows.values_list("workspace_id", "pk"))


def claim(
    workspace_id: str, case_id: str, runner: str, lease: timedelta = LEASE
) -> Case | None:
    """Take a case that waits for a runner; of two that want it one gets it."""
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    rows = Case.objects.filter(
        free, workspace_id=workspace_id, pk=case_id, state__in=ACTIVE
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
    """Hold on to a case; False says that somebody else has it: stop at once."""
    return bool(_claimed(case, runner).update(lease_until=timezone.now() + lease))


def release(case: Case, runner: str, *, after: timedelta | None = None) -> None:
    """Give a case back as it is; ``after`` keeps the next runner away for a while."""
    until = timezone.now() + after if after else None
    _claimed(case, runner).update(claimed_by="", lease_until=until)


def _locked_for(case: Case, runner: str) -> Case:
    live = transitions.locked(case)
    if live.claimed_by != runner:
        raise LeaseLost
    return live


# ── Steps ────────────────────────────────────────────────────────────────────
def steps(case: Case) -> list[CaseStep]:
    """Return the steps of the run that counts, in order."""
    rows = CaseStep.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.filter(run=case.run).order_by("position"))


def ensure_steps(
    case: Case, definitions: Iterable[tuple[str, str, int]]
) -> list[CaseStep]:
    """Write the steps of a run, (name, title, total) each; those there are stay."""
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
    """Start a step, or go on with it: the first start counts."""
    started = step.started_at or timezone.now()
    return _set(step, state=StepState.RUNNING, started_at=started, fault="")


def progress(step: CaseStep, rows_done: int, **counts: int) -> CaseStep:
    """Say how far a step is; numbers are set, not added."""
    return _set(step, done=rows_done, counts={**step.counts, **counts})


def finish(step: CaseStep, rows_done: int | None = None, **counts: Any) -> CaseStep:
    """End a step; ``done`` is its total unless told."""
    return _set(
        step,
        state=StepState.DONE,
        done=step.total if rows_done is None else rows_done,
        counts={**step.counts, **counts},
        finished_at=timezone.now(),
        fault="",
    )


def fail(step: CaseStep, fault: str) -> CaseStep:
    """Say why a step did not end; the next runner tries it again."""
    return _set(step, state=StepState.FAILED, fault=fault[:400])


def defer_step(step: CaseStep, hold: Hold) -> CaseStep:
    """Leave a step for later: a hold keeps its rows. Written once per hold."""
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


# ── Moving ───────────────────────────────────────────────────────────────────
def _end_claim(case: Case) -> None:
    case.claimed_by, case.lease_until = "", None


def defer(case: Case, runner: str, *, by: Actor) -> Case:
    """Put a run on hold: what is left waits until a hold is released."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        _end_claim(live)
        return cases.put_on_hold(live, by=by)


def step_back(case: Case, runner: str, reason: str, *, by: Actor) -> Case:
    """Bring a run back to its plan, before it touched anything."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        _end_claim(live)
        # What was approved is not what there is now.
        live.approved_by = live.approved_by_id = live.approved_plan = ""
        live.approved_at = None
        return transitions.move(live, Verb.STEP_BACK, reason, by=by, run=live.run)


def to_verifying(case: Case, runner: str, *, by: Actor) -> Case:
    """Everything is done that was planned; now it is searched. Twice is once."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        if live.state == CaseState.VERIFYING:
            return live
        return transitions.move(live, Verb.VERIFY, "Searching for what is left", by=by)


def rework(case: Case, runner: str, *, by: Actor) -> Case:
    """The search found something that another pass can remove."""
    with transaction.atomic():
        live = _locked_for(case, runner)
        return transitions.move(live, Verb.REWORK, "Another pass", by=by, run=live.run)


def close(
    case: Case, runner: str, result: str, facts: Mapping[str, Any], *, by: Actor
) -> Case:
    """End a run: ``complete`` only when nothing was found, else ``partial``.

    Closing again with the same result changes nothing, so a runner that died behind
    the commit is followed without harm.
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
                # What was said while the search went on is no exception.
                _erase_event_texts(live)
        text = "Complete" if verb is Verb.COMPLETE else "Partial: something is left"
        return transitions.move(live, verb, text, by=by, run=live.run)


def report_fault(case: Case, fault: str, *, by: Actor) -> None:
    """Tell of a fault that the next try may mend; never a foreign message."""
    with transaction.atomic():
        transitions.event(case, Kind.ALARM, fault[:400], by=by)
        transitions.record(case, "case_trouble", by=by, severity=Severity.WARN)


# ── Wiping ───────────────────────────────────────────────────────────────────
def _without_samples(body: Mapping[str, Any]) -> dict[str, Any]:
    holders = [{**holder, "samples": []} for holder in body.get("holders", ())]
    # What was seen beside the person is told by digests, and would outlast them.
    doubts = {**body.get("doubts", {}), "rows": []} if "doubts" in body else {}
    return {**body, "holders": holders, "beside": [], "doubts": doubts}


def _erase_event_texts(case: Case) -> None:
    events = CaseEvent.objects.filter(workspace_id=case.workspace_id, case=case)
    kinds = (Kind.NOTE, Kind.ATTACHMENT, Kind.ALARM)
    events.filter(kind__in=kinds).update(text=ERASED)


def wipe(case: Case) -> None:
    """Take a person's words out of a case: plans' samples, reasons, comments.

    What stays says what was done and when, by whom of ours, with which numbers.
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
            "break_glass_reason", "refusal_reason",
        ):  # fmt: skip
            if getattr(live, name):
                setattr(live, name, ERASED)
        live.correction = {}
        live.save()


def erase_texts_of(workspace_id: str, subject_ref: str) -> int:
    """Wipe every case of a person; return how many."""
    rows = Case.objects.filter(workspace_id=workspace_id, subject_ref=subject_ref)
    subject_cases = list(rows)
    for case in subject_cases:
        wipe(case)
    return len(subject_cases)
