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
    return {k: v for k, v in dry_run.doubts(plan).items() if k != "ids"}


class Command(BaseCommand):
    """Open a case, show its plan, and carry it out when told to."""

    help = "Erase SUBJECT (an id or an alias). Without --apply only the plan is shown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whom, where and why."""
        parser.add_argument("subject", metavar="SUBJECT")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--reason", required=True)
        parser.add_argument("--apply", action="store_true", help="Erase now.")
        parser.add_argument("--case", default="", help="Go on with a case.")
        parser.add_argument("--phrase", default="", help="The phrase the plan shows.")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, subject: str, workspace: str, **options: Any) -> None:
        """Plan, and erase when asked to."""
        try:
            by = system(one_call.home(subject, workspace), "gdpr_erase")
            case = self._case(subject, options["reason"], options["case"], by)
            if options["apply"] or options["phrase"]:
                told = self._run(case, options["phrase"], by)
            else:
                told = self._plan(case, dry_run.make(case, by=by))
        except errors.HouseError as error:
            raise CommandError(error.detail) from None
        if options["json"]:
            self.stdout.write(json.dumps(told, indent=2))
        else:
            self._say(told)
        asked = options["apply"] or options["phrase"]
        if asked and told["state"] == CaseState.PLANNED:
            raise CommandError(f"Case {told['case_id']} waits for a decision on rows.")
        if told["state"] not in (CaseState.PLANNED, CaseState.COMPLETE):
            raise CommandError("It is not complete; the case says why.")

    def _case(self, alias: str, reason: str, known: str, by: Actor) -> Case:
        if known:
            return transitions.case(by, known)
        who = one_call.person(alias, by=by, named=True)
        new = NewCase(subject_id=who.id, kind=CaseKind.ERASURE, reason=reason)
        return cases.open_case(new, by=by)

    def _run(self, case: Case, phrase: str, by: Actor) -> dict[str, Any]:
        """Erase by the plan that was shown, or by one made now."""
        plan = cases.latest_plan(case)
        if plan is None:
            if phrase:
                raise CommandError("Make a plan first: leave out --phrase.")
            plan = dry_run.make(case, by=by)
        if cases.undecided(plan):
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
        told: dict[str, Any] = {**plan.body, "doubts": _doubts(plan)}
        phrase = cases.phrase(case, plan.plan_hash)
        planned = CaseState.PLANNED.value
        return {**told, "case_id": case.id, "state": planned, "phrase": phrase}

    def _say(self, told: dict[str, Any]) -> None:
        if "holders" not in told:
            label = CaseState(told["state"]).label.lower()
            self.stdout.write(f"Case {told['case_id']}: {label}")
            return
        for one in told["holders"]:
            counts = f"{one['delete']:>7} {one['redact']:>7} {one['keep']:>7}"
            self.stdout.write(f"{counts}  {one['title']}")
        self.stdout.write(f"{'delete':>7} {'mask':>7} {'keep':>7}")
        waiting = told["doubts"]["undecided"]
        if waiting:
            self.stdout.write(
                f"{waiting} rows may be about somebody else: decide on the page of case"
                f" {told['case_id']}. Nothing is erased before that."
            )
            return
        if told.get("beside"):
            waiting = f"{len(told['beside'])} addresses beside the person are nobody's"
            self.stdout.write(f"{waiting}: decide on the subject's page.")
        again = f'--case {told["case_id"]} --phrase "{told["phrase"]}"'
        self.stdout.write(f"To carry it out: --apply, or {again}")
