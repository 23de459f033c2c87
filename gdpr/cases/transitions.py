"""Loading and locking a case, changing its state, and recording what happened.

No text about a person leaves a case: the journal gets ids, states and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.db.models import TextChoices
from django.utils import translation
from django.utils.translation import gettext

from gdpr.cases import state_machine
from gdpr.cases.state_machine import Verb
from gdpr.models import Case, CaseEvent, CaseState
from memory.journal import append as journal
from memory.rules import entries, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.translation import within_sentence

TEXT_CHARS: Final = 4_000
ERASED: Final = "[erased]"
Kind = CaseEvent.Kind


def case(actor: Actor, case_id: str) -> Case:
    """Return a case of the actor's workspace."""
    actor.require("gdpr.read")
    rows = Case.objects.select_related("subject", "workspace")
    match = rows.filter(workspace_id=actor.workspace_id, pk=case_id).first()
    if match is None:
        raise errors.NotFound
    return match


def locked(case: Case) -> Case:
    """Return a case as it is now, locked until the transaction ends."""
    rows = Case.objects.select_for_update(of=("self",)).select_related("subject")
    match = rows.filter(workspace_id=case.workspace_id, pk=case.pk).first()
    if match is None:
        raise errors.NotFound
    return match


def stored_label(choice: TextChoices) -> str:
    """Return a label as it is stored: in English, whoever asks."""
    with translation.override(settings.LANGUAGE_CODE):
        return str(choice.label)


def clean_text(
    value: str, field: str, limit: int = TEXT_CHARS, *, need: bool = True
) -> str:
    """Return a user's text stripped; raise Invalid or TooLarge when it is unfit."""
    text = value.strip()
    if need and not text:
        code = f"{field}_required"
        detail = gettext("{field} must not be empty.").format(field=field)
        raise errors.Invalid(detail, code=code)
    if len(text) > limit:
        raise errors.TooLarge(what=field, limit=limit, size=len(text))
    if not entries.is_storable(text):
        detail = gettext("{field} holds a NUL or half a surrogate pair.").format(
            field=field
        )
        raise errors.Invalid(detail, code="bad_text")
    return text


def target_state(case: Case, verb: Verb) -> CaseState:
    """Return a verb's next state; Conflict ``wrong_state`` where it is not allowed."""
    state = state_machine.target(verb, case.state, case.held_from)
    if state is None:
        label = within_sentence(case.get_state_display())
        raise errors.Conflict(
            gettext(
                "The case is {state}; this action is not allowed in that state."
            ).format(state=label),
            code="wrong_state",
            state=case.state,
            allowed=[
                verb_allowed.value
                for verb_allowed in state_machine.verbs(case.state, case.held_from)
            ],
        )
    return CaseState(state.value)


def event(
    case: Case,
    kind: CaseEvent.Kind,
    text: str,
    *,
    by: Actor,
    data: Mapping[str, Any] | None = None,
) -> CaseEvent:
    return CaseEvent.objects.create(
        workspace_id=case.workspace_id,
        case=case,
        kind=kind,
        state=case.state,
        text=text,
        data=dict(data or {}),
        by=by.label,
    )


def record(
    case: Case,
    event_name: str,
    *,
    by: Actor,
    severity: Severity = Severity.NOTICE,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Write a journal entry about a case: ids and states, never a name."""
    payload = {
        "case_id": case.id,
        "subject_id": case.subject_ref,
        "kind": case.kind,
        "state": case.state,
        **(details or {}),
    }
    new = NewEntry(
        entry_type=f"gdpr.{event_name}",
        severity=severity,
        summary=f"Case {case.id}: {event_name.replace('_', ' ')}",
        payload=payload,
    )
    journal.write([new], by=by)


def move(case: Case, verb: Verb, text: str, *, by: Actor, **details: Any) -> Case:
    """Move a locked case to a verb's next state, with an event and a journal entry.

    The caller has set the other fields; everything is saved here. ``details`` go into
    the event's data and the journal payload. Auditors look first for the warnings.
    """
    before, case.state = case.state, target_state(case, verb)
    case.version += 1
    case.save()
    kind = Kind.FACT if case.state == before else Kind.MOVED
    event(case, kind, text, by=by, data={"verb": verb.value, **details})
    severity = Severity.WARN if verb in WEAKER else Severity.NOTICE
    record(case, f"case_{ENTRY[verb]}", by=by, severity=severity, details=details)
    return case


WEAKER: Final = (Verb.SKIP_IDENTITY,)


ENTRY: Final = {
    Verb.IDENTIFY: "identified",
    Verb.SKIP_IDENTITY: "identity_skipped",
    Verb.PLAN: "planned",
    Verb.APPROVE: "approved",
    Verb.EXECUTE: "started",
    Verb.STEP_BACK: "stepped_back",
    Verb.VERIFY: "verifying",
    Verb.REWORK: "reworked",
    Verb.COMPLETE: "completed",
    Verb.LEAVE_PARTIAL: "partial",
    Verb.HOLD: "held",
    Verb.RESUME: "resumed",
    Verb.REFUSE: "refused",
    Verb.EXTEND: "extended",
    Verb.ASSIGN: "assigned",
    Verb.NOTE: "noted",
}
