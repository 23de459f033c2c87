"""Setting a case running, after a last check that the plan is current."""

from __future__ import annotations

from functools import partial

from celery import current_app
from django.db import transaction

from gdpr.cases import dry_run, identity
from gdpr.cases import workflow as cases
from gdpr.models import Case
from memory.jobs import dispatch
from memory.rules.permissions import Actor

TASK = "gdpr.sweep"


def start(
    case: Case,
    plan_hash: str,
    phrase: str,
    *,
    by: Actor,
    break_glass: str = "",
    skip_identity: tuple[str, str] | None = None,
) -> Case:
    """Set a case running; the worker carries it out.

    A new dry run must have the same hash; otherwise Conflict ``stale_plan`` with the
    changes, and nothing is changed. ``skip_identity`` is ground and reason of going on
    without an identity check.
    """
    by.require(cases.MAY, case.workspace_id)
    plan = cases.latest_plan(case)
    if plan is not None and plan.plan_hash == plan_hash:
        dry_run.require_current(case, plan_hash)
    with transaction.atomic():
        if skip_identity is not None:
            identity.skip(case, *skip_identity, by=by)
        running = cases.execute(case, plan_hash, phrase, by=by, break_glass=break_glass)
    notify_worker()
    return running


def notify_worker() -> None:
    """Notify the worker, where there is one; the scheduler finds the case anyway."""
    if current_app.conf.get("crewship_delivers"):
        transaction.on_commit(partial(dispatch.send, TASK))
