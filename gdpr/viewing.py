"""Looking at a person's names: allowed to some, and written down for everybody."""

from __future__ import annotations

from gdpr import ledger, subjects
from gdpr.models import ActionKind, ActionStatus, GdprAction
from memory.rules.actors import Actor


def names(subject_id: str, *, by: Actor) -> GdprAction:
    """Write down that somebody looks at a person's names and samples.

    The ledger says who, whose and when; never what was seen.
    """
    by.require("gdpr.manage")
    subject = subjects.get(by, subject_id)
    scope = {"what": "names and samples"}
    row = ledger.begin(subject.pk, ActionKind.VIEW, by=by, scope=scope)
    return ledger.finish(row, ActionStatus.COMPLETED)
