"""Accounts of people who sign in, and their browser sessions.

An account is access to the workspace and part of its audit trail. An admin removes it
on the members page, not an erasure; until then it stays, and the plan says so. Sessions
are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils.translation import gettext_noop

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from memory.models import Invitation, Membership, User

_KEEP_REASON: Final = gettext_noop(
    "It is a login of this workspace. An admin removes the member on the members"
    " page; the audit trail needs it until then."
)
LOGINS: Final = TableHolder(
    "logins",
    gettext_noop("Accounts of people who sign in"),
    Table(
        model=User,
        keeps=("id", "email", "name"),
        workspace="memberships__workspace_id",
        at="date_joined",
        keep_reason=_KEEP_REASON,
    ),
    Table(
        model=Membership, keeps=("user_id",), at="created_at", keep_reason=_KEEP_REASON
    ),
    Table(
        model=Invitation,
        words=("email",),
        labels=("invited_by", "invited_by_id"),
        rule=Rule.GONE,
        at="created_at",
        why=gettext_noop(
            "The invitation was sent to the person; it can be made again."
        ),
    ),
    Table(
        model=EmailAddress,
        keeps=("email",),
        workspace="user__memberships__workspace_id",
        keep_reason=_KEEP_REASON,
    ),
)


class Sessions(Holder):
    """Browser sessions. Their data is compressed, so it is decoded before matching.

    A row has no workspace, and its key is a credential: the row id here is a hash of
    it, and only sessions of this workspace's members, or of nobody, are searched.
    """

    name, title = "sessions", gettext_noop("Browser sessions")
    tables = ("sessions.Session",)
    trace = gettext_noop("session")

    def _rows(self, person: Person) -> Iterator[tuple[str, Session, str]]:
        rows = User.objects.filter(memberships__workspace_id=person.workspace_id)
        members = set(rows.values_list("pk", flat=True))
        for row in row_text.in_chunks(Session.objects.all()):
            data = row.get_decoded()
            user = data.get(SESSION_KEY)
            if user is None or user in members:
                row_id = sha256(row.pk.encode()).hexdigest()[:32]
                yield row_id, row, row_text.plain(data)

    def find(self, person: Person) -> Iterator[RowMatch]:
        for row_id, row, text in self._rows(person):
            if person.matcher.sure(text):
                reason = gettext_noop("The browser has to sign in again.")
                yield RowMatch(row_id, Fate.DELETE, reason, "", row.expire_date)

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        """Yield when sessions expire; their content is a credential and left out."""
        requested_ids = {match.row_id for match in rows}
        for row_id, row, _ in self._rows(person):
            if row_id in requested_ids:
                ends = row.expire_date.isoformat()
                yield {"place": self.name, "id": row_id, "expires_at": ends}

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        requested_ids = set(row_ids)
        keys = [
            row.pk for row_id, row, _ in self._rows(person) if row_id in requested_ids
        ]
        return Session.objects.filter(pk__in=keys).delete()[0]
