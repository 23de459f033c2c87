"""Opening a case for a request that arrived, unless the same one is open already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from gdpr.cases import actions, correspondence, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.correspondence import Address
from gdpr.cases.workflow import NewCase
from gdpr.models import OPEN, AddressSource, AliasKind, Case, CaseKind, Subject
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.accounts.invitations import checked_email
from memory.models import Workspace
from memory.rules.permissions import Actor

TEXT_CHARS: Final = 4_000
# What is stored as the reason where the sender wrote nothing.
NO_REASON: Final = "No reason was given."
ASKED_AGAIN: Final = "Asked again: {text}"
SHARED: Final = (
    "Several people have the address of this request. Make sure whose it is; for"
    " another of them refuse this case and open one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A request by somebody who has this e-mail address; ``name`` is as they gave it.

    The name is noted on the case and not sought: anybody can give any name. Name,
    address and ``language`` are kept for the answer.
    """

    kind: CaseKind
    email: str
    name: str = ""
    text: str = ""
    ticket: str = ""
    received_at: datetime | None = None
    correction: Mapping[str, Any] = field(default_factory=dict)
    language: str = ""
    source: AddressSource = AddressSource.FORWARDED


@dataclass(frozen=True, slots=True)
class Received:
    """The case of a request; ``is_new`` is False for one that was open already."""

    case: Case
    is_new: bool


def receive(new: NewRequest, *, by: Actor, choose: bool = False) -> Received:
    """Open a case for the person with an address, or note it on their open case.

    A person with an open case of the same kind gets no second one. An address that
    several people share raises Conflict ``ambiguous_subject``; with ``choose`` the case
    is the first one's, with a note for the officer.
    """
    by.require(cases.MAY)
    email = checked_email(new.email)
    with transaction.atomic():
        # One at a time in a workspace, so that two of the same open one case.
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        people = subjects.with_alias(by.workspace_id, email)
        person = people[0] if people and choose else _person(email, by)
        open_cases = Case.objects.filter(
            workspace_id=by.workspace_id,
            subject=person,
            kind=new.kind,
            state__in=OPEN,
        )
        case = open_cases.order_by("-opened_at").first()
        if case is not None:
            text = ASKED_AGAIN.format(text=new.text.strip() or NO_REASON)
            if new.correction:
                parts = (f"{key}: {value}" for key, value in new.correction.items())
                text = "\n".join((text, *parts))
            actions.comment(case, text[: transitions.TEXT_CHARS], by=by)
            _take_address(case, new, by)
            return Received(case, is_new=False)
        case = _opened(new, person, by)
        _take_address(case, new, by)
        if len(people) > 1:
            actions.comment(case, SHARED, by=by)
        return Received(case, is_new=True)


def _take_address(case: Case, new: NewRequest, by: Actor) -> None:
    # Anybody can send any name: signs that are no part of a line are left out.
    name = " ".join(new.name.split())
    name = "".join(sign for sign in name if not correspondence.has_control(sign))
    address = Address(name=name, email=new.email, language=new.language)
    correspondence.take(case, address, new.source, by=by)


def _person(email: str, by: Actor) -> Subject:
    if subjects.with_alias(by.workspace_id, email):
        return subjects.find(email, by=by)
    return subjects.create("", [NewAlias(AliasKind.EMAIL, email)], by=by)


def _opened(new: NewRequest, person: Subject, by: Actor) -> Case:
    return cases.open_case(
        NewCase(
            subject_id=person.pk,
            kind=new.kind,
            reason=new.text.strip() or NO_REASON,
            requester=f"{new.name.strip()} <{new.email}>".strip()[:200],
            ticket=new.ticket,
            received_at=new.received_at,
            correction=new.correction,
        ),
        by=by,
    )
