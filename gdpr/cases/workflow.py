"""The workflow of a case until it runs: open, plan, approve, execute, hold.

Each verb locks the case, checks ``state_machine``, and writes the case, its event and a
journal entry in one transaction. Of two concurrent callers the second finds the
state changed: Conflict ``wrong_state``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases import (
    deadlines,
    decided_rows,
    identity,
    privacy_settings,
    second_person,
    transitions,
)
from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import Kind, clean_text, locked, move
from gdpr.models import (
    Case,
    CaseKind,
    CasePlan,
    Hold,
    Subject,
)
from memory.models import Workspace
from memory.rules import errors
from memory.rules.entries import Severity
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
# Kinds that a hold stops; the others erase nothing.
HOLDABLE: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)
PHRASE_VERBS: Final = {
    CaseKind.ERASURE: "erase",
    CaseKind.ACCESS: "export",
    CaseKind.RECTIFICATION: "rectify",
    CaseKind.RESTRICTION: "restrict",
    CaseKind.PORTABILITY: "export",
    CaseKind.OBJECTION: "stop using",
}
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCase:
    """A request to open; ``received_at`` defaults to now.

    ``identity_how`` says how the identity was verified already; ``identity_ground`` and
    ``identity_reason`` are for an erasure without an identity check.
    """

    subject_id: str
    kind: CaseKind
    reason: str
    requester: str = ""
    ticket: str = ""
    received_at: datetime | None = None
    correction: Mapping[str, Any] = field(default_factory=dict)
    identity_how: str = ""
    identity_ground: str = ""
    identity_reason: str = ""


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A dry run: its hash, its body for display, and place → [[row id, fate], …]."""

    plan_hash: str
    body: Mapping[str, Any]
    rows: Mapping[str, list[list[str]]]


# ── Opening ──────────────────────────────────────────────────────────────────
def _received(received_at: datetime | None, now: datetime) -> datetime:
    if received_at is None:
        return now
    if received_at.tzinfo is None:
        detail = "received_at needs a time zone, such as a final Z."
        raise errors.Invalid(detail, code="naive_received_at")
    if received_at > now:
        detail = gettext("A request cannot have been received in the future.")
        raise errors.Invalid(detail, code="received_in_future")
    if received_at < EARLIEST:
        detail = gettext("received_at lies before {year}.").format(year=EARLIEST.year)
        raise errors.Invalid(detail, code="received_too_early")
    return received_at


def _subject(workspace_id: str, subject_id: str) -> Subject:
    rows = Subject.objects.filter(workspace_id=workspace_id, pk=subject_id)
    subject = rows.first()
    if subject is None:
        raise errors.NotFound
    if subject.merged_into_id:
        detail = gettext(
            "This person was merged into another; open the case for that one."
        )
        code = "subject_merged"
        raise errors.Conflict(detail, code=code, merged_into=subject.merged_into_id)
    return subject


def open_case(new: NewCase, *, by: Actor) -> Case:
    """Open a case, due one calendar month after its receipt.

    A legal hold on everything of the person puts it on hold at once.
    """
    by.require(MAY)
    now = timezone.now()
    received = _received(new.received_at, now)
    reason = clean_text(new.reason, "reason")
    if new.kind is CaseKind.RECTIFICATION and not new.correction:
        detail = gettext("A rectification needs the wrong text and the right one.")
        raise errors.Invalid(detail, code="correction_required")
    zone = privacy_settings.zone(privacy_settings.of(by.workspace_id))
    with transaction.atomic():
        # Before or after a batch of a retention rule, which locks it, too.
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        subject = _subject(by.workspace_id, new.subject_id)
        case = Case.objects.create(
            workspace_id=by.workspace_id,
            subject=subject,
            subject_ref=subject.id,
            kind=new.kind,
            reason=reason,
            requester=clean_text(new.requester, "requester", 200, need=False),
            ticket=clean_text(new.ticket, "ticket", 120, need=False),
            received_at=received,
            due_at=deadlines.due(received, zone),
            opened_by=by.label,
            opened_by_id=by.id,
            opened_key_maker=second_person.key_maker(by),
            correction=dict(new.correction),
        )
        transitions.event(case, Kind.MOVED, "Received", by=by)
        transitions.record(case, "case_opened", by=by)
        case = _settle_identity(case, new, by)
        if case.kind in HOLDABLE and active_hold(case):
            put_on_hold(case, by=by)
    return case


