"""Reading recipients: those of a case, what is open or overdue, what is certified."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from gdpr import pagination
from gdpr.models import (
    OPEN_NOTICES,
    SENT_NOTICES,
    Case,
    CaseState,
    NoticeState,
    Recipient,
)
from gdpr.pagination import Page, PageQuery
from gdpr.recipients import contacts
from memory.rules.permissions import Actor

MAX_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class NoticeCounts:
    """How many recipients there are, by what has to be done about them.

    ``open`` waits for somebody or something, ``unanswered`` was notified and did not
    answer, ``overdue`` of them for longer than the workspace's days.
    """

    total: int = 0
    open: int = 0
    failed: int = 0
    to_notify: int = 0
    unanswered: int = 0
    overdue: int = 0


def answer_due(row: Recipient, days: int) -> datetime | None:
    """Return when an answer is due, None where none is awaited."""
    if row.state not in SENT_NOTICES or row.notified_at is None:
        return None
    return row.notified_at + timedelta(days=days)


def _of_case(actor: Actor, case: Case) -> QuerySet[Recipient]:
    actor.require("gdpr.read", case.workspace_id)
    rows = Recipient.objects.filter(workspace_id=case.workspace_id, case_id=case.pk)
    return rows.select_related("case")


def page(actor: Actor, case: Case, page_query: PageQuery) -> Page[Recipient]:
    """Return a page of the recipients of a case: those with a notice first."""
    rows = _of_case(actor, case)
    is_info = Q(state=NoticeState.INFO)
    return pagination.page_of_lists(
        [(rows.exclude(is_info), "added_at"), (rows.filter(is_info), "added_at")],
        page_query,
        ["recipients", case.pk],
        case.workspace_id,
    )


def open_page(actor: Actor, page_query: PageQuery) -> Page[Recipient]:
    """Return the recipients of complete cases that need something, the oldest first."""
    actor.require("gdpr.read")
    rows = Recipient.objects.filter(
        workspace_id=actor.workspace_id, case__state=CaseState.COMPLETE
    ).select_related("case")
    return pagination.page_of_lists(
        [
            (rows.filter(state__in=OPEN_NOTICES), "added_at"),
            (rows.filter(state__in=SENT_NOTICES), "notified_at"),
        ],
        page_query,
        "open recipients",
        actor.workspace_id,
    )


def case_counts(actor: Actor, case: Case) -> NoticeCounts:
    """Return the counts of a case."""
    return _counts(_of_case(actor, case), case.workspace_id)


def open_counts(actor: Actor) -> NoticeCounts:
    """Return the counts over all complete cases of the workspace."""
    actor.require("gdpr.read")
    rows = Recipient.objects.filter(
        workspace_id=actor.workspace_id, case__state=CaseState.COMPLETE
    )
    return _counts(rows, actor.workspace_id)


def _counts(rows: QuerySet[Recipient], workspace_id: str) -> NoticeCounts:
    limit = timezone.now() - timedelta(days=contacts.answer_days(workspace_id))
    unanswered = Q(state__in=SENT_NOTICES)
    numbers = rows.order_by().aggregate(
        total=Count("pk"),
        open=Count("pk", filter=Q(state__in=OPEN_NOTICES)),
        failed=Count("pk", filter=Q(state=NoticeState.FAILED)),
        to_notify=Count("pk", filter=Q(state=NoticeState.TO_NOTIFY)),
        unanswered=Count("pk", filter=unanswered),
        overdue=Count("pk", filter=unanswered & Q(notified_at__lt=limit)),
    )
    return NoticeCounts(**numbers)


# ── For the certificate ──────────────────────────────────────────────────────
def certified(case: Case) -> dict[str, Any]:
    """Return the recipients as a certificate counts them now; empty without any.

    ``notices`` is state → how many; those listed for information alone are left out.
    ``is_sealed`` says whether identifiers are kept for a remote provider.
    """
    rows = Recipient.objects.filter(workspace_id=case.workspace_id, case_id=case.pk)
    lines = list(
        rows.exclude(state=NoticeState.INFO).values_list(
            "kind", "state", "doubt", "sealed"
        )
    )
    if not lines:
        return {}
    return {
        "listed": len(lines),
        "certain": sum(not line[2] for line in lines),
        "kinds": dict(sorted(Counter(line[0] for line in lines).items())),
        "notices": dict(sorted(Counter(line[1] for line in lines).items())),
        "is_sealed": any(line[3] for line in lines),
    }
