"""Exporting or erasing a person's data in one call.

Where the workspace requires no second person and no proof of identity, one call opens,
plans and runs a case.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gdpr import audit_log, erasure
from gdpr.cases import dry_run, privacy_settings, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.export import make as export
from gdpr.models import (
    ActionKind,
    AliasKind,
    Case,
    CaseKind,
    CasePlan,
    GdprAction,
    Subject,
)
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class StartedErasure:
    """A started erasure; ``rows`` is place → number of rows to delete.

    One that waits for decisions on doubtful rows has no rows, and a warning.
    """

    case: Case
    action_id: str
    rows: dict[str, int]
    warnings: list[str]


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


def erase(alias: str, reason: str, *, by: Actor) -> StartedErasure:
    """Open a case for a person, plan it and set it running.

    A plan with doubtful rows is not run: the case waits for decisions.
    Conflict ``case_required`` where the workspace requires more steps.
    """
    by.require("gdpr.manage")
    rules = privacy_settings.of(by.workspace_id)
    if rules.two_person or rules.require_identity:
        detail = "This workspace requires more than one step: open a case."
        raise errors.Conflict(detail, code="case_required")
    subject = person(alias, by=by, must_be_named=False)
    new = NewCase(subject_id=subject.id, kind=CaseKind.ERASURE, reason=reason)
    case = cases.open_case(new, by=by)
    plan = dry_run.make(case, by=by)
    if cases.undecided_count(plan):
        case = transitions.case(by, case.id)
        # The run that follows the decisions takes this row over.
        action = _action(case, {audit_log.WAITS: case.run + 1}, by)
        return StartedErasure(case, action.id, {}, _warn(plan))
    phrase = cases.phrase(case, plan.plan_hash)
    running = erasure.start(
        transitions.case(by, case.id), plan.plan_hash, phrase, by=by
    )
    # The runner may have created it already: there is one row per run.
    scope = {"run": running.run, "plan_hash": plan.plan_hash}
    action = _action(case, scope, by)
    return StartedErasure(running, action.id, _rows(plan.rows), _warn(plan))


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
