"""Going through the holders: batch by batch, a look for holds before each.

Every batch is done again when the process dies behind it and before it was counted;
doing it twice changes nothing, and numbers are set and never added. What came since the
plan was made is looked for when a place's planned rows are through.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from django.db import transaction
from django.utils import timezone

from gdpr import audit_log, cache_version, suppression
from gdpr.cases import dry_run, leases, legal_holds, sealed_names
from gdpr.data_map import journal, registry
from gdpr.data_map.base import Fate, Holder, Person
from gdpr.erasure import failpoints, tombstones
from gdpr.erasure.run_context import Run
from gdpr.erasure.tombstones import Digest, Record
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

BATCH: Final = 50
LEAST: Final = 25
MOST: Final = 500
# How long a batch may hold the lock that appenders wait for, in seconds.
HOLD: Final = 0.08
LONGEST: Final = 0.3
ROUNDS: Final = 3
COUNTED: Final = {Fate.DELETE: "deleted", Fate.REDACT: "redacted", Fate.KEEP: "kept"}
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


# ── Before anything is destroyed ─────────────────────────────────────────────
def opened(run: Run) -> GdprAction:
    """Return the run's row in the ledger, written now unless it is there."""
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
    """Write what goes into the file outside the database, synced."""
    tombstones.announce(
        Record(
            workspace_id=run.case.workspace_id,
            case_id=run.case.id,
            subject_id=run.case.subject_ref,
            run=run.case.run,
            at=tombstones.now(),
            aliases=tuple(
                Digest(*one)
                for one in suppression.digests_of(
                    run.case.workspace_id, run.person().matcher.names_known
                )
            ),
            rows=rows,
        )
    )


def close_the_door(run: Run) -> None:
    """Keep the person from coming back while we erase: opted out, suppressed.

    Of all that is known of people only this changes, so that a journal that was read
    for the plan need not be read again.
    """
    subject, home = run.case.subject, run.case.workspace_id
    assert subject is not None  # noqa: S101
    person = run.person()
    with transaction.atomic():
        Subject.objects.filter(pk=subject.pk, opted_out_at=None).update(
            opted_out_at=timezone.now()
        )
        before = cache_version.held(home)
        suppression.suppress(subject, case_ref=run.case.id)
        after = cache_version.current(home)
    journal.still_read(person, before, after)


def prepare(run: Run, step: CaseStep) -> None:
    """Ledger, erasures file, suppression: in this order, before the first batch."""
    leases.begin(step)
    opened(run)
    failpoints.step("ledgered")
    if not run.rectifies:
        announce(run, run.plan.rows)
        failpoints.step("announced")
        close_the_door(run)
        failpoints.step("suppressed")
    leases.finish(step)


# ── The places ───────────────────────────────────────────────────────────────
def places(run: Run) -> list[Holder]:
    """Return the holders that erase by themselves, in the order of erasure."""
    left_out = dry_run.UNTOUCHED if run.rectifies else frozenset()
    return [
        holder
        for holder in registry.ALL
        if not holder.derived and holder.name not in left_out
    ]


def everywhere(run: Run) -> bool:
    """Go through every place; return whether a hold left one for later."""
    deferred = False
    person, steps = run.person_now(), run.steps()
    for holder in places(run):
        step = steps[holder.name]
        if step.state == StepState.DONE:
            continue
        try:
            _place(run, holder, step, person)
        except Deferred as kept:
            leases.defer_step(step, kept.hold)
            deferred = True
        failpoints.step("place_done")
    return deferred


def _place(run: Run, holder: Holder, step: CaseStep, person: Person) -> None:
    _look_for_hold(run, holder)
    leases.begin(step)
    planned = [
        (row_id, Fate(fate)) for row_id, fate in run.plan.rows.get(holder.name, ())
    ]
    _rows(run, holder, step, person, planned)
    late = _late(run, holder, {row_id for row_id, _ in planned})
    counts = Counter(COUNTED[fate] for _, fate in (*planned, *late))
    leases.finish(step, len(planned), **counts, late=len(late))


def _look_for_hold(run: Run, holder: Holder) -> None:
    hold = legal_holds.in_force(
        run.case.workspace_id, run.case.subject_ref, holder.name
    )
    if hold is not None:
        raise Deferred(hold)


