"""The open requests of one person beside each other, and what to look at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db.models.functions import Coalesce
from django.utils.translation import gettext, gettext_noop

from gdpr.cases import privacy_settings, queries
from gdpr.cases.queries import Deadline
from gdpr.models import OPEN, Case, CaseKind
from memory.journal import append as journal
from memory.rules.permissions import Actor

LIMIT: Final = 100


class Warns(StrEnum):
    """Why another open request matters to one."""

    SAME_KIND = "same_kind"
    ACCESS_FIRST = "access_first"


SENTENCES: Final = {
    Warns.SAME_KIND: gettext_noop(
        "The person has an open request of this kind already: {id}"
    ),
    Warns.ACCESS_FIRST: gettext_noop(
        "The person also asked for access ({id}): answer that first, for the"
        " erasure leaves nothing to show."
    ),
}


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """An open case of a person, with its deadline."""

    case: Case
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class RequestWarning:
    """Another open request to look at first."""

    code: Warns
    case: Case

    def sentence(self) -> str:
        """Return the warning in the reader's language."""
        return gettext(SENTENCES[self.code]).format(id=self.case.pk)


def of_person(
    actor: Actor, subject_ref: str, *, besides: str = ""
) -> list[OpenRequest]:
    """Return a person's open cases, the earliest deadline first, but one."""
    actor.require("gdpr.read")
    rows = Case.objects.filter(
        workspace_id=actor.workspace_id, subject_ref=subject_ref, state__in=OPEN
    ).exclude(pk=besides)
    rules = privacy_settings.of(actor.workspace_id)
    ordered = rows.order_by(Coalesce("extended_until", "due_at"), "pk")
    return [
        OpenRequest(case, queries.deadline(case, rules)) for case in ordered[:LIMIT]
    ]


def warnings(case: Case, others: Sequence[OpenRequest]) -> Iterator[RequestWarning]:
    """Yield what to look at first, because other requests of the person are open."""
    if case.state not in OPEN:
        return
    for other in others:
        if other.case.kind == case.kind:
            yield RequestWarning(Warns.SAME_KIND, other.case)
        elif (case.kind, other.case.kind) == (CaseKind.ERASURE, CaseKind.ACCESS):
            yield RequestWarning(Warns.ACCESS_FIRST, other.case)


# ── As JSON ──────────────────────────────────────────────────────────────────
def as_json(requests: Sequence[OpenRequest]) -> list[dict[str, Any]]:
    return [
        {
            "id": request.case.pk,
            "kind": request.case.kind,
            "state": request.case.state,
            "due_at": journal.stamp(request.deadline.due_at),
            "days_left": request.deadline.days_left,
            "due": request.deadline.words,
            "urgency": request.deadline.urgency,
        }
        for request in requests
    ]


def beside_json(actor: Actor, case: Case) -> dict[str, Any]:
    """Return the person's other open cases, and what to look at first."""
    others = of_person(actor, case.subject_ref, besides=case.pk)
    return {
        "other_open_cases": as_json(others),
        "warnings": [
            {"code": str(row.code), "case_id": row.case.pk, "detail": row.sentence()}
            for row in warnings(case, others)
        ],
    }
