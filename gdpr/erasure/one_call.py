"""Exporting or erasing a person's data in one call.

One call opens, plans and runs a case where nothing is missing. Where the workspace asks
for an identity check or a second person it goes as far as it may and says what is next.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext

from gdpr import audit_log, erasure
from gdpr.cases import dry_run, identity, privacy_settings, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.export import make as export
from gdpr.models import (
    OPEN,
    ActionKind,
    AliasKind,
    Case,
    CaseKind,
    CasePlan,
    CaseState,
    GdprAction,
    IdentityGround,
    Subject,
)
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import Actor

BEFORE_RUN: Final = (
    CaseState.RECEIVED,
    CaseState.IDENTIFIED,
    CaseState.PLANNED,
    CaseState.APPROVED,
    CaseState.PARTIAL,
)

# The body of a call for a person whose identity nobody verified.
EXAMPLE: Final[dict[str, Any]] = {
    "reason": "Account closed, ticket 4711",
    "identity_ground": "own_decision",
    "identity_reason": "Closed by the retention schedule; nobody asked",
}


class Awaits(StrEnum):
    """What a person has to do before an erasure goes on."""

    IDENTITY = "identity"
    APPROVAL = "approval"
    DECISIONS = "decisions"
    HOLD = "hold"


# The others are said by the state of the case.
STATUS: Final = {
    Awaits.IDENTITY: "awaiting_identity",
    Awaits.APPROVAL: "awaiting_approval",
}


@dataclass(frozen=True, slots=True)
class StartedErasure:
    """Where an erasure stands; ``rows`` is place → number of rows to delete.

    One that ``awaits`` something has no rows: nothing was erased yet.
    """

    case: Case
    action_id: str
    rows: dict[str, int]
    warnings: list[str]
    awaits: Awaits | None = None

    @property
    def status(self) -> str:
        """What the erasure waits for, else the state of its case."""
        status_name = STATUS.get(self.awaits) if self.awaits else None
        return status_name or str(self.case.state)


def workspace_of(text: str, slug: str = "") -> str:
    """Return a workspace id: of the slug, or of the only one that knows the person.

    For commands, which have no credential bound to a workspace.
    """
    rows = Workspace.objects.filter(slug=slug) if slug else Workspace.objects.all()
    candidates = list(rows.order_by("number").values_list("pk", flat=True))
    if not slug and len(candidates) > 1:
        candidates = [
            workspace_id for workspace_id in candidates if _knows(workspace_id, text)
        ]
    if len(candidates) != 1:
        detail = "Name a workspace: none, or more than one, knows this person."
        raise errors.Invalid(detail, code="which_workspace")
    return candidates[0]


def _knows(workspace_id: str, text: str) -> bool:
    is_id = Subject.objects.filter(workspace_id=workspace_id, pk=text).exists()
    if is_id or subjects.with_alias(workspace_id, text):
        return True
    return subjects.is_named(workspace_id, text)


def _kind(text: str) -> AliasKind:
    """Guess the kind of an alias from its form."""
    if text.startswith("@"):
        return AliasKind.HANDLE
    if "@" in text:
        return AliasKind.EMAIL
    return AliasKind.NAME if " " in text.strip() else AliasKind.USER_ID


def person(text: str, *, by: Actor, must_be_named: bool) -> Subject:
    """Return the subject of an id or alias; an unknown alias becomes a new subject.

    With ``must_be_named`` only if a writer named it: reading creates no arbitrary ones.
    """
    try:
        return subjects.find(text, by=by)
    except errors.NotFound:
        if text.startswith("sub_") or (
            must_be_named and not subjects.is_named(by.workspace_id, text)
        ):
            raise
    return subjects.create("", [NewAlias(_kind(text).value, text)], by=by)


def export_all(alias: str, *, by: Actor) -> dict[str, Any]:
    """Return all data about a person, given by id or alias, or raise."""
    by.require("gdpr.manage")
    return export.export_document(person(alias, by=by, must_be_named=True), by=by)


def erase(
    alias: str,
    reason: str,
    *,
    by: Actor,
    identity_ground: str = "",
    identity_reason: str = "",
) -> StartedErasure:
    """Take a person's erasure as far as the workspace lets one call take it.

    It runs where nothing is missing; otherwise ``awaits`` says what is.
    """
    skip = (identity_ground, identity_reason)
    case = open_case(alias, reason, by=by, skip=skip if any(skip) else None)
    return advance(case, by=by)


def open_case(
    alias: str,
    reason: str,
    *,
    by: Actor,
    skip: tuple[str, str] | None,
    must_be_named: bool = False,
    is_run: bool = True,
) -> Case:
    """Return the person's open erasure, or open one: a second call opens no second.

    ``skip`` is ground and reason of going on without an identity check.
    """
    by.require("gdpr.manage")
    if skip:
        _require_ground(skip)
    with transaction.atomic():
        # Of two calls at once, the second finds the case of the first.
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        subject = person(alias, by=by, must_be_named=must_be_named)
        case = _open_case(subject, by)
        if case is None:
            new = NewCase(subject_id=subject.id, kind=CaseKind.ERASURE, reason=reason)
            case = cases.open_case(new, by=by)
        if case.state in BEFORE_RUN and not identity.is_settled(case):
            if skip:
                case = identity.skip(case, *skip, by=by)
            elif is_run and not privacy_settings.of(by.workspace_id).require_identity:
                # Nobody will be asked for an identity: this call has to say the ground.
                _require_ground(("", ""))
    return transitions.case(by, case.id)


def _require_ground(skip: tuple[str, str]) -> None:
    """Raise Invalid that says what to send, unless ground and reason are there."""
    if skip[0]:
        identity.cleaned(*skip)
        return
    grounds = list(IdentityGround.values)
    detail = gettext(
        "Nobody verified who asks, and no identity check follows: send"
        " identity_ground and identity_reason beside reason. identity_ground is one"
        " of {grounds}."
    ).format(grounds=", ".join(grounds))
    faults = [
        {"field": name, "code": "missing", "message": gettext("It is needed here.")}
        for name in ("identity_ground", "identity_reason")
        if name == "identity_ground" or not skip[1]
    ]
    raise errors.Invalid(
        detail,
        code="identity_ground_required",
        grounds=grounds,
        errors=faults,
        example=EXAMPLE,
    )


def _open_case(subject: Subject, by: Actor) -> Case | None:
    """Return the person's open erasure, the oldest of several."""
    rows = Case.objects.filter(
        workspace_id=by.workspace_id,
        subject_ref=subject.id,
        kind=CaseKind.ERASURE,
        state__in=OPEN,
    )
    return rows.order_by("opened_at", "pk").first()


