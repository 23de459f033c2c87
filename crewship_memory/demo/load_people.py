"""The demo's data subjects and their cases in every state."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.utils import timezone

from crewship_memory.demo import story
from gdpr import erasure
from gdpr.cases import (
    actions,
    correspondence,
    deadlines,
    dry_run,
    identity,
    legal_holds,
    transitions,
)
from gdpr.cases import workflow as cases
from gdpr.cases.correspondence import Address
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.workflow import NewCase
from gdpr.letters import drafts, keeping
from gdpr.letters.keeping import NewLetter
from gdpr.models import Case, CaseKind, Subject
from gdpr.processing import controller
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import Workspace
from memory.rules.permissions import Actor

# Who writes the demo's letters.
CONTROLLER: Final = {
    "controller": "Fairlead Outfitters Ltd",
    "controller_contact": "privacy@fairlead.example",
    "dpo_contact": "dpo@fairlead.example",
}


def load(workspace: Workspace, *, officer: Actor, admin: Actor) -> None:
    """Register the subjects and open their cases, once, by the officer or the admin.

    Two people approve each other's plans, so that whoever signs in as the admin finds
    one to approve and one to carry out. One erasure is set running: the worker carries
    it out when the server starts, and its certificate is a real one.
    """
    if Subject.objects.filter(workspace=workspace).exists():
        return
    today = timezone.now().date()
    controller.change(CONTROLLER, by=admin)
    for row in story.document("people.toml", today)["person"]:
        by, second = (admin, officer) if row.get("by_admin") else (officer, admin)
        _open_case(row, today, by, second)


def _open_case(row: dict[str, Any], today: date, by: Actor, second: Actor) -> None:
    names = [NewAlias("name", row["name"]), NewAlias("email", row["email"])]
    subject = subjects.create(row["name"], names, by=by)
    # A month before the deadline, or less before the end of a long month.
    received_on = deadlines.add_months(today + timedelta(days=row["left"]), -1)
    new = NewCase(
        subject_id=subject.pk,
        kind=CaseKind(row["kind"]),
        reason=row["reason"],
        requester=row.get("requester", ""),
        ticket=row["ticket"],
        received_at=datetime.combine(received_on, time(9), UTC),
    )
    case = cases.open_case(new, by=by)
    if "identity" in row:
        identity.verify(case, row["identity"], by=by)
    if row.get("assigned"):
        actions.assign(case, by.label, by=by)
    if "comment" in row:
        actions.comment(case, row["comment"], by=by)
    if "letter" in row:
        _keep_letter(case, row, by)
    if "hold" in row:
        review_at = timezone.now() + timedelta(days=row["review"])
        hold = NewHold(reason=row["hold"], ground=row["ground"], review_at=review_at)
        legal_holds.place(subject, hold, by=by, places=frozenset())
    if "end" in row:
        _plan(case, row["end"], by, second)


def _keep_letter(case: Case, row: dict[str, Any], by: Actor) -> None:
    """Keep the person's address, and the draft of a letter as it is, unsent."""
    address = Address(name=row["name"], email=row["email"], language="en")
    correspondence.keep(case, address, by=by)
    draft = drafts.make(transitions.case(by, case.pk), row["letter"], by=by)
    letter = NewLetter(
        occasion=draft.occasion,
        language=draft.language,
        subject=draft.subject,
        body=draft.body,
    )
    keeping.keep(case, letter, by=by)


def _plan(case: Case, end: str, by: Actor, second: Actor) -> None:
    """Plan a case, have it approved and run it, as far as ``end`` says."""
    plan = dry_run.make(transitions.case(by, case.pk), by=by)
    if end != "planned":
        live = transitions.case(second, case.pk)
        cases.approve(live, plan.plan_hash, by=second)
    if end == "running":
        live = transitions.case(by, case.pk)
        typed = cases.phrase(case, plan.plan_hash)
        erasure.start(live, plan.plan_hash, typed, by=by)
