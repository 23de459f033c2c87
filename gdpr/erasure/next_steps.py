"""What has to be done before an erasure that was asked for in one call goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.urls import reverse

from gdpr.cases import second_person
from gdpr.cases import workflow as cases
from gdpr.erasure.one_call import Awaits, StartedErasure

BASE: Final = "/api/v1/gdpr/cases"
# What is missing → sentence and calls of the case, for people and for programs.
STEPS: Final = {
    Awaits.IDENTITY: (
        ("Verify who asks, and note how.", "POST {case}/identity"),
        ("Or go on without, on a ground and with a reason.",
         "POST {case}/skip_identity"),
    ),
    Awaits.DECISIONS: (
        ("Decide on the rows that may be about somebody else.",
         "POST {case}/decisions"),
    ),
    Awaits.APPROVAL: (
        ("A second person, who neither opened nor planned the case, approves the plan.",
         "POST {case}/approve"),
    ),
    Awaits.HOLD: (
        ("Release the legal hold on this person, or wait for its review.", ""),
    ),
}  # fmt: skip
AFTERWARDS: Final = (
    "Then make this call again, or go on from the page of the case; whoever approved"
    " the plan does not carry it out."
)


@dataclass(frozen=True, slots=True)
class NextStep:
    """What is to be done, and the call that does it; "" where there is none."""

    what: str
    call: str = ""


def page(case_id: str) -> str:
    """Return the address of a case's page, absolute where the public one is known."""
    base = str(settings.PUBLIC_URL).rstrip("/")
    return base + reverse("privacy:case", args=[case_id])


def of(erasure: StartedErasure) -> list[NextStep]:
    """Return the next steps of an erasure; empty when it needs nobody."""
    if erasure.awaits is None:
        return []
    case = erasure.case
    steps = [
        NextStep(content, call.format(case=f"{BASE}/{case.id}"))
        for content, call in STEPS[erasure.awaits]
    ]
    is_lonely = not second_person.has_approver(case, cases.latest_plan(case))
    if erasure.awaits is Awaits.APPROVAL and is_lonely:
        steps.append(NextStep(second_person.NOBODY_ELSE))
    return [*steps, NextStep(AFTERWARDS)]
