"""Consolidation as a job: a model or a long journal takes longer than a request may."""

from __future__ import annotations

from typing import Final

from django.urls import reverse
from django.utils.translation import gettext

from episodic.consolidation import candidates
from episodic.consolidation import run as consolidation
from episodic.consolidation.run import CrewReport
from episodic.models import ConsolidationProposal
from memory import workspace_tree
from memory.jobs import progress, time_box
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.models import ChainHead, JobRun
from memory.rules.permissions import Actor

JOB: Final = "consolidation"
# So many journal entries are read in a request; more by the job.
READ_AT_ONCE: Final = 2_000


def is_long(actor: Actor) -> bool:
    """Whether a run by hand takes a job: it asks a model, or has much to read."""
    if consolidation.chat_model() is not None:
        return True
    return _unread(actor) > READ_AT_ONCE


def _unread(actor: Actor, crew_id: str | None = None) -> int:
    """Return how many entries of a crew, else of all crews, wait to be considered."""
    head = ChainHead.objects.filter(workspace_id=actor.workspace_id).first()
    return sum(
        candidates.unread_count(crew, head.seq if head else 0)
        for crew in workspace_tree.crews(actor)
        if crew_id in (None, crew.id)
    )


def begin(actor: Actor, crew_id: str | None = None) -> JobRun:
    """Ask for a run over a workspace or a crew; Conflict while one runs."""
    actor.require("consolidate.run")
    crew = workspace_tree.crew(actor, crew_id).id if crew_id else ""
    return jobs.run_now(JOB, by=actor, params={"crew_id": crew})


def run(workspace_id: str) -> Outcome:
    """Look for rules, on schedule or for the person who asked."""
    params = progress.params()
    if "crew_id" in params:
        actor = progress.requester(workspace_id, JOB)
        report = _by_hand(actor, params["crew_id"] or None)
    else:
        report = consolidation.on_schedule(workspace_id)
    counts = {
        "entries": sum(crew.considered for crew in report),
        "proposed": sum(len(crew.proposed) for crew in report),
        "pins": sum(crew.pins for crew in report),
    }
    faults = [f"{crew.crew}: {crew.error}" for crew in report if crew.error]
    return Outcome(counts, "; ".join(faults)[:400])


def _by_hand(actor: Actor, crew_id: str | None) -> list[CrewReport]:
    unread = _unread(actor, crew_id)
    progress.report(0, unread, "entries")
    report = consolidation.of_workspace(by=actor, crew_id=crew_id)
    if not any(crew.error for crew in report) and not time_box.is_over():
        # Too few entries of a crew wait for the next run; they are looked at as well.
        progress.report(unread, unread, "entries")
    return report


def lines(workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return the rules that were proposed, by their titles of today."""
    ids = [item["id"] for item in items]
    rows = ConsolidationProposal.objects.filter(workspace_id=workspace_id)
    by_id = rows.in_bulk(ids)
    return [
        ResultLine(
            by_id[proposal_id].pattern[:120],
            gettext(by_id[proposal_id].state),
            reverse("proposals:detail", args=[proposal_id]),
        )
        for proposal_id in ids
        if proposal_id in by_id
    ]
