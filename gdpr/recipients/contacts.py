"""Where notices go: an address per recipient, and how long an answer may take."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr.cases import privacy_settings
from gdpr.cases.transitions import ERASED, clean_text
from gdpr.models import RecipientContact
from memory import lookup, workspace_settings
from memory.journal import append as journal
from memory.models import Workspace
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.workspace_settings import Kind, Setting

MAY: Final = "gdpr.manage"
PAGE: Final = "privacy:recipients"
NAME_CHARS: Final = 254
EMAIL_CHARS: Final = 254
MAX_CONTACTS: Final = 500
MAX_ANSWER_DAYS: Final = 365
ANSWER_DAYS: Final[Setting[int]] = Setting(
    name="recipient_answer_days",
    group=privacy_settings.GROUP,
    label=gettext_noop("Days in which a recipient answers a notice"),
    help=gettext_noop("An answer that is still missing then is shown as overdue."),
    readers=gettext_noop("Notices to recipients."),
    kind=Kind.INTEGER,
    default=14,
    least=1,
    most=MAX_ANSWER_DAYS,
    unit="days",
    may=privacy_settings.MAY,
    page=PAGE,
)


def declare() -> None:
    """Declare the setting at start-up, after those of the workspace's requests."""
    workspace_settings.declare(ANSWER_DAYS)


def answer_days(workspace_id: str) -> int:
    """Return in how many days a recipient has to answer."""
    return workspace_settings.value(workspace_id, ANSWER_DAYS)


def change_answer_days(days: int, *, by: Actor) -> int:
    """Change how long an answer may take; an admin's act, which the journal records."""
    by.require(privacy_settings.MAY)
    if not 1 <= days <= MAX_ANSWER_DAYS:
        detail = gettext("The days are 1 to {limit}.").format(limit=MAX_ANSWER_DAYS)
        raise errors.Invalid(detail, code="bad_days")
    workspace_settings.change({ANSWER_DAYS.name: days}, by=by)
    return answer_days(by.workspace_id)


# ── Addresses ────────────────────────────────────────────────────────────────
def all_of(actor: Actor) -> list[RecipientContact]:
    """Return the workspace's addresses, by the recipient's name."""
    actor.require("gdpr.read")
    return list(RecipientContact.objects.filter(workspace_id=actor.workspace_id))


def clean_name(text: str) -> str:
    """Return the name of a recipient as a single line, or raise Invalid."""
    return clean_text(" ".join(text.split()), "name", NAME_CHARS)


def of_name(workspace_id: str, name: str) -> RecipientContact | None:
    """Return the address of a recipient by its host or name, None without one."""
    if not name or ERASED in name:
        # Several recipients may have the name that was put in place of theirs.
        return None
    rows = RecipientContact.objects.filter(workspace_id=workspace_id)
    contact = rows.filter(name=name.casefold()).first()
    # One that named an erased person was masked, and is no address any more.
    return contact if contact is not None and "@" in contact.email else None


def clean_email(text: str, *, need: bool = True) -> str:
    """Return an e-mail address, or raise Invalid ``bad_email``."""
    email = clean_text(text, "email", EMAIL_CHARS, need=need)
    if not email:
        return ""
    try:
        validate_email(email)
    except ValidationError:
        detail = gettext("This is no e-mail address.")
        raise errors.Invalid(detail, code="bad_email") from None
    return email


def put(name: str, email: str, language: str = "en", *, by: Actor) -> RecipientContact:
    """Set the address of a recipient, by its host or name."""
    by.require(MAY)
    key = clean_name(name).casefold()
    address = clean_email(email)
    if language not in dict(settings.LANGUAGES):
        raise errors.unknown_value("language", dict(settings.LANGUAGES))
    subject_linker.refuse(by.workspace_id, (key, address))
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        rows = RecipientContact.objects.filter(workspace_id=by.workspace_id)
        if rows.exclude(name=key).count() >= MAX_CONTACTS:
            detail = gettext("A workspace has at most {limit} addresses of recipients.")
            detail = detail.format(limit=MAX_CONTACTS)
            raise errors.Conflict(detail, code="too_many_contacts")
        contact, _ = rows.update_or_create(
            workspace_id=by.workspace_id,
            name=key,
            defaults={
                "email": address,
                "language": language,
                "changed_at": timezone.now(),
                "changed_by": by.label,
            },
        )
        _record("set", contact.pk, by)
    return contact


def remove(contact_id: int, *, by: Actor) -> None:
    """Remove an address; notices that were sent to it stay as they are."""
    by.require(MAY)
    with transaction.atomic():
        rows = RecipientContact.objects.filter(workspace_id=by.workspace_id)
        contact = lookup.required(rows, pk=contact_id)
        contact_number = contact.pk
        contact.delete()
        _record("removed", contact_number, by)


def _record(verb: str, contact_id: int, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"gdpr.recipient_contact_{verb}",
        severity=Severity.NOTICE,
        summary=f"Address {contact_id} of a recipient {verb}",
        payload={"contact_id": contact_id},
    )
    journal.write([new], by=by)
