"""The register of requests for an authority: every case of a period, without names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from gdpr import pagination
from gdpr.cases import privacy_settings, queries
from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.models import Case, CaseState, Certificate
from gdpr.pagination import Page, PageQuery
from gdpr.reports import masking, periods
from gdpr.reports.periods import Period
from memory.journal import append as journal
from memory.rules import csv_lines
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A case: days are dates of the workspace's calendar, reasons without names.

    ``days`` are the calendar days from receipt to the answer. ``result`` is complete,
    refused, or the state of a case that is open.
    """

    case_id: str
    kind: str
    received: date
    due: date
    extended_until: date | None
    extension_reason: str
    answered: date | None
    days: int | None
    in_time: bool | None
    result: str
    refusal_ground: str
    certificate_id: str

    def as_json(self) -> dict[str, Any]:
        """Return the line with dates as text, empty texts as null."""
        values = asdict(self)
        for name, value in values.items():
            if isinstance(value, date):
                values[name] = value.isoformat()
            elif value == "":
                values[name] = None
        return values


COLUMNS: Final = tuple(Line.__dataclass_fields__)


def touched(workspace_id: str, period: Period) -> QuerySet[Case]:
    """Return the cases that were open at some time of a period, by their receipt."""
    rows = Case.objects.filter(
        Q(closed_at=None) | Q(closed_at__gte=period.start),
        workspace_id=workspace_id,
        received_at__lt=period.end,
    )
    return rows.order_by("received_at", "pk")


def period_of(
    actor: Actor, first: date | None, last: date | None
) -> tuple[Period, PrivacySettings]:
    """Return the period of a report, by default this year until today."""
    actor.require("gdpr.read")
    rules = privacy_settings.of(actor.workspace_id)
    zone = privacy_settings.zone(rules)
    today = timezone.now().astimezone(zone).date()
    until = last or today
    return periods.period(first or date(until.year, 1, 1), until, zone), rules


def page(
    actor: Actor, period: Period, *, limit: int = 200, cursor: str | None = None
) -> Page[Case]:
    """Return a page of the register's cases, by their receipt."""
    actor.require("gdpr.read")
    return pagination.page_of_lists(
        [(touched(actor.workspace_id, period), "received_at")],
        PageQuery(limit=limit, cursor=cursor),
        ["register", period.first.isoformat(), period.last.isoformat()],
        actor.workspace_id,
    )


def lines(actor: Actor, cases: list[Case]) -> list[Line]:
    """Return the lines of cases, in their order."""
    actor.require("gdpr.read")
    rules = privacy_settings.of(actor.workspace_id)
    zone = privacy_settings.zone(rules)
    masked = masking.words(actor.workspace_id)
    ids = _certificates(actor.workspace_id, cases)

    def day(moment: Any) -> date:
        return moment.astimezone(zone).date()  # type: ignore[no-any-return]

    return [
        Line(
            case_id=case.pk,
            kind=case.kind,
            received=day(case.received_at),
            due=day(case.due_at),
            extended_until=day(case.extended_until) if case.extended_until else None,
            extension_reason=masked(case.extension_reason),
            answered=day(case.closed_at) if case.closed_at else None,
            days=days_taken(case, rules),
            in_time=in_time(case, rules),
            result=case.state,
            refusal_ground=masked(case.refusal_reason)
            if case.state == CaseState.REFUSED
            else "",
            certificate_id=ids.get(case.pk, ""),
        )
        for case in cases
    ]


def days_taken(case: Case, rules: PrivacySettings) -> int | None:
    """Return the calendar days from receipt to the answer, None before it."""
    if case.closed_at is None:
        return None
    zone = privacy_settings.zone(rules)
    received = case.received_at.astimezone(zone).date()
    return (case.closed_at.astimezone(zone).date() - received).days


def in_time(case: Case, rules: PrivacySettings) -> bool | None:
    """Whether a case was answered by the end of its due day, None before it was."""
    if case.closed_at is None:
        return None
    return queries.deadline(case, rules).days_left >= 0


def _certificates(workspace_id: str, cases: list[Case]) -> dict[str, str]:
    """Return case id → id of its newest certificate."""
    rows = Certificate.objects.filter(workspace_id=workspace_id, case__in=cases)
    return dict(rows.order_by("issued_at", "pk").values_list("case_id", "pk"))


# ── As a file ────────────────────────────────────────────────────────────────
def csv(actor: Actor, period: Period) -> Iterator[str]:
    """Return the whole register as CSV; the journal records that it was taken."""
    actor.require("gdpr.read")
    rows = touched(actor.workspace_id, period)
    payload = {
        "since": period.first.isoformat(),
        "until": period.last.isoformat(),
        "cases": rows.count(),
    }
    _record(actor, "gdpr.register_exported", "Register of requests exported", payload)
    return csv_lines.lines(COLUMNS, _cells(actor, rows))


def _cells(actor: Actor, rows: QuerySet[Case]) -> Iterator[list[Any]]:
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), BATCH):
        batch = Case.objects.filter(workspace_id=actor.workspace_id).in_bulk(
            ids[start : start + BATCH]
        )
        ordered_cases = [batch[pk] for pk in ids[start : start + BATCH] if pk in batch]
        for line in lines(actor, ordered_cases):
            yield list(line.as_json().values())


def _record(
    actor: Actor, entry_type: str, summary: str, payload: dict[str, Any]
) -> None:
    journal.write(
        [NewEntry(entry_type=entry_type, summary=summary, payload=payload)], by=actor
    )
