"""The nightly job that turns reviewers' decisions into proposals for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from memory.files.agreement import FEW_DECISIONS
from memory.jobs import progress
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.journal import append as journal
from memory.models import LearningState, ScannerProposal, Workspace
from memory.review import proposal_search
from memory.review.proposal_search import REPEATS, Candidate
from memory.review.proposals import OF_HELD
from memory.rules import permissions
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.translation import gettext

JOB: Final = "scanner_proposals"


def run(workspace_id: str) -> Outcome:
    """Propose what decisions speak for, and withdraw what they no longer do."""
    actor = permissions.system(workspace_id, JOB)
    ids, withdrawn = store(proposal_search.candidates(actor), by=actor)
    for proposal_id in ids:
        progress.add_item("proposal", proposal_id)
    return Outcome({"proposed": len(ids), "withdrawn": withdrawn})


def store(candidates: Sequence[Candidate], *, by: Actor) -> tuple[list[str], int]:
    """Store today's candidates; return the ids of new proposals, and how many went.

    A declined one comes back only with as many more decisions as a first one needs.
    What was changed since the candidates were read is left for the next night.
    """
    with transaction.atomic():
        # Whoever decides about one waits, or is done.
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        current = proposal_search.still_current(candidates, by)
        rows = ScannerProposal.objects.filter(workspace_id=by.workspace_id)
        stored = {(row.kind, row.subject): row for row in rows}
        new = [
            row.pk
            for candidate in current
            if (row := _stored(stored, candidate, by)) is not None
        ]
        keys = {(candidate.kind, candidate.subject) for candidate in current}
        outdated = [
            row.pk for key, row in stored.items() if row.is_pending and key not in keys
        ]
        rows.filter(pk__in=outdated).delete()
        if new or outdated:
            _record(len(new), len(outdated), by)
    return new, len(outdated)


def _stored(
    stored: dict[tuple[str, str], ScannerProposal], candidate: Candidate, by: Actor
) -> ScannerProposal | None:
    """Store a candidate; return the row when it did not wait before."""
    row = stored.get((candidate.kind, candidate.subject))
    if row is None:
        return ScannerProposal.objects.create(
            workspace_id=by.workspace_id,
            kind=candidate.kind,
            subject=candidate.subject,
            **_fields(candidate),
        )
    if row.state == LearningState.DECLINED and not _has_more(row, candidate):
        return None
    fields, was_pending = _fields(candidate), row.is_pending
    if was_pending and all(getattr(row, name) == fields[name] for name in fields):
        return None
    for name, value in fields.items():
        setattr(row, name, value)
    row.version += 1
    if not was_pending:
        row.state, row.proposed_at = LearningState.PENDING, timezone.now()
        row.decided_by, row.decided_at, row.reason = "", None, ""
    row.save()
    return None if was_pending else row


def _has_more(row: ScannerProposal, candidate: Candidate) -> bool:
    """Whether enough decisions came after one was declined."""
    minimum = REPEATS if row.kind in OF_HELD else FEW_DECISIONS
    return candidate.decisions >= row.decisions + minimum


def _fields(candidate: Candidate) -> dict[str, Any]:
    return {
        "held_id": candidate.held_id,
        "before": candidate.before,
        "after": candidate.after,
        "is_guarded": candidate.is_guarded,
        "decisions": candidate.decisions,
        "evidence": {
            "confirmed": candidate.confirmed,
            "released": candidate.released,
            "cases": list(candidate.cases),
            "effect": candidate.effect.as_dict(),
            "together": candidate.together.as_dict(),
        },
    }


def _record(new: int, outdated: int, by: Actor) -> None:
    entry = NewEntry(
        entry_type="scanner.proposals_found",
        severity=Severity.NOTICE,
        summary=f"Proposals for the scanner: {new} new, {outdated} withdrawn",
        payload={"proposed": new, "withdrawn": outdated},
    )
    journal.write([entry], by=by)


def lines(workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return what was proposed, as it is today."""
    ids = [item["id"] for item in items]
    by_id = ScannerProposal.objects.filter(workspace_id=workspace_id).in_bulk(ids)
    url = reverse("quarantine:learned")
    return [
        ResultLine(
            by_id[pk].kind if by_id[pk].kind in OF_HELD else by_id[pk].subject,
            gettext(by_id[pk].state),
            f"{url}#{pk}",
        )
        for pk in ids
        if pk in by_id
    ]