class Pace:
    """How many rows a batch takes, so that nobody waits long for one.

    After a batch the lock stays free for as long as it was held: whoever waits asks for
    it at intervals, and must not find it taken every time.
    """

    def __init__(self) -> None:
        self.rows = BATCH
        self._free_until = 0.0

    def wait(self) -> None:
        """Let others write before the next batch."""
        time.sleep(max(0.0, self._free_until - time.monotonic()))

    def held(self, seconds: float) -> None:
        """Note how long a batch held the lock, and fit the next to it."""
        self._free_until = time.monotonic() + min(seconds, LONGEST)
        fitting = int(self.rows * HOLD / max(seconds, 0.001))
        self.rows = max(LEAST, min(fitting, 2 * self.rows, MOST))


def _batches(rows: Rows, pace: Pace) -> Iterator[tuple[int, Rows]]:
    """Return rows in batches, each with how many rows are through after it."""
    at = 0
    while at < len(rows):
        batch = rows[at : at + pace.rows]
        at += len(batch)
        yield at, batch


def _rows(run: Run, holder: Holder, step: CaseStep, person: Person, rows: Rows) -> None:
    """Do a place's planned rows, from where a runner before us stopped."""
    begun, pace = min(step.done, len(rows)), Pace()
    for end, batch in _batches(rows[begun:], pace):
        run.hold_on()
        _look_for_hold(run, holder)
        _batch(run, holder, person, batch, pace)
        failpoints.step("batch_erased")
        with transaction.atomic():
            _unlink(run, holder, [row_id for row_id, _ in batch])
            leases.progress(step, begun + end)
        failpoints.step("batch_counted")


def _batch(run: Run, holder: Holder, person: Person, batch: Rows, pace: Pace) -> None:
    gone = [row_id for row_id, fate in batch if fate is Fate.DELETE]
    masked = [row_id for row_id, fate in batch if fate is Fate.REDACT]
    if run.tokens.wants(holder.name, len(batch)):
        for one in (holder, *_followers(holder)):
            found = list(one.tokens(person, [*gone, *masked]))
            run.tokens.add(one.name, found)
            # Sealed beside the ledger: whoever goes on after a crash seeks them too.
            if found:
                sealed_names.keep(run.case, found)
    pace.wait()
    began = time.monotonic()
    if gone:
        holder.erase(person, gone)
    if masked:
        holder.redact(person, masked)
    pace.held(time.monotonic() - began)


def _followers(holder: Holder) -> list[Holder]:
    """Return what was made from a place's rows: it knows them by the same ids."""
    if holder.name != "journal":
        return []
    return [one for one in registry.ALL if one.derived]


def _unlink(run: Run, holder: Holder, row_ids: Sequence[str]) -> None:
    SubjectLink.objects.filter(
        workspace_id=run.case.workspace_id,
        subject_id=run.case.subject_ref,
        place=holder.name,
        row_id__in=row_ids,
    ).delete()


def _late(run: Run, holder: Holder, known: set[str]) -> Rows:
    """Do what came to a place since the plan was made; return those rows."""
    found: list[tuple[str, Fate]] = []
    for _ in range(ROUNDS):
        run.beat()
        person = run.person_now()
        fresh = [
            (row.row_id, row.fate)
            for row in holder.find(person)
            if row.fate is not Fate.KEEP
            and row.row_id not in known
            # Nobody decided on a doubtful row that came late: the search tells of it.
            and person.goes(holder.name, row.row_id, doubtful=row.doubtful)
        ]
        if not fresh:
            break
        if not run.rectifies and holder.name not in dry_run.RESTLESS:
            announce(run, {holder.name: [[row_id, f.value] for row_id, f in fresh]})
        pace = Pace()
        for _, batch in _batches(fresh, pace):
            run.hold_on()
            _look_for_hold(run, holder)
            _batch(run, holder, person, batch, pace)
            with transaction.atomic():
                _unlink(run, holder, [row_id for row_id, _ in batch])
        known |= {row_id for row_id, _ in fresh}
        found += fresh
    return found