def _settle_identity(case: Case, new: NewCase, by: Actor) -> Case:
    if new.identity_how.strip():
        return identity.verify(case, new.identity_how, by=by)
    if new.identity_ground or new.identity_reason:
        return identity.skip(case, new.identity_ground, new.identity_reason, by=by)
    return case


# ── Plan, approval, execution ────────────────────────────────────────────────
def latest_plan(case: Case) -> CasePlan | None:
    """Return the newest plan, None before the first."""
    rows = CasePlan.objects.filter(workspace_id=case.workspace_id, case=case)
    return rows.order_by("-number").first()


def phrase(case: Case, plan_hash: str) -> str:
    """Return the phrase to type as confirmation; it changes with the plan.

    The same in every language: what is compared is what every page shows.
    """
    word = PHRASE_VERBS[CaseKind(case.kind)]
    return f"{word} {case.subject_ref} {plan_hash[:8]}"


def may_plan(case: Case, *, by: Actor) -> None:
    """Make the checks of ``keep_plan``, before a long dry run starts."""
    by.require(MAY, case.workspace_id)
    transitions.target_state(case, Verb.PLAN)
    identity.require_before_plan(case, privacy_settings.of(case.workspace_id))


def keep_plan(case: Case, draft: PlanDraft, *, by: Actor) -> CasePlan:
    """Store a dry run as the case's next plan, which drops an earlier approval."""
    with transaction.atomic():
        live = locked(case)
        may_plan(live, by=by)
        last = latest_plan(live)
        plan = CasePlan.objects.create(
            workspace_id=live.workspace_id,
            case=live,
            number=last.number + 1 if last else 1,
            plan_hash=draft.plan_hash,
            body=dict(draft.body),
            rows=dict(draft.rows),
            made_by=by.label,
            made_by_id=by.id,
            made_key_maker=second_person.key_maker(by),
        )
        live.approved_by = live.approved_by_id = live.approved_key_maker = ""
        live.approved_plan = ""
        live.approved_at = None
        text = f"Plan {plan.number} made"
        move(live, Verb.PLAN, text, by=by, plan_hash=plan.plan_hash, plan=plan.number)
    return plan


def require_newest_plan(case: Case, plan_hash: str) -> CasePlan:
    """Return the newest plan; Conflict ``stale_plan`` when the hash is another's."""
    plan = latest_plan(case)
    if plan is None or plan.plan_hash != plan_hash:
        detail = gettext("There is a newer plan; read that one.")
        raise errors.Conflict(detail, code="stale_plan")
    return plan


def approve(case: Case, plan_hash: str, *, by: Actor) -> Case:
    """Approve exactly this plan; not by who opened the case or made the plan."""
    by.require(MAY, case.workspace_id)
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.APPROVE)
        plan = require_newest_plan(live, plan_hash)
        second_person.require_other_person(live, plan, by=by)
        _require_decisions(live, plan)
        identity.require_before_run(live, privacy_settings.of(live.workspace_id))
        live.approved_by, live.approved_by_id = by.label, by.id
        live.approved_key_maker = second_person.key_maker(by)
        live.approved_at, live.approved_plan = timezone.now(), plan.plan_hash
        text = f"Plan {plan.number} approved"
        return move(live, Verb.APPROVE, text, by=by, plan_hash=plan.plan_hash)


