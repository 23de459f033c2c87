"""Deciding on rows of a case's plan, from its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from gdpr.cases import row_decisions
from gdpr.cases.row_decisions import Decision
from gdpr.models import Verdict
from gdpr.web.case_views import act_on


def _typed(request: HttpRequest, name: str) -> str:
    return request.POST.get(name, "")


@require_POST
def decide(request: HttpRequest, case_id: str) -> HttpResponse:
    """Decide on the rows that were chosen; a new dry run follows."""
    pressed = _typed(request, "decide")
    spares = pressed.startswith("spare")
    rows = [tuple(one.split(" ", 1)) for one in request.POST.getlist("row")]
    told = Decision(
        verdict=Verdict.SPARED if spares else Verdict.THEIRS,
        rows=[(row[0], row[-1]) for row in rows],
        all_doubtful=pressed.endswith("all"),
        ground=_typed(request, "ground") if spares else "",
        reason=_typed(request, "reason") if spares else "",
    )
    digest_of = _typed(request, "of_plan")
    return act_on(
        request,
        case_id,
        lambda case, by: row_decisions.decide(case, digest_of, told, by=by),
        "Decided. The dry run was made again; nothing was touched.",
    )
