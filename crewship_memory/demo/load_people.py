"""The demo's data subjects and their cases in every state."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from gdpr import erasure
from gdpr.cases import actions, deadlines, dry_run, legal_holds, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.workflow import NewCase
from gdpr.models import CaseKind, Subject
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import Workspace
from memory.rules.permissions import Actor

STORY: Final = Path(__file__).with_name("people.toml")
LONGEST_MONTH: Final = 31
SHORTEST_MONTH: Final = 28


def load(workspace: Workspace, by: Actor) -> int:
    """Register the subjects and open their cases, once; return how many.

    ``by`` is the compliance officer. One erasure is set running: the worker carries it
    out for real when the server starts, and its certificate is a real one.
    """
    if Subject.objects.filter(workspace=workspace).exists():
        return 0
    rows = tomllib.loads(STORY.read_text())["person"]
    for row in rows:
        _open_case(row, by)
    return len(rows)


def received(due: date) -> date:
    """Return the day of receipt whose deadline is the given day, or just before."""
    days = range(SHORTEST_MONTH, LONGEST_MONTH + 1)
    before = [due - timedelta(days=count) for count in days]
    return next(
        (day for day in before if deadlines.add_months(day, 1) == due), before[-1]
    )


def _open_case(row: dict[str, Any], by: Actor) -> None:
    names = [NewAlias("name", row["name"]), NewAlias("email", row["email"])]
    subject = subjects.create(row["name"], names, by=by)
    now = timezone.now()
    day = received(now.date() + timedelta(days=row["left"]))
    new = NewCase(
        subject_id=subject.pk,
        kind=CaseKind(row["kind"]),
        reason=row["reason"],
        requester=row.get("requester", ""),
        ticket=row["ticket"],
        received_at=datetime.combine(day, time(9), UTC),
    )
    case = cases.open_case(new, by=by)
    if "identity" in row:
        cases.verify_identity(case, row["identity"], by=by)
    if row.get("assigned"):
        actions.assign(case, by.label, by=by)
    if "comment" in row:
        actions.comment(case, row["comment"], by=by)
    if "hold" in row:
        _hold(row, subject, by)
    if row.get("plan") or row.get("run"):
        plan = dry_run.make(transitions.case(by, case.pk), by=by)
        if row.get("run"):
            typed = cases.phrase(case, plan.plan_hash)
            live = transitions.case(by, case.pk)
            erasure.start(live, plan.plan_hash, typed, by=by)


def _hold(row: dict[str, Any], subject: Subject, by: Actor) -> None:
    review = timezone.now() + timedelta(days=row["review"])
    new = NewHold(reason=row["hold"], ground=row["ground"], review_at=review)
    legal_holds.place(subject, new, by=by, places=frozenset())
