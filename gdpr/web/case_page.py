"""What a case's page shows: its state, the next step, the plan and its result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, pgettext

from gdpr.cases import (
    deadlines,
    dry_run,
    legal_holds,
    open_requests,
    privacy_settings,
    queries,
    reminder_email,
    second_person,
)
from gdpr.cases.open_requests import OpenRequest
from gdpr.cases.queries import CaseDetail
from gdpr.certificates import issue as certificates
from gdpr.export import gaps
from gdpr.export import make as export
from gdpr.export.gaps import Gaps
from gdpr.models import (
    Case,
    CaseEvent,
    CaseKind,
    CaseStep,
    Certificate,
    Export,
    ExportState,
    Ground,
    Hold,
    IdentityGround,
    StepState,
)
from gdpr.subjects import suggested_aliases
from gdpr.web import (
    case_headline,
    case_words,
    doubt_groups,
    progress_line,
    recipient_lines,
)
from memory.figures import decimal
from memory.jobs.work import Work
from memory.rules import errors
from memory.rules.permissions import Actor

STEP_BANDS: Final = {
    StepState.DONE: "green",
    StepState.RUNNING: "idle",
    StepState.DEFERRED: "yellow",
    StepState.FAILED: "red",
}
BUTTONS: Final = {
    CaseKind.ERASURE: gettext_noop("Erase"),
    CaseKind.ACCESS: gettext_noop("Make the bundle"),
    CaseKind.RECTIFICATION: gettext_noop("Rectify"),
    CaseKind.RESTRICTION: gettext_noop("Restrict"),
    CaseKind.PORTABILITY: gettext_noop("Make the file"),
    CaseKind.OBJECTION: gettext_noop("Stop using the data"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the plan; ``after`` is colour and text of the search after the run."""

    line: dict[str, Any]
    after: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Extension:
    """One way to extend the deadline."""

    months: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """Everything on the page of a case."""

    detail: CaseDetail
    finding: str
    steps: list[progress_line.ProgressStep]
    todo: str
    places: list[Place]
    residue: dict[str, Any]
    holds: list[Hold]
    people: list[str]
    extensions: list[Extension]
    certificate: Certificate | None = None
    exports: list[Export] = field(default_factory=list)
    # What the letter of an access bundle would lack; None for other requests.
    gaps: Gaps | None = None
    is_mine: bool = False
    is_approver: bool = False
    undecided: int = 0
    common: int = 0
    doubts: dict[str, Any] = field(default_factory=dict)
    recipients: recipient_lines.CasePanel | None = None
    others: list[OpenRequest] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """What to look at first, each with a link to the other request."""
        return [
            case_words.linked(row)
            for row in open_requests.warnings(self.case, self.others)
        ]

    @property
    def can_decide(self) -> bool:
        """Whether rows of the plan may be decided on now."""
        return bool(self.detail.plan) and "plan" in self.detail.verbs

    @property
    def doubt_groups(self) -> list[doubt_groups.Group]:
        """The undecided rows by form of the name and by place."""
        return doubt_groups.of(self.doubts) if self.can_decide else []

    @property
    def grounds(self) -> list[tuple[str, str]]:
        """Why a row stays, to choose from."""
        return [(str(value), str(label)) for value, label in Ground.choices]

    @property
    def identity_grounds(self) -> list[tuple[str, str]]:
        """Why an erasure may go on without an identity check, to choose from."""
        return [(str(value), str(label)) for value, label in IdentityGround.choices]

    @property
    def may_skip_identity(self) -> bool:
        """Whether it may go on without an identity check."""
        is_erasure = self.case.kind == CaseKind.ERASURE
        return is_erasure and self.case.identity_at is None

    @property
    def needs_identity_ground(self) -> bool:
        """Whether a run needs a ground for leaving out the identity check."""
        return self.may_skip_identity and not self.case.identity_skipped_ground

    @property
    def case(self) -> Case:
        return self.detail.case

    @property
    def is_live(self) -> bool:
        """Whether a run is under way, so that the page refreshes itself."""
        return self.case.state in progress_line.UNDER_WAY

    @property
    def is_closed(self) -> bool:
        return self.case.closed_at is not None

    @property
    def name(self) -> str:
        """The person's name; empty after an erasure."""
        subject = self.case.subject
        return subject.display_name if subject else ""

    @property
    def button(self) -> str:
        """The label of the button that starts a run."""
        return gettext(BUTTONS[CaseKind(self.case.kind)])

    @property
    def total(self) -> dict[str, Any]:
        return self.detail.plan.body.get("total", {}) if self.detail.plan else {}

    @property
    def steps_done(self) -> int:
        """How many steps of the run are done."""
        return sum(step.state == StepState.DONE for step in self.detail.steps)

    @property
    def work(self) -> Work:
        """The run as long work. Its steps are uneven: the rest cannot be known."""
        steps = self.detail.steps
        starts = [step.started_at for step in steps if step.started_at]
        ends = [step.finished_at for step in steps if step.finished_at]
        states = {step.state for step in steps}
        word, colour = gettext("Not finished"), "yellow"
        if self.is_live and starts:
            word, colour = pgettext("step", "Running"), "idle"
        elif self.is_live:
            word, colour = pgettext("step", "Waiting"), ""
        elif states <= {StepState.DONE}:
            word, colour = pgettext("step", "Done"), "green"
        elif StepState.FAILED in states:
            word, colour = pgettext("step", "Failed"), "red"
        return Work(
            title=gettext("Run {number}").format(number=self.case.run),
            url=reverse("privacy:case", args=[self.case.id]),
            colour=colour,
            word=word,
            is_live=self.is_live,
            done=self.steps_done,
            total=len(steps) or None,
            unit=gettext_noop("steps"),
            started_at=min(starts, default=None),
            ended_at=None if self.is_live else max(ends, default=None),
            is_even=False,
        )

    @property
    def events(self) -> list[tuple[CaseEvent, str]]:
        """The timeline, each with its words in the reader's language."""
        return [(row, case_words.event(row)) for row in self.detail.events]

    @property
    def run_lines(self) -> list[tuple[CaseStep, str]]:
        """The steps of the run to show, each with its colour.

        Steps that found nothing are left out, and all waiting steps but the next.
        """
        waiting_steps = [
            step for step in self.detail.steps if step.state == StepState.WAITING
        ]
        return [
            (step, STEP_BANDS.get(StepState(step.state), ""))
            for step in self.detail.steps
            if _has_news(step) or step in waiting_steps[:1]
        ]

    @property
    def has_samples(self) -> bool:
        """Whether the plan still holds samples of the data."""
        return queries.has_samples(self.detail.plan)

    @property
    def has_bundle(self) -> bool:
        """Whether the request is answered with a bundle to download."""
        return self.case.kind in (CaseKind.ACCESS, CaseKind.PORTABILITY)

    @property
    def waiting_bundle(self) -> Export | None:
        """The bundle that waits for a decision on words, while the run waits for it."""
        rows = [row for row in self.exports if row.state == ExportState.REVIEW]
        return rows[0] if self.is_live and rows else None

    @property
    def changes_data(self) -> bool:
        """Whether a run changes what is stored, so that a plan can delete."""
        return self.case.kind in progress_line.VERIFIED_KINDS


