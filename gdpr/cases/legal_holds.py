"""Legal holds: a reason to keep a person's data despite a request to erase it.

A hold on everything puts the person's open cases on hold at once; a running case is
put on hold by its runner, which checks before every batch. The last release returns
a case to its earlier state, and deferred steps wait again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import linking, pagination
from gdpr.cases import state_machine, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import clean_text
from gdpr.models import (
    Case,
    CaseState,
    CaseStep,
    Hold,
    StepState,
    Subject,
    SubjectLink,
)
from gdpr.pagination import Page, PageQuery
from memory.journal import append as journal
from memory.models import Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

ALL: Final = "all"
# Ids in one query: databases limit the number of parameters.
MAX_QUERY_IDS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHold:
    """A hold to place; ``scope`` is ``all`` or the name of one holder."""

    reason: str
    review_at: datetime
    scope: str = ALL
    ground: str = ""
    owner: str = ""


# ── Reading ──────────────────────────────────────────────────────────────────
def _active(workspace_id: str) -> QuerySet[Hold]:
    return Hold.objects.filter(workspace_id=workspace_id, released_at=None)


def in_force(workspace_id: str, subject_id: str, place: str = "") -> Hold | None:
    """Return an active hold that covers a place of a person; without a place, any."""
    rows = _active(workspace_id).filter(subject_id=subject_id)
    if place:
        rows = rows.filter(scope__in=(ALL, place))
    return rows.order_by("-placed_at", "id").first()


def held_entries(
    workspace_id: str, place: str, entry_ids: Sequence[str]
) -> frozenset[str]:
    """Return the entries linked to people whose hold covers the journal or a place."""
    rows = _active(workspace_id).filter(scope__in=(ALL, linking.JOURNAL, place))
    people = list(rows.values_list("subject_id", flat=True).distinct())
    if not people:
        return frozenset()
    links = SubjectLink.objects.filter(
        workspace_id=workspace_id, place=linking.JOURNAL, subject_id__in=people
    )
    held_ids: set[str] = set()
    for start in range(0, len(entry_ids), MAX_QUERY_IDS):
        part = entry_ids[start : start + MAX_QUERY_IDS]
        held_ids |= set(links.filter(row_id__in=part).values_list("row_id", flat=True))
    return frozenset(held_ids)


def _rows(actor: Actor, subject_id: str = "") -> QuerySet[Hold]:
    actor.require("gdpr.read")
    rows = Hold.objects.select_related("subject")
    rows = rows.filter(workspace_id=actor.workspace_id)
    return rows.filter(subject_id=subject_id) if subject_id else rows


def hold(actor: Actor, hold_id: str) -> Hold:
    """Return a hold of the actor's workspace."""
    match = _rows(actor).filter(pk=hold_id).first()
    if match is None:
        raise errors.NotFound
    return match


def list_holds(
    actor: Actor, *, subject_id: str = "", state: str = "", limit: int = 500
) -> list[Hold]:
    """Return holds, next review first; ``state`` is ``standing`` or ``released``."""
    rows = _rows(actor, subject_id)
    if state:
        rows = rows.filter(released_at__isnull=state == "standing")
    return list(rows.order_by("released_at", "review_at", "id")[:limit])


def page(
    actor: Actor, page_query: PageQuery, *, subject_id: str = "", state: str = ""
) -> Page[Hold]:
    """Return a page: active holds by review date, then released ones, newest first."""
    rows = _rows(actor, subject_id)
    active = (rows.filter(released_at=None), "review_at")
    released = (rows.exclude(released_at=None), "-released_at")
    parts = {"standing": [active], "released": [released]}
    question = ["holds", subject_id, state]
    return pagination.page_of_lists(
        parts.get(state, [active, released]), page_query, question, actor.workspace_id
    )


def counts(actor: Actor) -> tuple[int, int]:
    """Return how many holds are active, and how many of these are past review."""
    actor.require("gdpr.read")
    rows = _active(actor.workspace_id)
    return rows.count(), rows.filter(review_at__lte=timezone.now()).count()


