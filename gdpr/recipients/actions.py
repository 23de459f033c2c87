"""What an officer does about a recipient: add, notify, give up, note an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases import privacy_settings, transitions
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import clean_text
from gdpr.models import (
    SENT_NOTICES,
    Case,
    CaseState,
    NoNoticeGround,
    NoticeState,
    NoticeWay,
    Recipient,
    RecipientAnswer,
    RecipientKind,
)
from gdpr.recipients import contacts, listing, notices, records, ways
from memory import lookup
from memory.models import ids
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
RECEIVED_CHARS: Final = 1_000
MAX_RECIPIENTS: Final = 2_000
_BEFORE_A_NOTICE: Final = (
    NoticeState.WAITING, NoticeState.TO_NOTIFY, NoticeState.FAILED,
)  # fmt: skip
_SENDABLE: Final = (
    NoticeState.TO_NOTIFY, NoticeState.FAILED, NoticeState.NOT_POSSIBLE,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipient:
    """A recipient whom the program cannot know: who, what, where to write.

    ``received`` says what identifies the data at their side; it names nobody.
    """

    name: str
    received: str = ""
    email: str = ""
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """What a recipient answered, on which day."""

    answer: str
    answered_on: date | None = None
    note: str = ""


def get(actor: Actor, case: Case, recipient_id: str) -> Recipient:
    """Return a recipient of a case of the actor's workspace, or raise NotFound."""
    actor.require("gdpr.read", case.workspace_id)
    rows = Recipient.objects.select_related("case")
    return lookup.required(
        rows, workspace_id=actor.workspace_id, case_id=case.pk, pk=recipient_id
    )


def _refuse_names(case: Case, *texts: str) -> None:
    """Refuse the name of somebody erased; an open case is erased with its texts."""
    if case.closed_at is not None:
        subject_linker.refuse(case.workspace_id, texts)


def add(case: Case, new: NewRecipient, *, by: Actor) -> Recipient:
    """Add a recipient by hand; its notice goes out after the run, as those of others.

    Conflict ``no_notices`` for a kind of request that Article 19 is not about.
    """
    by.require(MAY, case.workspace_id)
    name = contacts.clean_name(new.name)
    received = clean_text(new.received, "received", RECEIVED_CHARS, need=False)
    _refuse_names(case, name, received)
    if case.kind not in listing.NOTIFIED_CASES:
        detail = gettext("A request of this kind is not passed on to recipients.")
        raise errors.Conflict(detail, code="no_notices")
    with transaction.atomic():
        live = transitions.locked(case)
        if live.state == CaseState.REFUSED:
            transitions.target_state(live, Verb.NOTE)
        rows = Recipient.objects.filter(workspace_id=live.workspace_id, case=live)
        if rows.count() >= MAX_RECIPIENTS:
            limit = MAX_RECIPIENTS
            raise errors.TooLarge(what="recipients", limit=limit, size=limit + 1)
        if new.email:
            contacts.put(name, new.email, new.language, by=by)
        row_id = ids.make("rcp")
        row = Recipient.objects.create(
            id=row_id,
            workspace_id=live.workspace_id,
            case=live,
            kind=RecipientKind.OTHER,
            ref=row_id,
            name=name,
            received=received,
            doubt="by_hand",
            added_by=by.label,
        )
        records.note(row, "recipient_added", by=by)
    return row


# ── Notices ──────────────────────────────────────────────────────────────────
def _require_complete(row: Recipient) -> None:
    """Raise Conflict ``not_complete`` before the end of the run."""
    if row.case.state != CaseState.COMPLETE:
        detail = gettext("Recipients are notified once the run is complete.")
        raise errors.Conflict(detail, code="not_complete")


def _move(
    row: Recipient, states: tuple[str, ...], event: str, by: Actor, **fields: Any
) -> Recipient:
    """Change a recipient that is in one of these states, or raise ``wrong_state``."""
    with transaction.atomic():
        rows = Recipient.objects.filter(
            workspace_id=row.workspace_id, pk=row.pk, state__in=states
        )
        if not rows.update(**fields):
            detail = gettext("The notice is in another state by now; look again.")
            raise errors.Conflict(detail, code="wrong_state")
        live = Recipient.objects.select_related("case").get(pk=row.pk)
        records.note(live, event, by=by)
    return live