def undecided_count(plan: CasePlan | None) -> int:
    """Return how many doubtful rows of a plan have no decision."""
    return int(plan.body.get("doubts", {}).get("undecided", 0)) if plan else 0


def _require_decisions(case: Case, plan: CasePlan) -> None:
    """Refuse a plan with undecided doubtful rows, or with a row kept since."""
    # The dry run came before the lock; a row may have been decided between them.
    if decided_rows.spares_planned_row(case, plan.rows):
        detail = gettext("A row of this plan is kept by decision; read the newer plan.")
        raise errors.Conflict(detail, code="stale_plan")
    count = undecided_count(plan)
    if count:
        raise errors.Conflict(
            gettext(
                "Rows of this plan may be about somebody else; decide on each of them."
            ),
            code="doubtful_rows",
            undecided=count,
        )


def approval_missing(case: Case, rules: PrivacySettings) -> bool:
    """Whether a second person still has to approve the newest plan."""
    return second_person.approval_missing(case, rules, latest_plan(case))


def _require_no_hold(case: Case) -> None:
    hold = active_hold(case)
    if hold and case.kind in HOLDABLE:
        detail = gettext("Everything of this person is under a legal hold.")
        raise errors.Conflict(detail, code="on_hold", hold_id=hold.id)


def execute(
    case: Case, plan_hash: str, typed: str, *, by: Actor, break_glass: str = ""
) -> Case:
    """Set a case running; the worker carries it out.

    The caller has checked that the plan is still current. ``break_glass`` is the
    reason for going on without the second person: it raises an alarm.
    """
    by.require(MAY, case.workspace_id)
    reason = clean_text(break_glass, "break_glass", need=False)
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.EXECUTE)
        rules = privacy_settings.of(live.workspace_id)
        identity.require_before_run(live, rules)
        plan = require_newest_plan(live, plan_hash)
        _require_decisions(live, plan)
        second_person.require(live, rules, plan, reason, by=by)
        _require_no_hold(live)
        if typed.strip() != phrase(live, plan.plan_hash):
            detail = gettext("Type the phrase exactly as the plan shows it.")
            raise errors.Invalid(detail, code="wrong_phrase")
        without_second_person = bool(reason) and approval_missing(live, rules)
        live.run += 1
        live.executed_by, live.executed_by_id = by.label, by.id
        live.break_glass_reason = reason if without_second_person else ""
        live.claimed_by, live.lease_until, live.held_from = "", None, ""
        if without_second_person:
            _alarm(live, reason, by)
        text = f"Run {live.run} started"
        return move(
            live,
            Verb.EXECUTE,
            text,
            by=by,
            run=live.run,
            break_glass=without_second_person,
        )


def _alarm(case: Case, reason: str, by: Actor) -> None:
    """Raise an alarm in the journal; the reason stays in the case."""
    transitions.event(case, Kind.ALARM, f"Without a second person: {reason}", by=by)
    transitions.record(case, "break_glass", by=by, severity=Severity.ERROR)


# ── Holds ────────────────────────────────────────────────────────────────────
def active_hold(case: Case) -> Hold | None:
    """Return an active hold on everything of the case's person, if any."""
    rows = Hold.objects.filter(workspace_id=case.workspace_id, released_at=None)
    return rows.filter(subject_id=case.subject_id, scope="all").first()


def put_on_hold(case: Case, *, by: Actor) -> Case:
    """Put a locked case on hold and store its state."""
    transitions.target_state(case, Verb.HOLD)
    case.held_from = case.state
    return move(case, Verb.HOLD, "On hold", by=by)


def take_off_hold(case: Case, *, by: Actor) -> Case:
    """Resume a locked case in the state it had before the hold."""
    goal = transitions.target_state(case, Verb.RESUME)
    text = f"Resumed: {transitions.stored_label(goal).lower()}"
    resumed = move(case, Verb.RESUME, text, by=by)
    resumed.held_from = ""
    resumed.save(update_fields=["held_from"])
    return resumed
