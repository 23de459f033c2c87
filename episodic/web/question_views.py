"""The views of the page Questions: the recall log, and emptying it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from episodic.recall import questions as recall_questions
from episodic.web import question_page
from memory.figures import grouped
from memory.web import pages


@never_cache
@require_GET
def questions(request: HttpRequest) -> HttpResponse:
    """List what agents asked; first what found nothing."""
    page = question_page.build(pages.actor(request), request.GET)
    context = {"page": page}
    return render(request, "episodic/questions.html", context, status=page.status)


@pages.action("episodic:questions")
def empty(request: HttpRequest) -> str:
    """Delete every question of the log, for an admin."""
    count = recall_questions.empty(by=pages.actor(request))
    text = ngettext(
        "The recall log is empty; {count} question was deleted",
        "The recall log is empty; {count} questions were deleted",
        count,
    )
    return text.format(count=grouped(count))
