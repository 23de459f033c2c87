"""``manage.py gdpr_erase``: forget a person, from the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from gdpr import erasure
from gdpr.cases import dry_run, identity, privacy_settings, transitions
from gdpr.cases import workflow as cases
from gdpr.certificates import issue as certificates
from gdpr.erasure import next_steps, one_call
from gdpr.erasure.one_call import Awaits, StartedErasure
from gdpr.models import Case, CasePlan, CaseState, IdentityGround
from memory.rules import errors
from memory.rules.permissions import Actor, system

# Exit codes, beside 0 for done and 1 for an error.
AWAITS_APPROVAL: Final = 3
AWAITS_IDENTITY: Final = 4
CODES: Final = {
    "approval_required": AWAITS_APPROVAL,
    "identity_required": AWAITS_IDENTITY,
    "identity_ground_required": AWAITS_IDENTITY,
}
# What to add to the command.
HINTS: Final = {
    "identity_ground_required": (
        "Nobody verified who asks, and no identity check follows. Add"
        " --identity-ground GROUND --identity-reason WHY; GROUND is one of"
        f" {', '.join(IdentityGround.values)}."
    ),
    "identity_reason_required": "Add --identity-reason WHY to the ground.",
}
ENDS: Final = {
    Awaits.APPROVAL: (AWAITS_APPROVAL, "awaits the approval of a second person"),
    Awaits.IDENTITY: (AWAITS_IDENTITY, "awaits a verified identity"),
    Awaits.DECISIONS: (1, "waits for a decision on rows"),
    Awaits.HOLD: (1, "waits for the end of a legal hold"),
}


PLANNED: Final = (CaseState.PLANNED, CaseState.APPROVED)
ENDED: Final = (CaseState.COMPLETE, CaseState.PARTIAL)


def _doubts(plan: CasePlan) -> dict[str, Any]:
    lists = ("ids", "by_form")
    return {k: v for k, v in dry_run.doubts(plan).items() if k not in lists}


class Command(BaseCommand):
    """Open a case, show its plan, and run it with --apply or --phrase."""

    help = (
        "Erase SUBJECT (an id or an alias). Without --apply only the plan is shown."
        f" Exit code {AWAITS_APPROVAL}: a second person has to approve the plan first;"
        f" {AWAITS_IDENTITY}: the identity has to be verified, or a ground given."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subject", metavar="SUBJECT")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--reason", required=True)
        grounds = ", ".join(IdentityGround.values)
        parser.add_argument(
            "--identity-ground",
            default="",
            metavar="GROUND",
            help=f"Erase without an identity check, on one of: {grounds}.",
        )
        parser.add_argument("--identity-reason", default="", metavar="WHY")
        parser.add_argument("--apply", action="store_true", help="Erase now.")
        parser.add_argument("--case", default="", help="Go on with a case.")
        parser.add_argument("--phrase", default="", help="The phrase the plan shows.")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, subject: str, workspace: str, **options: Any) -> None:
        is_run = bool(options["apply"] or options["phrase"])
        try:
            by = system(one_call.workspace_of(subject, workspace), "gdpr_erase")
            case = self._case(subject, options, is_run=is_run, by=by)
            if is_run:
                started = self._start(case, options["phrase"], by)
                report = self._report(started, by)
            else:
                started, report = self._plan(case, by)
        except errors.AppError as error:
            code = CODES.get(error.problem_code, 1)
            detail = HINTS.get(error.problem_code, error.detail)
            raise CommandError(detail, returncode=code) from None
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=2))
        else:
            self._print(report)
        self._end(started, report, is_run=is_run)

    def _case(
        self, alias: str, options: dict[str, Any], *, is_run: bool, by: Actor
    ) -> Case:
        words = (options["identity_ground"], options["identity_reason"])
        skip = words if any(words) else None
        if options["case"]:
            case = transitions.case(by, options["case"])
            if skip:
                case = identity.skip(case, *skip, by=by)
            return case
        return one_call.open_case(
            alias,
            options["reason"],
            by=by,
            skip=skip,
            must_be_named=True,
            is_run=is_run,
        )

    def _start(self, case: Case, phrase: str, by: Actor) -> StartedErasure:
        """Erase by the plan that was shown, or by one made now."""
        if not phrase:
            started = one_call.advance(case, by=by)
        else:
            plan = cases.latest_plan(case)
            if plan is None:
                raise CommandError("Make a plan first: leave out --phrase.")
            running = erasure.start(case, plan.plan_hash, phrase, by=by)
            started = StartedErasure(running, "", {}, [])
        if started.case.state == CaseState.RUNNING:
            erasure.run(case.workspace_id, case.id)
            final_case = transitions.case(by, case.id)
            return StartedErasure(final_case, started.action_id, {}, [])
        return started

    def _plan(self, case: Case, by: Actor) -> tuple[StartedErasure, dict[str, Any]]:
        """Return the plan that a run would carry out, or why there is none."""
        plan = one_call.look(case, by=by)
        case = transitions.case(by, case.id)
        rules = privacy_settings.of(by.workspace_id)
        awaits = None
        if case.state == CaseState.ON_HOLD:
            awaits = Awaits.HOLD
        elif plan is None and case.state in one_call.BEFORE_RUN:
            awaits = Awaits.IDENTITY
        elif cases.undecided_count(plan):
            awaits = Awaits.DECISIONS
        elif plan and cases.approval_missing(case, rules):
            awaits = Awaits.APPROVAL
        started = StartedErasure(case, "", {}, [], awaits)
        return started, self._report(started, by)

    def _report(self, started: StartedErasure, by: Actor) -> dict[str, Any]:
        case = started.case
        steps = next_steps.of(started)
        report: dict[str, Any] = {
            "case_id": case.id,
            "state": case.state,
            "status": started.status,
            "page": next_steps.page(case.id),
            "next": [{"what": step.what, "call": step.call or None} for step in steps],
        }
        plan = cases.latest_plan(case)
        if plan is not None and case.state in PLANNED:
            phrase = cases.phrase(case, plan.plan_hash)
            body = {**plan.body, "doubts": _doubts(plan), "phrase": phrase}
            return body | report
        if plan is None or case.state not in ENDED:
            return report
        end = {"plan_hash": plan.plan_hash, "result": case.result}
        certificate = certificates.of_case(by, case)
        return report | end | {"certificate": json.loads(certificate.document)}

    def _end(
        self, started: StartedErasure, report: dict[str, Any], *, is_run: bool
    ) -> None:
        """End with an exit code that says what is missing, where something is."""
        name = f"Case {report['case_id']}"
        is_planned = not is_run and "phrase" in report
        if started.awaits is not None and not is_planned:
            code, words = ENDS[started.awaits]
            raise CommandError(f"{name} {words}.", returncode=code)
        if not is_planned and report["state"] != CaseState.COMPLETE:
            raise CommandError("It is not complete; the case says why.")

    def _print(self, report: dict[str, Any]) -> None:
        if "holders" in report:
            self._print_plan(report)
        else:
            label = CaseState(report["state"]).label.lower()
            self.stdout.write(f"Case {report['case_id']}: {label}")
        for step in report["next"]:
            call = f" ({step['call']})" if step["call"] else ""
            self.stdout.write(f"Next: {step['what']}{call}")
        if report["next"]:
            self.stdout.write(f"Its page: {report['page']}")

    def _print_plan(self, report: dict[str, Any]) -> None:
        for place in report["holders"]:
            counts = f"{place['delete']:>7} {place['redact']:>7} {place['keep']:>7}"
            self.stdout.write(f"{counts}  {place['title']}")
        self.stdout.write(f"{'delete':>7} {'mask':>7} {'keep':>7}")
        row_count = report["doubts"]["undecided"]
        if row_count:
            self.stdout.write(
                f"{row_count} rows may be about somebody else: decide on the page of"
                f" case {report['case_id']}. Nothing is erased before that."
            )
            return
        if report.get("beside"):
            self.stdout.write(
                f"{len(report['beside'])} addresses beside the person are nobody's:"
                " decide on the subject's page."
            )
        if report["next"]:
            return
        options = f'--case {report["case_id"]} --phrase "{report["phrase"]}"'
        self.stdout.write(f"To carry it out: --apply, or {options}")
