"""``manage.py gdpr_erase``: forget a person, from the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr import erasure
from gdpr.cases import dry_run, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.certificates import issue as certificates
from gdpr.erasure import one_call
from gdpr.models import Case, CaseKind, CasePlan, CaseState
from memory.rules import errors
from memory.rules.permissions import Actor, system


def _doubts(plan: CasePlan) -> dict[str, Any]:
    lists = ("ids", "by_form")
    return {k: v for k, v in dry_run.doubts(plan).items() if k not in lists}


class Command(BaseCommand):
    """Open a case, show its plan, and run it with --apply or --phrase."""

    help = "Erase SUBJECT (an id or an alias). Without --apply only the plan is shown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subject", metavar="SUBJECT")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--reason", required=True)
        parser.add_argument("--apply", action="store_true", help="Erase now.")
        parser.add_argument("--case", default="", help="Go on with a case.")
        parser.add_argument("--phrase", default="", help="The phrase the plan shows.")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, subject: str, workspace: str, **options: Any) -> None:
        try:
            by = system(one_call.workspace_of(subject, workspace), "gdpr_erase")
            case = self._case(subject, options["reason"], options["case"], by)
            if options["apply"] or options["phrase"]:
                report = self._run(case, options["phrase"], by)
            else:
                report = self._plan(case, dry_run.make(case, by=by))
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=2))
        else:
            self._print(report)
        is_run = options["apply"] or options["phrase"]
        if is_run and report["state"] == CaseState.PLANNED:
            raise CommandError(
                f"Case {report['case_id']} waits for a decision on rows."
            )
        if report["state"] not in (CaseState.PLANNED, CaseState.COMPLETE):
            raise CommandError("It is not complete; the case says why.")

    def _case(self, alias: str, reason: str, case_id: str, by: Actor) -> Case:
        if case_id:
            return transitions.case(by, case_id)
        subject = one_call.person(alias, by=by, must_be_named=True)
        new = NewCase(subject_id=subject.id, kind=CaseKind.ERASURE, reason=reason)
        return cases.open_case(new, by=by)

    def _run(self, case: Case, phrase: str, by: Actor) -> dict[str, Any]:
        """Erase by the plan that was shown, or by one made now."""
        plan = cases.latest_plan(case)
        if plan is None:
            if phrase:
                raise CommandError("Make a plan first: leave out --phrase.")
            plan = dry_run.make(case, by=by)
        if cases.undecided_count(plan):
            return self._plan(case, plan)
        typed = phrase or cases.phrase(case, plan.plan_hash)
        case = transitions.case(by, case.id)
        case = erasure.start(case, plan.plan_hash, typed, by=by)
        erasure.run(case.workspace_id, case.id)
        case = transitions.case(by, case.id)
        return {
            "case_id": case.id,
            "state": case.state,
            "plan_hash": plan.plan_hash,
            "result": case.result,
            "certificate": json.loads(certificates.of_case(by, case).document),
        }

    def _plan(self, case: Case, plan: CasePlan) -> dict[str, Any]:
        report: dict[str, Any] = {**plan.body, "doubts": _doubts(plan)}
        phrase = cases.phrase(case, plan.plan_hash)
        planned = CaseState.PLANNED.value
        return {**report, "case_id": case.id, "state": planned, "phrase": phrase}

    def _print(self, report: dict[str, Any]) -> None:
        if "holders" not in report:
            label = CaseState(report["state"]).label.lower()
            self.stdout.write(f"Case {report['case_id']}: {label}")
            return
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
        options = f'--case {report["case_id"]} --phrase "{report["phrase"]}"'
        self.stdout.write(f"To carry it out: --apply, or {options}")
