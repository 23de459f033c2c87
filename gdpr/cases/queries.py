"""Reading cases: the list by urgency, one case in detail, and both as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import pagination
from gdpr.cases import (
    deadlines,
    decided_rows,
    dry_run,
    leases,
    legal_holds,
    privacy_settings,
    second_person,
    state_machine,
)
from gdpr.cases import workflow as cases
from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.models import OPEN, Case, CaseEvent, CasePlan, CaseStep
from gdpr.pagination import Page, PageQuery
from gdpr.subjects import suggested_aliases
from memory.journal import append as journal
from memory.rules.permissions import Actor

MAX_LIMIT: Final = 200
EVENTS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuery:
    """Filters of the list; an empty one means any.

    ``state`` is a state, ``open`` or ``closed``; ``due`` is overdue, today or soon.
    """

    state: str = ""
    kind: str = ""
    subject_id: str = ""
    assignee: str = ""
    due: str = ""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a case is due, with a phrase and an urgency for display."""

    due_at: datetime
    days_left: int
    words: str
    urgency: str


def effective_deadline(case: Case) -> datetime:
    """Return the deadline in force: the extended one where there is one."""
    return case.extended_until or case.due_at


def deadline(
    case: Case, rules: PrivacySettings, now: datetime | None = None
) -> Deadline:
    """Return a case's deadline in its workspace's time zone.

    A closed case is measured at its closing: in time, or overdue.
    """
    moment = case.closed_at or now or timezone.now()
    days = deadlines.days_left(
        effective_deadline(case), moment, privacy_settings.zone(rules)
    )
    text, urgency = deadlines.words(days), deadlines.urgency(days)
    if case.closed_at:
        text, urgency = (gettext("in time") if days >= 0 else text), "closed"
    return Deadline(effective_deadline(case), days, text, urgency)


# ── The list ─────────────────────────────────────────────────────────────────
def _filtered(
    rows: QuerySet[Any], query: CaseQuery, rules: PrivacySettings
) -> QuerySet[Any]:
    if query.state in ("open", "closed"):
        is_open = Q(state__in=OPEN)
        rows = rows.filter(is_open if query.state == "open" else ~is_open)
    elif query.state:
        rows = rows.filter(state=query.state)
    filters = {
        "kind": query.kind,
        "subject_ref": query.subject_id,
        "assignee": query.assignee,
    }
    rows = rows.filter(**{name: value for name, value in filters.items() if value})
    if query.due:
        low, high = between(query.due, rules)
        rows = rows.filter(state__in=OPEN)
        rows = rows.filter(until__gt=low) if low else rows
        rows = rows.filter(until__lte=high)
    return rows


def between(due: str, rules: PrivacySettings) -> tuple[datetime | None, datetime]:
    """Return the (exclusive start, inclusive end) of overdue, today or soon."""
    zone, now = privacy_settings.zone(rules), timezone.now()
    today = now.astimezone(zone).date()
    yesterday = deadlines.end_of(today - timedelta(days=1), zone)
    if due == "overdue":
        return None, yesterday
    if due == "today":
        return yesterday, deadlines.end_of(today, zone)
    last = today + timedelta(days=deadlines.SOON_DAYS)
    return yesterday, deadlines.end_of(last, zone)


def page(
    actor: Actor, query: CaseQuery, *, limit: int = 50, cursor: str | None = None
) -> Page[Case]:
    """Return a page of cases: open ones by deadline, then closed ones, newest first."""
    actor.require("gdpr.read")
    rules = privacy_settings.of(actor.workspace_id)
    rows = Case.objects.filter(workspace_id=actor.workspace_id)
    until = Coalesce(F("extended_until"), F("due_at"))
    rows = rows.select_related("subject").annotate(until=until)
    rows = _filtered(rows, query, rules)
    return pagination.page_of_lists(
        [
            (rows.filter(state__in=OPEN), "until"),
            (rows.exclude(state__in=OPEN), "-closed_at"),
        ],
        PageQuery(limit=limit, cursor=cursor),
        ["cases", asdict(query)],
        actor.workspace_id,
    )


# ── One case ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class CaseDetail:
    """A case with everything that its page and the API show."""

    case: Case
    deadline: Deadline
    rules: PrivacySettings
    plan: CasePlan | None
    phrase: str | None
    approval_missing: bool
    approver_missing: bool
    steps: list[CaseStep]
    events: list[CaseEvent]
    hold_ids: list[str]
    verbs: list[str]


