"""Views of the index page and of embedding now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_POST

from episodic.embedders.base import failure_text
from episodic.health import index_job, overview
from episodic.health.gains import INDEXED_AT_ONCE
from episodic.index import status
from episodic.index.sweep import Report
from episodic.models import Embedding
from memory.figures import grouped
from memory.jobs import work
from memory.jobs.work import Work
from memory.rules import errors
from memory.web import pages

# How long a job that ended stays on the page.
RECENT: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class IndexPage:
    """How complete the index is, whether the embedder answers, and what waits.

    ``work`` is the job that indexes now or did a moment ago.
    """

    card: overview.Card
    pending_entries: list[Embedding]
    work: Work | None

    @property
    def waiting(self) -> list[tuple[Embedding, str]]:
        """The listed entries, each with the error of its last try, "" for none."""
        return [(row, failure_text(row.last_error)) for row in self.pending_entries]

    @property
    def rest(self) -> int:
        """How many wait beyond the ones listed."""
        status = self.card.status
        return max(0, status.pending + status.failed - len(self.pending_entries))

    @property
    def can_embed(self) -> bool:
        """Whether there is an embedder that an index run could ask."""
        return self.card.embedder.name != overview.NONE


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show how complete the index is, and what failed."""
    actor = pages.actor(request)
    page = IndexPage(
        overview.card(actor),
        status.pending_entries(actor),
        work.latest(actor, index_job.JOB, within=RECENT),
    )
    return render(request, "episodic/index.html", {"page": page})


def _outcome(report: Report) -> str | tuple[int, str]:
    if report.failed:
        text = gettext(
            "{indexed} indexed, {failed} failed; the reason is shown beside each entry"
        )
        return messages.WARNING, text.format(
            indexed=report.indexed, failed=report.failed
        )
    if report.indexed:
        text = ngettext(
            "Indexed {count} entry", "Indexed {count} entries", report.indexed
        )
        return text.format(count=grouped(report.indexed))
    return messages.INFO, gettext("Nothing was indexed: no entry is waiting")


@require_POST
def index_run(request: HttpRequest) -> HttpResponse:
    """Embed now what waits, for an operator; a long backlog as a job."""
    actor = pages.actor(request)
    actor.require("index.run")
    try:
        if index_job.is_long(actor):
            run = index_job.begin(actor)
            return redirect("jobs:work", run.name, run.pk)
    except errors.Conflict as error:
        messages.info(request, error.detail)
        return redirect("episodic:index")
    outcome = _outcome(status.run(actor.workspace_id, by=actor, limit=INDEXED_AT_ONCE))
    level, text = (messages.SUCCESS, outcome) if isinstance(outcome, str) else outcome
    messages.add_message(request, level, text)
    return redirect("episodic:index")


@pages.action(lambda entry_id: reverse("memory:entry", args=[entry_id]))
def index_entry(request: HttpRequest, entry_id: str) -> str | tuple[int, str]:
    """Embed one entry now, for an operator, and go back to it."""
    actor = pages.actor(request)
    return _outcome(status.run(actor.workspace_id, by=actor, entry_ids=[entry_id]))
