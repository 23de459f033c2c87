"""The headline of a case's page: the state of the case in words."""

from __future__ import annotations

from django.utils.translation import gettext, ngettext, pgettext

from gdpr.cases.queries import CaseDetail
from gdpr.models import Case, CaseKind, CaseState
from gdpr.web import case_words, progress_line
from memory.figures import grouped


def of(detail: CaseDetail) -> str:
    """Return the headline of a case."""
    case, kind = detail.case, CaseKind(detail.case.kind)
    total = detail.plan.body.get("total", {}) if detail.plan else {}
    is_excepted = case.result.get("verdict") == "complete_except"
    ends = {
        CaseKind.ERASURE: gettext("complete, except …")
        if is_excepted
        else gettext("complete for the registered identifiers"),
        CaseKind.RECTIFICATION: gettext("the correction is made everywhere"),
        CaseKind.ACCESS: gettext("the bundle is ready"),
        CaseKind.RESTRICTION: gettext("the data is out of use"),
        CaseKind.PORTABILITY: gettext("the file is ready"),
        CaseKind.OBJECTION: gettext("the data is out of use"),
    }
    status = {
        "identity": gettext("make sure who asks"),
        "plan": gettext("a dry run comes next"),
        "approve": gettext("a second person has to approve the plan"),
        "execute": gettext("{rows} found, nothing touched yet").format(
            rows=case_words.rows(total.get("rows", 0))
        ),
        "running": gettext("run {number} is under way").format(number=case.run),
        "on_hold": gettext("on hold, nothing is touched"),
        "complete": ends[kind],
        "refused": pgettext("case", "refused"),
    }[progress_line.todo(detail)]
    if (waiting := words_waiting(detail)) is not None:
        status = waiting
    if case.state == CaseState.VERIFYING:
        status = gettext("searching for what is left")
    if case.state == CaseState.PARTIAL:
        status = _what_is_left(case)
    return f"{kind.label}: {status}"


def words_waiting(detail: CaseDetail) -> str | None:
    """Return what a run waits for where its bundle waits for a decision."""
    counts = [step.counts.get("words", 0) for step in detail.steps]
    if detail.case.state != CaseState.RUNNING or not any(counts):
        return None
    return ngettext(
        "waits for your decision on {count} word",
        "waits for your decision on {count} words",
        max(counts),
    ).format(count=grouped(max(counts)))


def _what_is_left(case: Case) -> str:
    count: int = case.result.get("residue", {}).get("found", 0)
    if not count:
        return gettext("run {number} came to an end early").format(number=case.run)
    return ngettext(
        "{count} trace is left after run {number}",
        "{count} traces are left after run {number}",
        count,
    ).format(count=grouped(count), number=case.run)
