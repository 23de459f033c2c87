"""Erasing in every holder, in batches, with a check for legal holds before each.

A batch is repeated when the process dies after erasing and before counting it; erasing
twice changes nothing, and counts are set, never added. After a place's planned rows,
rows that came since the plan was made are searched for and erased too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.utils import timezone

from gdpr import audit_log, cache_version, suppression
from gdpr.cases import dry_run, leases, legal_holds, sealed_names
from gdpr.data_map import journal, registry
from gdpr.data_map.base import Fate, Holder, Person
from gdpr.erasure import failpoints, shared_tombstones, tombstones
from gdpr.erasure.run_context import Run
from gdpr.erasure.tombstones import Record
from gdpr.models import (
    ActionKind,
    CaseKind,
    CaseStep,
    GdprAction,
    Hold,
    StepState,
    Subject,
    SubjectLink,
)
from gdpr.recipients import listing as recipients

BATCH: Final = 50
MIN_BATCH: Final = 25
MAX_BATCH: Final = 500
# How long a batch may hold the lock that appenders wait for.
LOCK_SECONDS: Final = 0.08
MAX_PAUSE_SECONDS: Final = 0.3
ROUNDS: Final = 3
COUNT_NAMES: Final = {
    Fate.DELETE: "deleted",
    Fate.REDACT: "redacted",
    Fate.KEEP: "kept",
}
_LEDGER: Final = {
    CaseKind.ERASURE: ActionKind.DELETE,
    CaseKind.RECTIFICATION: ActionKind.RECTIFY,
}

Rows = Sequence[tuple[str, Fate]]


class Deferred(Exception):
    """A hold keeps the rest of a place."""

    def __init__(self, hold: Hold) -> None:
        super().__init__(hold.pk)
        self.hold = hold


# ── Before anything is erased ────────────────────────────────────────────────
def ledger_row(run: Run) -> GdprAction:
    """Return the run's row in the audit log, created unless it exists."""
    case = run.case
    return audit_log.begin(
        case.subject_ref,
        _LEDGER[CaseKind(case.kind)],
        by=run.officer,
        case_ref=case.id,
        reason=f"Case {case.id}",
        scope={"run": case.run, "plan_hash": run.plan.plan_hash},
    )


def announce(run: Run, rows: dict[str, list[list[str]]]) -> None:
    """Record what is about to be erased outside the database as well, synced."""
    shared_tombstones.announce(
        Record(
            workspace_id=run.case.workspace_id,
            case_id=run.case.id,
            subject_id=run.case.subject_ref,
            run=run.case.run,
            at=tombstones.now(),
            aliases=tuple(
                suppression.digests_of(
                    run.case.workspace_id, run.person().matcher.names_known
                )
            ),
            rows=rows,
        )
    )


def suppress_subject(run: Run) -> None:
    """Opt the subject out and suppress their names, so that no new data comes in.

    Nothing else about subjects changes here, so the journal's cached reading of the
    plan stays valid.
    """
    home, person = run.case.workspace_id, run.person()
    with transaction.atomic():
        Subject.objects.filter(pk=run.subject.pk, opted_out_at=None).update(
            opted_out_at=timezone.now()
        )
        before = cache_version.locked_stamp(home)
        suppression.suppress(run.subject, case_ref=run.case.id)
        after = cache_version.current(home)
    journal.keep_reading(person, before, after)


def prepare(run: Run) -> None:
    """Audit log, erasures file, suppression: in this order, before the first batch."""
    if run.steps()["prepare"].state == StepState.DONE:
        return
    with run.step("prepare"):
        ledger_row(run)
        failpoints.step("ledgered")
        # Before the evidence goes with everything else.
        recipients.store(run.case, run.person_now(), by=run.by)
        if not run.is_rectification:
            announce(run, run.plan.rows)
            failpoints.step("announced")
            suppress_subject(run)
            failpoints.step("suppressed")


# ── The places ───────────────────────────────────────────────────────────────
def places(run: Run) -> list[Holder]:
    """Return the holders that are not derived, in the order of erasure."""
    left_out = dry_run.NOT_RECTIFIED if run.is_rectification else frozenset()
    return [
        holder
        for holder in registry.ALL
        if not holder.derived and holder.name not in left_out
    ]


def searched(run: Run) -> list[Holder]:
    """Return the holders that the final search asks; see ``limits.REQUESTS_STAY``."""
    left_out = dry_run.NOT_RECTIFIED if run.is_rectification else frozenset()
    return [holder for holder in registry.ALL if holder.name not in left_out]


def erase_places(run: Run) -> bool:
    """Erase in every place; return whether a legal hold deferred one."""
    deferred = False
    person, steps = run.person_now(), run.steps()
    for holder in places(run):
        step = steps[holder.name]
        if step.state == StepState.DONE:
            continue
        try:
            _place(run, holder, step, person)
        except Deferred as deferral:
            leases.defer_step(step, deferral.hold)
            deferred = True
        failpoints.step("place_done")
    return deferred