def _has_news(step: CaseStep) -> bool:
    if step.state == StepState.DONE:
        return bool(step.total or any(step.counts.values()))
    return step.state != StepState.WAITING


# ── What was found ───────────────────────────────────────────────────────────
def places(detail: CaseDetail) -> list[Place]:
    """Return the lines of the plan, each with what the search after the run found."""
    if detail.plan is None:
        return []
    residue = detail.case.result.get("residue")
    traces = Counter(
        trace.get("place", "") for trace in (residue or {}).get("traces", ())
    )
    searched = bool(residue) and detail.case.state in ("complete", "partial")
    return [
        Place(place, _after(place, traces[place["name"]]) if searched else None)
        for place in detail.plan.body.get("holders", [])
    ]


def _after(place: dict[str, Any], traces: int) -> tuple[str, str]:
    if traces:
        return "yellow", gettext("{count} found").format(count=decimal(traces, 0))
    # What was kept is not clean, though the search left it out.
    return ("idle", gettext("Kept")) if place["keep"] else ("green", gettext("Clean"))


def _extensions(case: Case, detail: CaseDetail) -> list[Extension]:
    if case.extended_until or "extend" not in detail.verbs:
        return []
    if timezone.now() > case.due_at:
        # It can only be extended before it runs out.
        return []
    zone = privacy_settings.zone(detail.rules)
    return [
        Extension(months, deadlines.due(case.received_at, zone, months))
        for months in range(1, deadlines.MAX_EXTRA_MONTHS + 1)
    ]


def _certificate(actor: Actor, case: Case) -> Certificate | None:
    try:
        return certificates.of_case(actor, case)
    except errors.NotFound:
        return None


def _exports(actor: Actor, case: Case) -> list[Export]:
    rows = export.exports(actor, subject_ref=case.subject_ref)[:50]
    return [row for row in rows if row.case_id == case.id]


def _common_aliases(case: Case) -> int:
    names = case.subject.aliases.all() if case.subject else ()
    return sum(alias.is_common for alias in names)


def _undecided_addresses(detail: CaseDetail) -> int:
    plan = detail.plan
    return (
        suggested_aliases.count_undecided(detail.case.subject, plan.body) if plan else 0
    )


def of(actor: Actor, case: Case) -> CasePage:
    detail = queries.detail(actor, case)
    approvers = {case.approved_by_id, case.approved_key_maker}
    subject_id = case.subject_id or "-"
    return CasePage(
        detail=detail,
        finding=case_headline.of(detail),
        steps=progress_line.steps_of(detail),
        todo=progress_line.todo(detail),
        places=places(detail),
        residue=case.result.get("residue", {}),
        holds=legal_holds.list_holds(
            actor, subject_id=subject_id, state="standing", limit=20
        ),
        people=reminder_email.recipients(case.workspace_id),
        extensions=_extensions(case, detail),
        certificate=_certificate(actor, case),
        exports=_exports(actor, case),
        gaps=gaps.of(actor) if case.kind == CaseKind.ACCESS else None,
        is_mine=actor.id in second_person.makers(case, detail.plan),
        is_approver=actor.id in approvers and not detail.approval_missing,
        undecided=0 if case.closed_at else _undecided_addresses(detail),
        common=0 if case.closed_at else _common_aliases(case),
        doubts=dry_run.doubts(detail.plan),
        recipients=recipient_lines.panel(actor, detail),
        others=open_requests.of_person(actor, case.subject_ref, besides=case.pk),
    )
