"""Letters of a case: kept sealed, opened on the record, removed while unsent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import audit_log
from gdpr.cases import transitions
from gdpr.cases.correspondence import clean_language
from gdpr.cases.transitions import Kind, locked
from gdpr.letters import occasions, templates
from gdpr.letters.occasions import SentLetter
from gdpr.models import ActionKind, Case, GdprAction, Letter, LetterOccasion
from memory.rules import errors
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
# More letters than this about one request are no letters of an officer.
MAX_LETTERS: Final = 100
VIEWED: Final = "letter"
# A view of the same letter is recorded at most once in this time.
REPEAT_AFTER: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLetter:
    """A letter to keep; ``repeat``: although one of this occasion was sent."""

    occasion: str
    language: str
    subject: str
    body: str
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a letter says, and to whom it went; ``to`` is empty until it is sent."""

    subject: str
    body: str
    to: str = ""


# ── Reading ──────────────────────────────────────────────────────────────────
def of_case(actor: Actor, case: Case) -> list[Letter]:
    """Return a case's letters without their content, the newest first."""
    actor.require("gdpr.read", case.workspace_id)
    rows = Letter.objects.filter(workspace_id=case.workspace_id, case=case)
    return list(rows.defer("sealed"))


def sent_letters(letters: Iterable[Letter]) -> list[SentLetter]:
    """Return which of them went out, and when."""
    return [(row.occasion, row.sent_at) for row in letters if row.sent_at is not None]


def get(actor: Actor, case: Case, letter_id: str) -> Letter:
    actor.require("gdpr.read", case.workspace_id)
    rows = Letter.objects.filter(workspace_id=case.workspace_id, case=case)
    row = rows.select_related("case").filter(pk=letter_id).first()
    if row is None:
        raise errors.NotFound
    return row


def read(letter: Letter, *, by: Actor) -> Content:
    """Return what a letter says; the audit log records who looked.

    A person or program that looks again soon is recorded once.
    """
    by.require(MAY, letter.workspace_id)
    content = Content(**letter.opened())
    _note_view(letter, by)
    return content


def _note_view(letter: Letter, by: Actor) -> None:
    rows = GdprAction.objects.filter(
        workspace_id=letter.workspace_id,
        case_ref=letter.case_id,
        actor_id=by.id,
        action=ActionKind.VIEW,
        initiated_at__gt=timezone.now() - REPEAT_AFTER,
    )
    scope = {"what": VIEWED, "letter": letter.id}
    if scope not in [row.scope for row in rows]:
        audit_log.note(
            letter.case.subject_ref,
            ActionKind.VIEW,
            by=by,
            case_ref=letter.case_id,
            scope=scope,
        )


# ── Keeping ──────────────────────────────────────────────────────────────────
def keep(case: Case, new: NewLetter, *, by: Actor) -> Letter:
    """Keep a letter, sealed, to be sent.

    Conflict ``letter_waits`` while one of this occasion was kept and not sent,
    ``letter_sent`` after one was sent, unless it is to be sent again.
    """
    by.require(MAY, case.workspace_id)
    subject = templates.clean_subject(new.subject)
    body = templates.clean_body(new.body)
    language = clean_language(new.language)
    with transaction.atomic():
        live = locked(case)
        occasion = occasions.require_fit(live, new.occasion)
        _require_first(live, occasion, repeat=new.repeat)
        letter = Letter(
            workspace_id=live.workspace_id,
            case=live,
            occasion=occasion,
            language=language,
            kept_by=by.label,
        )
        letter.seal({"subject": subject, "body": body})
        letter.save(force_insert=True)
        record(letter, "kept", "Letter kept, not sent yet", by=by)
    return letter


def _require_first(case: Case, occasion: LetterOccasion, *, repeat: bool) -> None:
    rows = Letter.objects.filter(workspace_id=case.workspace_id, case=case)
    if rows.count() >= MAX_LETTERS:
        detail = gettext("A case has at most {limit} letters.").format(
            limit=MAX_LETTERS
        )
        raise errors.Conflict(detail, code="too_many_letters")
    letters = rows.filter(occasion=occasion)
    unsent_letter = letters.filter(sent_at=None).first()
    if unsent_letter is not None:
        detail = gettext(
            "A letter for this occasion is kept and not sent; send or remove it first."
        )
        raise errors.Conflict(detail, code="letter_waits", letter_id=unsent_letter.id)
    if letters.exists() and not repeat:
        detail = gettext("A letter for this occasion was sent already.")
        raise errors.Conflict(detail, code="letter_sent")


def remove(letter: Letter, *, by: Actor) -> None:
    """Delete a letter that was never sent."""
    by.require(MAY, letter.workspace_id)
    with transaction.atomic():
        locked(letter.case)
        rows = Letter.objects.filter(pk=letter.pk, sent_at=None, claimed_at=None)
        if not rows.delete()[0]:
            detail = gettext("A letter that was sent, or is being sent, stays.")
            raise errors.Conflict(detail, code="letter_sent")
        record(letter, "removed", "Letter removed, never sent", by=by)


def record(
    letter: Letter,
    action: str,
    text: str,
    *,
    by: Actor,
    details: Mapping[str, str] | None = None,
) -> None:
    """Note what was done with a letter in the case and the journal: ids, no words."""
    data = {"letter_id": letter.id, "occasion": str(letter.occasion), **(details or {})}
    transitions.event(letter.case, Kind.FACT, text, by=by, data=data)
    transitions.record(letter.case, f"letter_{action}", by=by, details=data)
