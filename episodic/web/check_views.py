"""Views of the recall checks."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop, pgettext
from django.views.decorators.http import require_GET, require_POST

from episodic.recall import checks as recall_checks
from episodic.recall import findings, ranking
from episodic.recall.checks import Line
from episodic.web.recall_form import RecallForm
from memory.rules import errors
from memory.rules.stored_sentences import translated
from memory.rules.translation import pgettext_noop
from memory.web import pages

OUTCOMES: Final = {
    "holds": gettext_noop("It holds."),
    "broken": gettext_noop("It is broken."),
    "refused": gettext_noop("It could not be judged."),
}
RESULTS: Final = {
    "broken": pgettext_noop("check", "broken"),
    "refused": pgettext_noop("check", "refused"),
}
# Why a question could not be asked; those without values need no line here.
REFUSALS: Final = (errors.TooLarge.sentence, errors.Forbidden.sentence)


@require_GET
def checks(request: HttpRequest) -> HttpResponse:
    """List the workspace's checks, broken ones first."""
    lines = recall_checks.list_checks(pages.actor(request))
    broken = sum(line.check.result == "broken" for line in lines)
    context = {
        "lines": lines,
        "rows": [(line, _note(line), _missing(line)) for line in lines],
        "broken": broken,
        "rerun": recall_checks.RERUN,
    }
    return render(request, "episodic/checks.html", context)


def _note(line: Line) -> str:
    """Return why the last run judged nothing, in the reader's language."""
    stored = line.last.note if line.last else ""
    return translated(ranking.degraded_text(stored), REFUSALS)


def _missing(line: Line) -> list[tuple[str, str]]:
    """Return the entries that the last run missed, each with its finding."""
    rows = line.last.missing if line.last else []
    return [(row["entry_id"], findings.in_words(row["finding"])) for row in rows]


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the question and the entries that were ticked."""
    actor = pages.actor(request)
    actor.require("index.run")
    form = RecallForm(request.POST, by=actor)
    question = form.request()
    if question is None:
        text = gettext("The question is invalid; nothing was saved")
        messages.error(request, text)
        return redirect(pages.address("episodic:recall", query=form.address()))
    expected = request.POST.getlist("expected")
    expected += request.POST.get("more", "").replace(",", " ").split()
    try:
        check = recall_checks.save(
            request.POST.get("name", ""), question, expected, by=actor
        )
    except (errors.Invalid, errors.Conflict) as error:
        text = gettext("{error} Nothing was saved.").format(error=error.detail)
        messages.error(request, text)
        return redirect(pages.address("episodic:recall", query=form.address()))
    run = recall_checks.run(check, by=actor)
    text = gettext("Saved the check “{name}”. {outcome}").format(
        name=check.name, outcome=gettext(OUTCOMES[run.result])
    )
    messages.success(request, text)
    return redirect("episodic:checks")


@pages.action("episodic:checks")
def run(request: HttpRequest, check_id: str) -> str | tuple[int, str]:
    """Run one check now, for an operator."""
    actor = pages.actor(request)
    check = recall_checks.get(actor, check_id)
    outcome = recall_checks.run(check, by=actor)
    if outcome.result == "holds":
        return gettext("{name} holds").format(name=check.name)
    word = pgettext("check", RESULTS[outcome.result])
    return messages.WARNING, f"{check.name}: {word}"


@pages.action("episodic:checks")
def rerun(request: HttpRequest) -> str | tuple[int, str]:
    """Run the checks that waited longest now, for an operator."""
    runs = recall_checks.rerun(by=pages.actor(request))
    count = sum(run.result == "holds" for run in runs)
    text = gettext("{count} of {all} hold").format(count=count, all=len(runs))
    return text if count == len(runs) else (messages.WARNING, text)


@pages.action("episodic:checks", page_statuses=pages.MENDABLE)
def rename(request: HttpRequest, check_id: str) -> str:
    """Give a check another name, for an operator."""
    actor = pages.actor(request)
    check = recall_checks.get(actor, check_id)
    recall_checks.rename(check, request.POST.get("name", ""), by=actor)
    return gettext("Renamed the check to {name}").format(name=check.name)


@pages.action("episodic:checks")
def drop(request: HttpRequest, check_id: str) -> str:
    """Delete a check, for an operator."""
    actor = pages.actor(request)
    check = recall_checks.get(actor, check_id)
    recall_checks.drop(check, by=actor)
    return gettext("Deleted the check {name}").format(name=check.name)
