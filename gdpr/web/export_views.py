"""The page of a bundle that waits for a decision on words of other people."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from gdpr.export import make as export
from gdpr.export import review
from gdpr.export.review import Decision
from gdpr.models import Export, ExportState
from memory.figures import grouped
from memory.rules import errors
from memory.web import pages

PAGE: Final = 100
KINDS: Final = {
    "name": gettext_noop("Names"),
    "address": gettext_noop("Addresses"),
    "phone": gettext_noop("Telephone numbers"),
    "email": gettext_noop("E-mail addresses"),
    "number": gettext_noop("Bank, card and identity numbers"),
    "handle": gettext_noop("Handles"),
}
KIND: Final = {
    "name": gettext_noop("name"),
    "address": gettext_noop("address"),
    "phone": gettext_noop("telephone number"),
    "email": gettext_noop("e-mail address"),
    "number": gettext_noop("number"),
    "handle": gettext_noop("handle"),
}


@never_cache
@require_http_methods(pages.METHODS)
def words(request: HttpRequest, export_id: str) -> HttpResponse:
    """Show the words that wait, and decide on them."""
    actor = pages.actor(request)
    row = export.get(export_id, by=actor)
    actor.require("gdpr.manage")
    refusal: errors.AppError | None = None
    if request.method == "POST":
        try:
            live = review.decide(row, _decision(request), by=actor)
        except errors.AppError as error:
            pages.reraise_unless_mendable(error)
            refusal = error
        else:
            messages.success(request, _outcome(live))
            return redirect(_next(live, request))
    try:
        context = _context(request, row)
    except review.NotWaiting as error:
        messages.error(request, (refusal or error).detail)
        return redirect(_home(row))
    context["refusal"] = refusal
    status = refusal.status if refusal else 200
    return render(request, "gdpr/export_words.html", context, status=status)


def _decision(request: HttpRequest) -> Decision:
    data = request.POST
    verdict, _, reach = data.get("decide", "").partition("-")
    numbers = [pages.number(text) for text in data.getlist("word")]
    return Decision(
        verdict=verdict,
        words=[number for number in numbers if number is not None],
        kinds=data.getlist("kind"),
        all_doubtful=reach == "all",
        remember=bool(data.get("remember")),
        reason=data.get("reason", ""),
    )


def _outcome(live: Export) -> str:
    if live.state != ExportState.REVIEW:
        return gettext("All words are decided on; the bundle is being made now")
    count = review.waiting(live)
    return ngettext(
        "Decided; {count} word still waits", "Decided; {count} words still wait", count
    ).format(count=grouped(count))


def _next(live: Export, request: HttpRequest) -> str:
    if live.state != ExportState.REVIEW:
        return _home(live)
    sure = "1" if request.GET.get("sure") else ""
    return pages.address("privacy:words", live.pk, sure=sure)


def _home(row: Export) -> str:
    if row.case_id:
        return pages.address("privacy:case", row.case_id)
    return pages.address("privacy:exports")


def _context(request: HttpRequest, row: Export) -> dict[str, Any]:
    is_sure = bool(request.GET.get("sure"))
    offset = pages.number(request.GET.get("offset", "")) or 0
    actor = pages.actor(request)
    page = review.words(row, by=actor, sure=is_sure, offset=offset, limit=PAGE)
    sure, doubtful = review.totals(row)
    return {
        "row": row,
        "page": page,
        "lines": [(view, gettext(KIND[view.row.kind])) for view in page.items],
        "kinds": [
            (kind, gettext(KINDS[kind]), count)
            for kind, count in review.kinds_waiting(row).items()
        ],
        "waiting": review.waiting(row),
        "sure": sure,
        "doubtful": doubtful,
        "is_sure": is_sure,
        "offset": offset,
        "typed": request.POST,
    }
