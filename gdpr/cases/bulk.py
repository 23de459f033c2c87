"""Assigning many cases, and undoing exactly that.

What else is done to a case closes it, binds a deadline or erases: each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from gdpr.cases import actions, reminder_email, transitions
from gdpr.models import Case
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor


def assign(actor: Actor, picks: Sequence[Pick], assignee: str) -> list[Item]:
    """Assign cases, each in the version that was read; to nobody with an empty one."""
    actor.require("gdpr.manage")

    def act(case: Case, pick: Pick) -> Outcome:
        return _assign(case, pick, assignee, actor)

    return bulk.run(picks, partial(_cases, actor), act, title=_title)


def undo(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Give cases that did not change since back to whom they were assigned before."""
    actor.require("gdpr.manage")
    people = {"", *reminder_email.recipients(actor.workspace_id)}

    def act(case: Case, pick: Pick) -> Outcome:
        if pick.former not in people:
            detail = gettext("Who had it is no longer here. Assign it by itself.")
            raise errors.Conflict(detail, code="assignee_gone")
        return _assign(case, pick, pick.former, actor)

    return bulk.run(picks, partial(_cases, actor), act, title=_title)


def _cases(actor: Actor, ids: list[str]) -> dict[str, Case]:
    return Case.objects.filter(workspace_id=actor.workspace_id).in_bulk(ids)


def _title(case: Case) -> str:
    return f"{case.get_kind_display()} · {case.id}"


def _assign(case: Case, pick: Pick, assignee: str, by: Actor) -> Outcome:
    with transaction.atomic():
        live = transitions.locked(case)
        if live.version != pick.number:
            detail = gettext("The case changed since you read it.")
            raise errors.Conflict(detail, code="stale_version")
        former = live.assignee
        if former == assignee.strip():
            detail = gettext("It is assigned to nobody already.")
            if former:
                detail = gettext("It is assigned to {person} already.").format(
                    person=former
                )
            raise errors.Conflict(detail, code="same_assignee")
        live = actions.assign(live, assignee, by=by)
    state = gettext_noop("assigned to nobody")
    if live.assignee:
        state = gettext("assigned to {person}").format(person=live.assignee)
    return Outcome(state=state, version=live.version, former=former)