def _place(run: Run, holder: Holder, step: CaseStep, person: Person) -> None:
    _require_no_hold(run, holder)
    leases.begin(step)
    planned = [
        (row_id, Fate(fate)) for row_id, fate in run.plan.rows.get(holder.name, ())
    ]
    _rows(run, holder, person, planned, step)
    late = _erase_late_rows(run, holder, {row_id for row_id, _ in planned})
    counts = Counter(COUNT_NAMES[fate] for _, fate in (*planned, *late))
    leases.finish(step, len(planned), **counts, late=len(late))


def _require_no_hold(run: Run, holder: Holder) -> None:
    hold = legal_holds.in_force(
        run.case.workspace_id, run.case.subject_ref, holder.name
    )
    if hold is not None:
        raise Deferred(hold)


class Pace:
    """The size of batches, adapted so that no writer waits long.

    After a batch the lock stays free for as long as it was held, because waiting
    writers poll for it at intervals.
    """

    def __init__(self) -> None:
        self.rows = BATCH
        self._free_until = 0.0

    def wait(self) -> None:
        """Sleep so that other writers get the lock before the next batch."""
        time.sleep(max(0.0, self._free_until - time.monotonic()))

    def record(self, seconds: float) -> None:
        """Record how long a batch held the lock, and adapt the next one's size."""
        self._free_until = time.monotonic() + min(seconds, MAX_PAUSE_SECONDS)
        fitting = int(self.rows * LOCK_SECONDS / max(seconds, 0.001))
        self.rows = max(MIN_BATCH, min(fitting, 2 * self.rows, MAX_BATCH))


def _rows(
    run: Run,
    holder: Holder,
    person: Person,
    rows: Rows,
    step: CaseStep | None = None,
) -> None:
    """Erase rows in batches; with a step from where an earlier runner stopped."""
    at, pace = (min(step.done, len(rows)) if step else 0), Pace()
    while at < len(rows):
        batch = rows[at : at + pace.rows]
        at += len(batch)
        run.renew_lease()
        _require_no_hold(run, holder)
        _batch(run, holder, person, batch, pace)
        failpoints.step("batch_erased")
        with transaction.atomic():
            _unlink(run, holder, [row_id for row_id, _ in batch])
            if step:
                leases.progress(step, at)
        failpoints.step("batch_counted")


def _batch(run: Run, holder: Holder, person: Person, batch: Rows, pace: Pace) -> None:
    delete_ids = [row_id for row_id, fate in batch if fate is Fate.DELETE]
    mask_ids = [row_id for row_id, fate in batch if fate is Fate.REDACT]
    if run.tokens.wants(holder.name, len(batch)):
        # Places derived from the journal use the same row ids.
        derived_places = [
            h for h in registry.ALL if h.derived and holder.name == "journal"
        ]
        for source in (holder, *derived_places):
            tokens = list(source.tokens(person, [*delete_ids, *mask_ids]))
            run.tokens.add(source.name, tokens)
            # Stored encrypted, so that a run resumed after a crash searches them too.
            if tokens:
                sealed_names.append_words(run.case, tokens)
    pace.wait()
    started = time.monotonic()
    if delete_ids:
        holder.erase(person, delete_ids)
    if mask_ids:
        holder.redact(person, mask_ids)
    pace.record(time.monotonic() - started)


def _unlink(run: Run, holder: Holder, row_ids: Sequence[str]) -> None:
    SubjectLink.objects.filter(
        workspace_id=run.case.workspace_id,
        subject_id=run.case.subject_ref,
        place=holder.name,
        row_id__in=row_ids,
    ).delete()


def _erase_late_rows(run: Run, holder: Holder, planned_ids: set[str]) -> Rows:
    """Erase rows that came to a place since the plan was made; return them."""
    late_rows: list[tuple[str, Fate]] = []
    for _ in range(ROUNDS):
        run.check_lease()
        person = run.person_now()
        fresh = [
            (row.row_id, row.fate)
            for row in holder.find(person)
            if row.fate is not Fate.KEEP
            and row.row_id not in planned_ids
            # A late doubtful row has no decision: the final search reports it.
            and person.is_about(holder.name, row.row_id, doubtful=row.doubtful)
        ]
        if not fresh:
            break
        if not run.is_rectification and holder.name not in dry_run.VOLATILE:
            announce(run, {holder.name: [[row_id, f.value] for row_id, f in fresh]})
        _rows(run, holder, person, fresh)
        planned_ids |= {row_id for row_id, _ in fresh}
        late_rows += fresh
    return late_rows
