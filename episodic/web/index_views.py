"""Views of the index page and of embedding now."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from episodic.health import overview
from episodic.index import status
from episodic.index.sweep import Report
from episodic.models import Embedding
from memory.web import pages


@dataclass(frozen=True, slots=True)
class IndexPage:
    """How complete the index is, whether the embedder answers, and what waits."""

    card: overview.Card
    pending_entries: list[Embedding]

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
    page = IndexPage(overview.card(actor), status.pending_entries(actor))
    return render(request, "episodic/index.html", {"page": page})


def _outcome(report: Report) -> str | tuple[int, str]:
    if report.failed:
        counts = f"{report.indexed} indexed, {report.failed} failed"
        return messages.WARNING, f"{counts}; the reason is shown beside each entry"
    if report.indexed:
        count = "1 entry" if report.indexed == 1 else f"{report.indexed:,} entries"
        return f"Indexed {count}"
    return messages.INFO, "Nothing was indexed: no entry is waiting"


@pages.action("episodic:index")
def index_run(request: HttpRequest) -> str | tuple[int, str]:
    """Embed now what waits, for an operator."""
    actor = pages.actor(request)
    return _outcome(status.run(actor.workspace_id, by=actor))


@pages.action(lambda entry_id: reverse("memory:entry", args=[entry_id]))
def index_entry(request: HttpRequest, entry_id: str) -> str | tuple[int, str]:
    """Embed one entry now, for an operator, and go back to it."""
    actor = pages.actor(request)
    return _outcome(status.run(actor.workspace_id, by=actor, entry_ids=[entry_id]))