def notify(row: Recipient, way: str = "", *, by: Actor) -> Recipient:
    """Queue a notice that has an address by now, or that failed.

    ``way`` is one of those that are open; the best by default. Codes: ``not_complete``,
    ``no_address``, ``wrong_state``.
    """
    by.require(MAY, row.workspace_id)
    _require_complete(row)
    open_ways = ways.open_ways(row)
    if not open_ways or way not in ("", *open_ways):
        detail = gettext(
            "No notice can go out this way: note an address, resume the webhook, or"
            " notify by hand."
        )
        raise errors.Conflict(detail, code="no_address")
    now = timezone.now()
    return _move(
        row, _SENDABLE, "notice_queued", by,
        state=NoticeState.QUEUED, way=way or open_ways[0], attempts=0, delivery_id="",
        next_attempt_at=now, released_at=row.released_at or now, last_error="",
        ground="", reason="",
    )  # fmt: skip


def notify_by_hand(row: Recipient, *, by: Actor) -> Recipient:
    """Note that an officer notified a recipient outside this program.

    Codes: ``not_complete``, ``wrong_state``.
    """
    by.require(MAY, row.workspace_id)
    _require_complete(row)
    # A message to a webhook that was paused meanwhile waits for ever.
    states_before = (NoticeState.WAITING, NoticeState.QUEUED)
    states = (*_SENDABLE, *states_before)
    return _move(
        row, states, "recipient_notified", by,
        state=NoticeState.NOTIFIED, way=NoticeWay.HAND, notified_at=timezone.now(),
        notified_by=by.label, last_error="", sealed="", ground="", reason="",
    )  # fmt: skip


def decline(row: Recipient, ground: str, reason: str, *, by: Actor) -> Recipient:
    """Note that a notice is not possible or disproportionate, with a reason."""
    by.require(MAY, row.workspace_id)
    if ground not in NoNoticeGround.values:
        raise errors.unknown_value("ground", NoNoticeGround.values)
    text = clean_text(reason, "reason")
    _refuse_names(row.case, text)
    return _move(
        row, _BEFORE_A_NOTICE, "notice_not_possible", by,
        state=NoticeState.NOT_POSSIBLE, ground=ground, reason=text,
        decided_by=by.label, sealed="", last_error="",
    )  # fmt: skip


def answer(row: Recipient, new: NewAnswer, *, by: Actor) -> Recipient:
    """Note what a recipient answered; a later answer replaces it.

    Codes: ``answered_in_future``, ``wrong_state`` (before the notice).
    """
    by.require(MAY, row.workspace_id)
    if new.answer not in RecipientAnswer.values:
        raise errors.unknown_value("answer", RecipientAnswer.values)
    text = clean_text(new.note, "note", need=False)
    subject_linker.refuse(row.workspace_id, (text,))
    zone = privacy_settings.zone(privacy_settings.of(row.workspace_id))
    today = timezone.now().astimezone(zone).date()
    answered_on = new.answered_on or today
    if answered_on > today:
        detail = gettext("An answer cannot come from the future.")
        raise errors.Invalid(detail, code="answered_in_future")
    return _move(
        row, (*SENT_NOTICES, NoticeState.ANSWERED), "recipient_answered", by,
        state=NoticeState.ANSWERED, answer=new.answer, answered_on=answered_on,
        answer_note=text, answered_by=by.label,
    )  # fmt: skip


def download(row: Recipient, language: str, *, by: Actor) -> str:
    """Return the notice as a letter, to send by hand."""
    by.require(MAY, row.workspace_id)
    if row.case.kind not in listing.NOTIFIED_CASES:
        raise errors.NotFound
    text = notices.letter(row, language)
    return f"{text.subject}\n\n{text.body}"
