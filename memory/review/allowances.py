"""Allowed texts and passages, and what each permission rests on.

A reviewer allows a text by releasing it so, an admin by approving what was proposed.
Whoever takes one of these back leaves what the others allowed.
"""

from __future__ import annotations

from typing import Final

from django.db.models import QuerySet

from memory import scanner
from memory.models import (
    Clearance,
    Cleared,
    HeldFile,
    LearningState,
    ScannerProposal,
)
from memory.review import preview

# The decision by which a reviewer allows a text.
ALLOWING: Final = "release_and_allow"


def allow(case: HeldFile, *, by: str) -> None:
    """From now on exactly this case's text passes, whatever its findings.

    Of the texts of one fingerprint that have unseen characters only the one that was
    allowed last passes.
    """
    text, reasons = preview.text_of(case), {"held": case, "cleared_by": by}
    Clearance.objects.update_or_create(
        workspace_id=case.workspace_id,
        kind=Cleared.TEXT,
        fingerprint=scanner.fingerprint(text),
        defaults={"allows_all": True, **(reasons if scanner.has_unseen(text) else {})},
        create_defaults=reasons,
    )


def without_case(case: HeldFile) -> None:
    """Set what a case allowed to what others allowed; the case is being undone."""
    names = set(case.clearances.values_list("kind", "fingerprint"))
    if case.decision == ALLOWING:
        names.add((Cleared.TEXT, scanner.fingerprint(preview.text_of(case))))
    for kind, fingerprint in names:
        renew(case.workspace_id, kind, fingerprint, without=case)


def renew(
    workspace_id: str, kind: str, fingerprint: str, without: HeldFile | None = None
) -> None:
    """Set a permission to what still speaks for it; without anything it is deleted."""
    rows = Clearance.objects.filter(
        workspace_id=workspace_id, kind=kind, fingerprint=fingerprint
    )
    cases = HeldFile.objects.filter(
        workspace_id=workspace_id, decision=ALLOWING, fingerprint=fingerprint
    )
    if without is not None:
        cases = cases.exclude(pk=without.pk)
    case = _allowing_case(cases) if kind == Cleared.TEXT else None
    proposals = ScannerProposal.objects.filter(
        workspace_id=workspace_id, kind=kind, subject=fingerprint
    )
    approved = proposals.filter(state=LearningState.APPROVED).first()
    if case is not None:
        rows.update(held=case, allows_all=True, cleared_by=case.decided_by)
    elif approved is not None:
        rows.update(
            held=approved.held_id,
            allows_all=approved.is_guarded,
            cleared_by=approved.decided_by,
        )
    else:
        rows.delete()


def _allowing_case(cases: QuerySet[HeldFile]) -> HeldFile | None:
    """Return the case that a permission names, as ``allow`` chose it."""
    rows = list(cases.order_by("decided_at", "pk"))
    unseen = (row for row in reversed(rows) if scanner.has_unseen(preview.text_of(row)))
    return next(unseen, next(iter(rows), None))
