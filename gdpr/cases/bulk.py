"""Acts on many cases: assigning and undoing exactly that, reminding, extending.

What else is done to a case closes it or erases: each by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from django.db import transaction
from django.utils.translation import gettext, gettext_noop, ngettext

from gdpr.cases import actions, reminder_email, transitions
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import Kind, clean_text
from gdpr.models import Case
from memory.accounts import mail
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor

REMINDED: Final = gettext_noop("Reminder mailed to {person}")
NOT_MAILED: Final = gettext_noop("Reminder for {person}; no mail server is set")


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


def _require_version(case: Case, pick: Pick) -> None:
    if case.version != pick.number:
        detail = gettext("The case changed since you read it.")
        raise errors.Conflict(detail, code="stale_version")


def _assign(case: Case, pick: Pick, assignee: str, by: Actor) -> Outcome:
    with transaction.atomic():
        live = transitions.locked(case)
        _require_version(live, pick)
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


# ── Extending ────────────────────────────────────────────────────────────────
def extend(actor: Actor, picks: Sequence[Pick], months: int, reason: str) -> list[Item]:
    """Extend the deadlines of cases, each as the law allows, for one reason.

    There is no undo: the people are told of the later day.
    """
    actor.require("gdpr.manage")
    reason_text = clean_text(reason, "reason")

    def act(case: Case, pick: Pick) -> Outcome:
        with transaction.atomic():
            live = transitions.locked(case)
            _require_version(live, pick)
            live = actions.extend(live, months, reason_text, by=actor)
        words = ngettext(
            "extended by {count} month", "extended by {count} months", months
        )
        return Outcome(state=words.format(count=months), version=live.version)

    return bulk.run(picks, partial(_cases, actor), act, title=_title)


# ── Reminding ────────────────────────────────────────────────────────────────
def remind(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Remind the assignees of their cases: one mail for each, and a note in each case.

    Without a mail server the note stands alone, and says so.
    """
    actor.require("gdpr.manage")
    people = set(reminder_email.recipients(actor.workspace_id))
    is_mailed, unreachable = mail.server_set(), set[str]()
    if is_mailed:
        mails = _by_assignee(actor, picks, people)
        unreachable = reminder_email.remind(actor.workspace_id, mails)

    def act(case: Case, pick: Pick) -> Outcome:
        with transaction.atomic():
            live = transitions.locked(case)
            _require_remindable(live, pick, people)
            if live.assignee in unreachable:
                detail = gettext("The mail did not go out. Try again later.")
                raise errors.Conflict(detail, code="mail_failed")
            return _reminded(live, actor, is_mailed=is_mailed)

    return bulk.run(picks, partial(_cases, actor), act, title=_title)


def _require_remindable(case: Case, pick: Pick, people: set[str]) -> None:
    _require_version(case, pick)
    transitions.target_state(case, Verb.NOTE)
    if not case.assignee:
        detail = gettext("It is assigned to nobody.")
        raise errors.Conflict(detail, code="nobody_assigned")
    if case.assignee not in people:
        detail = gettext("Who has it is no longer here. Assign it first.")
        raise errors.Conflict(detail, code="assignee_gone")


def _by_assignee(
    actor: Actor, picks: Sequence[Pick], people: set[str]
) -> dict[str, list[Case]]:
    """Return the cases that may be reminded of, by the address of their assignee."""
    mails: dict[str, list[Case]] = defaultdict(list)
    unique = {pick.id: pick for pick in picks}
    if len(unique) > bulk.LIMIT:
        # ``bulk.run`` refuses them all.
        return mails
    for case_id, case in _cases(actor, list(unique)).items():
        # What is refused here is refused again with its sentence, item by item.
        with suppress(errors.AppError):
            _require_remindable(case, unique[case_id], people)
            mails[case.assignee].append(case)
    return mails


def _reminded(case: Case, by: Actor, *, is_mailed: bool) -> Outcome:
    """Note a reminder in a locked case; the version tells a second submit apart."""
    case.version += 1
    case.save(update_fields=["version"])
    text = (REMINDED if is_mailed else NOT_MAILED).format(person=case.assignee)
    data = {"reminded": case.assignee, "mailed": is_mailed}
    transitions.event(case, Kind.FACT, text, by=by, data=data)
    transitions.record(case, "case_reminded", by=by, details={"mailed": is_mailed})
    state = gettext_noop("reminded by mail")
    if not is_mailed:
        state = gettext_noop("noted in the case; no mail server is set")
    return Outcome(state=state, version=case.version)
