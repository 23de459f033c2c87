"""Deadlines of open cases as a calendar (iCalendar, RFC 5545), at a private address.

Whoever has the address reads it, so it holds ids, kinds and days, and no person. Of its
token only the SHA-256 is stored. It gives what its owner may see when it is read: who
lost the role, left, or was switched off gives nothing any more.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext
from icalendar import Calendar, Event

from gdpr.cases import privacy_settings, queries
from gdpr.models import OPEN, CalendarFeed, Case, CaseKind
from memory.accounts.languages import mail_language
from memory.journal import append as journal
from memory.models import Membership, User
from memory.ports import serving
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, Role

TOKEN_BYTES: Final = 32
TOKEN_CHARS: Final = 43
MAY: Final = "gdpr.read"
# The most urgent ones; a calendar of more is no help.
MOST: Final = 1_000
CONTENT_TYPE: Final = "text/calendar; charset=utf-8"


def _digest(token: str) -> str:
    """Return what is stored of a token: 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def of(actor: Actor) -> CalendarFeed | None:
    """Return the actor's own address, None when there is none."""
    actor.require(MAY)
    rows = CalendarFeed.objects.filter(workspace_id=actor.workspace_id)
    return rows.filter(user_id=actor.id).first()


def renew(actor: Actor) -> str:
    """Make the actor's address and return its token, once; an earlier one ends."""
    actor.require(MAY)
    user = User.objects.filter(pk=actor.id).first()
    if user is None:
        detail = gettext("A calendar belongs to a person: sign in and make it there.")
        raise errors.Conflict(detail, code="people_only")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    fields = {"token_hash": _digest(token), "made_at": timezone.now()}
    with transaction.atomic():
        CalendarFeed.objects.update_or_create(
            workspace_id=actor.workspace_id, user=user, defaults=fields
        )
        _record(actor, "gdpr.calendar_made", "Address of a calendar made")
    return token


def revoke(actor: Actor) -> bool:
    """End the actor's address; False when there was none."""
    actor.require(MAY)
    with transaction.atomic():
        row = of(actor)
        if row is None:
            return False
        row.delete()
        _record(actor, "gdpr.calendar_revoked", "Address of a calendar revoked")
    return True


def _record(actor: Actor, entry_type: str, summary: str) -> None:
    new = NewEntry(entry_type=entry_type, summary=summary, payload={})
    journal.write([new], by=actor)


# ── Reading ──────────────────────────────────────────────────────────────────
def _reader(token: str) -> tuple[Actor, User, str]:
    """Return whose address a token is, as an actor of today; or raise NotFound."""
    if len(token) != TOKEN_CHARS:
        raise errors.NotFound
    rows = CalendarFeed.objects.filter(token_hash=_digest(token))
    feed = rows.select_related("user", "workspace").first()
    if feed is None or not feed.user.is_active:
        raise errors.NotFound
    member = Membership.objects.filter(
        workspace_id=feed.workspace_id, user_id=feed.user_id
    ).first()
    if member is None:
        raise errors.NotFound
    actor = Actor(
        role=Role(member.role),
        workspace_id=feed.workspace_id,
        id=feed.user_id,
        label=feed.user.email,
    )
    if not actor.can(MAY):
        raise errors.NotFound
    serving.require(feed.workspace_id)
    return actor, feed.user, feed.workspace.slug


def read(token: str, address: str) -> bytes:
    """Return the calendar of a token; ``address`` is that of the installation.

    One answer for a token that is unknown, revoked or without its role: NotFound.
    """
    actor, user, slug = _reader(token)
    rows = Case.objects.filter(workspace_id=actor.workspace_id, state__in=OPEN)
    until = Coalesce(F("extended_until"), F("due_at"))
    cases = rows.order_by(until, "pk")[:MOST]
    with mail_language(user):
        return _calendar(actor.workspace_id, slug, cases, address)


def _calendar(
    workspace_id: str, slug: str, cases: Iterable[Case], address: str
) -> bytes:
    zone = privacy_settings.zone(privacy_settings.of(workspace_id))
    title = gettext("Deadlines of {workspace}").format(workspace=slug)
    calendar = Calendar()
    calendar.add("prodid", "-//Crewship Memory//Cases//EN")
    calendar.add("version", "2.0")
    calendar.add("name", title)
    calendar.add("x-wr-calname", title)
    for case in cases:
        day = queries.effective_deadline(case).astimezone(zone).date()
        event = Event()
        event.add("uid", f"{case.pk}@{workspace_id}")
        event.add("dtstamp", timezone.now())
        event.add("dtstart", day)
        event.add("dtend", day + timedelta(days=1))
        event.add("summary", _summary(case))
        event.add("url", f"{address.rstrip('/')}/privacy/cases/{case.pk}/")
        event.add("transp", "TRANSPARENT")
        calendar.add_component(event)
    return bytes(calendar.to_ical())


def _summary(case: Case) -> str:
    kind = CaseKind(case.kind).label
    return gettext("{kind} due: {case}").format(kind=kind, case=case.pk)
