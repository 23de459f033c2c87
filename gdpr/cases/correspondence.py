"""Where the answer to a request goes: name, address and language of a case, sealed.

After an erasure the person's names are gone, and the person still has to be told. So
the address outlives them, until the closing letter went out, at most until 30 days
after the case was closed (``gdpr.letters.retention``).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases import transitions
from gdpr.cases.transitions import clean_text, locked
from gdpr.models import AddressSource, Case, Correspondence
from memory.accounts.invitations import checked_email
from memory.rules import errors
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
NAME_CHARS: Final = 200
POST_CHARS: Final = 500
LANGUAGE_CHARS: Final = 35
# How long after its closing a case keeps the address for its closing letter. The job
# runs at night: what is due after 29 days is gone before 30 have passed.
AFTER_CLOSING: Final = timedelta(days=29)
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}")
_SCRIPT: Final = 4
_CONTROLS: Final = ("Cc", "Zl", "Zp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whom to answer, where, and in which language; a missing value is empty."""

    name: str = ""
    email: str = ""
    post: str = ""
    language: str = ""

    @property
    def is_reachable(self) -> bool:
        """Whether a letter can be sent somewhere."""
        return bool(self.email or self.post)


def clean_language(code: str) -> str:
    """Return a BCP 47 code as it is usually written, or raise Invalid.

    Empty is the language of the installation.
    """
    text = code.strip().replace("_", "-") or settings.LANGUAGE_CODE
    if len(text) > LANGUAGE_CHARS or not _TAG.fullmatch(text):
        detail = gettext("A language is a code such as en, de or pt-BR.")
        raise errors.Invalid(detail, code="bad_language")
    first, *rest = text.split("-")
    return "-".join([first.lower(), *map(_subtag, rest)])


def _subtag(text: str) -> str:
    return text.title() if len(text) == _SCRIPT else text.upper()


def has_control(text: str, allowed: str = "") -> bool:
    """Whether a text has a control sign or a line break, other than ``allowed``."""
    return any(
        unicodedata.category(sign) in _CONTROLS and sign not in allowed for sign in text
    )


def of(case: Case) -> Address | None:
    """Return the address of a case, None without one; may raise DoesNotOpen."""
    row = row_of(case)
    return Address(**row.opened(), language=row.language) if row else None


def present(actor: Actor, case: Case) -> Address | None:
    """Return the address of a case for who handles it."""
    actor.require(MAY, case.workspace_id)
    return of(case)


def row_of(case: Case) -> Correspondence | None:
    rows = Correspondence.objects.filter(workspace_id=case.workspace_id, case=case)
    return rows.first()


def keep(case: Case, address: Address, *, by: Actor) -> Address:
    """Keep the address that an officer entered; an empty one removes it.

    A case that was closed more than 30 days ago takes none.
    """
    by.require(MAY, case.workspace_id)
    clean = _clean(address)
    with transaction.atomic():
        live = locked(case)
        _require_needed(live)
        _store(live, clean, AddressSource.OFFICER, by)
    return clean


def take(case: Case, address: Address, source: AddressSource, *, by: Actor) -> None:
    """Keep the address that a request came with, unless the case has one."""
    with transaction.atomic():
        live = locked(case)
        if row_of(live) is None:
            _store(live, _clean(address), source, by)


def _clean(address: Address) -> Address:
    name = clean_text(address.name, "name", NAME_CHARS, need=False)
    if has_control(name):
        detail = gettext("A name is a single line.")
        raise errors.Invalid(detail, code="bad_name")
    return Address(
        name=name,
        email=checked_email(address.email) if address.email.strip() else "",
        # A browser sends the lines of a text area with both signs of a line's end.
        post=clean_text(
            address.post.replace("\r\n", "\n"), "post", POST_CHARS, need=False
        ),
        language=clean_language(address.language),
    )


def is_needed(case: Case) -> bool:
    """Whether a case is open, or was closed so lately that it takes an address."""
    return not case.closed_at or timezone.now() <= case.closed_at + AFTER_CLOSING


def _require_needed(case: Case) -> None:
    if not is_needed(case):
        detail = gettext(
            "The case was closed more than {days} days ago; it keeps no address any"
            " more."
        ).format(days=AFTER_CLOSING.days)
        raise errors.Conflict(detail, code="address_too_late")


def _store(case: Case, address: Address, source: AddressSource, by: Actor) -> None:
    values = asdict(address)
    language = values.pop("language")
    if not any(values.values()):
        Correspondence.objects.filter(case=case).delete()
        transitions.record(case, "case_address_removed", by=by)
        return
    row = row_of(case) or Correspondence(workspace_id=case.workspace_id, case=case)
    row.language, row.source = language, source
    row.changed_by, row.changed_at = by.label, timezone.now()
    row.seal(values)
    row.save()
    transitions.record(
        case,
        "case_address_kept",
        by=by,
        details={
            "language": language,
            "source": source.value,
            "by_mail": bool(address.email),
        },
    )
