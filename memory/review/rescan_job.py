"""Scanning every stored file again as a job, with what it held."""

from __future__ import annotations

from typing import Final

from django.urls import reverse

from memory.jobs import progress, time_box
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.models import HeldFile, HeldState, JobRun, MemoryFile
from memory.review import rescan
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop

JOB: Final = "rescan"


def begin(actor: Actor) -> JobRun:
    """Ask for a run over every stored file; Conflict while one runs."""
    actor.require("quarantine.decide")
    return jobs.run_now(JOB, by=actor)


def is_long(actor: Actor) -> bool:
    """Whether there are more files than a request should scan."""
    rows = MemoryFile.objects.filter(workspace_id=actor.workspace_id)
    return rows.exclude(sha256="").count() > rescan.BATCH


def run(workspace_id: str) -> Outcome:
    """Scan every stored file with the current rules and hold what fails."""
    actor = progress.requester(workspace_id, JOB)
    counts = {"scanned": 0, "held": 0, "unreadable": 0}
    after = progress.position()
    while True:
        part = rescan.rescan(actor, after=after)
        counts["scanned"] += part.seen
        counts["held"] += len(part.held)
        counts["unreadable"] += len(part.failed)
        for held in part.held:
            progress.add_item("held", held.id)
        for file_id in part.failed_ids:
            progress.add_item("file", file_id)
        progress.report(part.done, part.total, "files")
        if part.after is None:
            break
        after = part.after
        if time_box.is_over():
            progress.keep_position(after)
            break
    # Stored as it is; the page of the job translates it.
    fault = gettext_noop("Some files could not be read; each is listed")
    return Outcome(counts, fault if counts["unreadable"] else "")


def lines(workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return what was held, and what could not be read, by today's names."""
    ids = [item["id"] for item in items]
    # Without the bodies: the page asks every second while the job runs.
    cases = HeldFile.objects.filter(workspace_id=workspace_id)
    held = cases.only("label", "state").in_bulk(ids)
    stored = MemoryFile.objects.filter(workspace_id=workspace_id)
    files = stored.only("label").in_bulk(ids)
    rows = []
    for item_id in ids:
        if item_id in held:
            url = reverse("quarantine:case", args=[item_id])
            is_open = held[item_id].state == HeldState.HELD
            why = (
                gettext("held for review")
                if is_open
                else gettext("held, and decided since")
            )
            rows.append(ResultLine(held[item_id].label, why, url))
        elif item_id in files:
            rows.append(ResultLine(files[item_id].label, gettext("could not be read")))
    return rows