def look(case: Case, *, by: Actor) -> CasePlan | None:
    """Return the current plan of a case; None where it cannot be planned now."""
    rules = privacy_settings.of(by.workspace_id)
    may_plan = identity.is_settled(case) or not rules.require_identity
    return _plan(case, by) if case.state in BEFORE_RUN and may_plan else None


def advance(case: Case, *, by: Actor) -> StartedErasure:
    """Plan and run a case as far as nothing is missing; say what is."""
    if case.state not in BEFORE_RUN:
        return _answer(case, by)
    rules = privacy_settings.of(by.workspace_id)
    if not identity.is_settled(case):
        return _answer(case, by, Awaits.IDENTITY)
    plan = _plan(case, by)
    case = transitions.case(by, case.id)
    if cases.undecided_count(plan):
        return _answer(case, by, Awaits.DECISIONS, plan)
    if cases.approval_missing(case, rules):
        return _answer(case, by, Awaits.APPROVAL, plan)
    phrase = cases.phrase(case, plan.plan_hash)
    running = erasure.start(case, plan.plan_hash, phrase, by=by)
    return _answer(running, by, plan=plan)


def _plan(case: Case, by: Actor) -> CasePlan:
    """Return the newest plan while it is current, else a new one.

    A new plan drops the approval of the one before, so none is made without need.
    """
    plan = cases.latest_plan(case)
    if plan is not None and case.state in (CaseState.PLANNED, CaseState.APPROVED):
        try:
            dry_run.require_current(case, plan.plan_hash)
        except dry_run.StalePlan:
            return dry_run.make(case, by=by)
        return plan
    return dry_run.make(case, by=by)


def _answer(
    case: Case, by: Actor, awaits: Awaits | None = None, plan: CasePlan | None = None
) -> StartedErasure:
    """Return where a case stands, with its one row of the audit log."""
    if case.state == CaseState.ON_HOLD:
        awaits = Awaits.HOLD
    is_running = case.state in (CaseState.RUNNING, CaseState.VERIFYING)
    plan = plan or cases.latest_plan(case)
    if is_running and plan is not None:
        # The runner may have created it already: there is one row per run.
        action = _action(case, {"run": case.run, "plan_hash": plan.plan_hash}, by)
        return StartedErasure(case, action.id, _rows(plan.rows), _warn(plan))
    # The run that follows takes this row over.
    action = audit_log.of_next_run(by.workspace_id, case.id) or _action(
        case, {audit_log.WAITS: case.run + 1}, by
    )
    warnings = _warn(plan) if plan else []
    return StartedErasure(case, action.id, {}, warnings, awaits)


def _action(case: Case, scope: dict[str, Any], by: Actor) -> GdprAction:
    return audit_log.begin(
        case.subject_ref,
        ActionKind.DELETE,
        by=by,
        case_ref=case.id,
        reason=f"Case {case.id}",
        scope=scope,
    )


def _rows(rows: dict[str, list[list[str]]]) -> dict[str, int]:
    counts = {
        place: sum(fate == "delete" for _, fate in place_rows)
        for place, place_rows in rows.items()
    }
    return {place: count for place, count in counts.items() if count}


def _warn(plan: CasePlan) -> list[str]:
    warnings = []
    doubtful_count = cases.undecided_count(plan)
    if doubtful_count:
        warnings.append(
            f"{doubtful_count} rows may be about somebody else. Nothing was erased: the"
            " case waits with its plan until a person decides on them."
        )
    addresses = len(plan.body.get("beside", ()))
    if addresses:
        warnings.append(
            f"{addresses} addresses were found near the person and registered as"
            " nobody's: they stay where the person is not named."
        )
    fates = Counter(fate for rows in plan.rows.values() for _, fate in rows)
    for fate, sentence in (
        ("redact", "{} rows name other people too: the person is masked in them."),
        ("keep", "{} rows stay, for the reasons that the case's plan gives."),
    ):
        if fates[fate]:
            warnings.append(sentence.format(fates[fate]))
    return warnings