def detail(actor: Actor, case: Case) -> CaseDetail:
    actor.require("gdpr.read", case.workspace_id)
    rules = privacy_settings.of(case.workspace_id)
    plan = cases.latest_plan(case)
    events = CaseEvent.objects.filter(workspace_id=case.workspace_id, case=case)
    active_holds = legal_holds.list_holds(
        actor, subject_id=case.subject_id or "-", state="standing", limit=20
    )
    approval_missing = second_person.approval_missing(case, rules, plan)
    return CaseDetail(
        case=case,
        deadline=deadline(case, rules),
        rules=rules,
        plan=plan,
        phrase=cases.phrase(case, plan.plan_hash) if plan else None,
        approval_missing=approval_missing,
        approver_missing=approval_missing
        and state_machine.is_open(case.state)
        and not second_person.has_approver(case, plan),
        steps=leases.steps(case),
        events=list(events.order_by("-id")[:EVENTS]),
        hold_ids=[hold.pk for hold in active_holds],
        verbs=[verb.value for verb in state_machine.verbs(case.state, case.held_from)],
    )


# ── As JSON ──────────────────────────────────────────────────────────────────
def _stamp(moment: datetime | None) -> str | None:
    return journal.stamp(moment) if moment else None


PLAIN: Final = ("id", "kind", "state", "reason", "run", "version", "opened_by")
OPTIONAL: Final = (
    "requester", "ticket", "assignee", "held_from", "extension_reason",
    "identity_how", "identity_by", "identity_skipped_ground",
    "identity_skipped_reason", "approved_by", "approved_plan", "executed_by",
    "break_glass_reason", "refusal_reason", "closed_by", "correction",
)  # fmt: skip
TIMES: Final = (
    "received_at", "opened_at", "extended_until", "identity_at", "approved_at",
    "closed_at",
)  # fmt: skip


def _result(case: Case) -> dict[str, Any] | None:
    """Return the result of a case; its thousands of rows are in the next plan."""
    skip = decided_rows.ONLY_SECOND
    return {name: v for name, v in case.result.items() if name != skip} or None


def case_json(case: Case, rules: PrivacySettings) -> dict[str, Any]:
    due = deadline(case, rules)
    return (
        {name: getattr(case, name) for name in PLAIN}
        | {name: getattr(case, name) or None for name in OPTIONAL}
        | {name: _stamp(getattr(case, name)) for name in TIMES}
        | {
            "result": _result(case),
            "subject_id": case.subject_ref,
            "due_at": journal.stamp(due.due_at),
            "days_left": due.days_left,
            "due": due.words,
            "urgency": due.urgency,
        }
    )


def cases_json(actor: Actor, rows: list[Case]) -> list[dict[str, Any]]:
    rules = privacy_settings.of(actor.workspace_id)
    return [case_json(case, rules) for case in rows]


def _step(step: CaseStep) -> dict[str, Any]:
    plain = ("position", "name", "title", "state", "total", "done", "counts")
    return {name: getattr(step, name) for name in plain} | {
        "fault": step.fault or None,
        "started_at": _stamp(step.started_at),
        "finished_at": _stamp(step.finished_at),
    }


def event_json(event: CaseEvent) -> dict[str, Any]:
    plain = ("id", "kind", "state", "text", "data", "by")
    return {name: getattr(event, name) for name in plain} | {
        "at": journal.stamp(event.at)
    }


def has_samples(plan: CasePlan | None) -> bool:
    """Whether a plan still holds samples of the person's data."""
    holders = plan.body.get("holders", ()) if plan else ()
    has_rows = bool(dry_run.doubts(plan)["rows"])
    return has_rows or any(holder.get("samples") for holder in holders)


def plan_json(plan: CasePlan, phrase: str) -> dict[str, Any]:
    """Return a plan as JSON, without its row ids."""
    doubts = dry_run.doubts(plan)
    return {
        "holders": plan.body.get("holders", []),
        "total": plan.body.get("total", {}),
        "doubtful": doubts["rows"],
        "doubtful_total": doubts["total"],
        "doubtful_undecided": doubts["undecided"],
        "doubtful_by_form": {
            form: sum(map(len, by_place.values()))
            for form, by_place in doubts["by_form"].items()
        },
        "undecided": suggested_aliases.count_undecided(plan.case.subject, plan.body),
        "number": plan.number,
        "plan_hash": plan.plan_hash,
        "phrase": phrase,
        "made_at": journal.stamp(plan.made_at),
        "made_by": plan.made_by,
    }


def case_detail_json(detail: CaseDetail) -> dict[str, Any]:
    plan = plan_json(detail.plan, detail.phrase or "") if detail.plan else None
    return case_json(detail.case, detail.rules) | {
        "plan": plan,
        "steps": [_step(step) for step in detail.steps],
        "events": [event_json(event) for event in detail.events],
        "holds": detail.hold_ids,
        "allowed": detail.verbs,
        "approval_missing": detail.approval_missing,
        "approver_missing": detail.approver_missing,
    }