# ── Placing and releasing ────────────────────────────────────────────────────
def _record(action: str, row: Hold, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"gdpr.hold_{action}",
        severity=Severity.NOTICE,
        summary=f"Hold {row.pk} {action}",
        payload={
            "hold_id": row.pk,
            "subject_id": row.subject_id,
            "scope": row.scope,
            "review_at": journal.stamp(row.review_at),
        },
    )
    journal.write([new], by=by)


def _check(new: NewHold, places: frozenset[str]) -> None:
    if new.review_at.tzinfo is None:
        detail = "review_at needs a time zone, such as a final Z."
        raise errors.Invalid(detail, code="naive_review_at")
    if new.review_at <= timezone.now():
        detail = gettext("The review of a hold (review_at) has to be in the future.")
        raise errors.Invalid(detail, code="review_in_past")
    if new.scope != ALL and new.scope not in places:
        detail = "scope is all, or the name of a place where data is stored."
        raise errors.Invalid(detail, code="bad_scope", scopes=[ALL, *sorted(places)])


def place(subject: Subject, new: NewHold, *, by: Actor, places: frozenset[str]) -> Hold:
    """Place a hold; ``places`` are the valid names of holders."""
    by.require(cases.MAY, subject.workspace_id)
    _check(new, places)
    with transaction.atomic():
        # Before or after a batch of a retention rule, which locks it, too.
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        row = Hold.objects.create(
            workspace_id=by.workspace_id,
            subject=subject,
            scope=new.scope,
            ground=clean_text(new.ground, "ground", 200, need=False),
            reason=clean_text(new.reason, "reason"),
            owner=clean_text(new.owner, "owner", 254, need=False) or by.label,
            review_at=new.review_at,
            placed_by=by.label,
        )
        _record("placed", row, by)
        if row.scope == ALL:
            for case in _cases(subject, ~Q(state=CaseState.ON_HOLD)):
                # A running case is stopped by its runner, between two batches.
                is_allowed = state_machine.target(Verb.HOLD, case.state)
                if case.state != CaseState.RUNNING and is_allowed:
                    cases.put_on_hold(case, by=by)
    return row


def _cases(subject: Subject, condition: Q) -> list[Case]:
    rows = Case.objects.select_for_update(of=("self",)).filter(
        condition,
        workspace_id=subject.workspace_id,
        subject_id=subject.pk,
        kind__in=cases.HOLDABLE,
    )
    return list(rows.order_by("pk"))


def release(row: Hold, reason: str, *, by: Actor) -> Hold:
    """Release a hold and resume cases it alone held; Conflict when released before."""
    by.require(cases.MAY, row.workspace_id)
    reason_text = clean_text(reason, "reason")
    with transaction.atomic():
        live = Hold.objects.select_for_update(of=("self",)).get(
            workspace_id=by.workspace_id, pk=row.pk
        )
        if live.released_at is not None:
            detail = gettext("This hold was released already.")
            raise errors.Conflict(detail, code="hold_released")
        live.released_at, live.released_by = timezone.now(), by.label
        live.release_reason = reason_text
        live.save()
        _record("released", live, by)
        subject = Subject.objects.get(workspace_id=by.workspace_id, pk=row.subject_id)
        for case in _cases(subject, Q(state=CaseState.ON_HOLD)):
            _resume(case, by)
    return live


def _resume(case: Case, by: Actor) -> None:
    """Resume a case unless another hold covers everything, or all deferred steps."""
    if cases.active_hold(case):
        return
    deferred_rows = CaseStep.objects.filter(
        workspace_id=case.workspace_id, case=case, run=case.run,
        state=StepState.DEFERRED,
    )  # fmt: skip
    running = case.held_from == CaseState.RUNNING
    deferred = list(deferred_rows) if running else []
    home, person_id = case.workspace_id, str(case.subject_id)
    free = [step for step in deferred if not in_force(home, person_id, step.name)]
    if deferred and not free:
        return
    for step in free:
        step.state = StepState.WAITING
        step.save(update_fields=["state"])
    transitions.event(
        case, transitions.Kind.FACT, "A hold was released", by=by,
        data={"steps": [step.name for step in free]},
    )  # fmt: skip
    cases.take_off_hold(case, by=by)
