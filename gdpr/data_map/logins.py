"""People who sign in: their accounts, and the sessions of their browsers.

An account is access to the workspace and its audit trail. It is taken away by an admin
on the members page, not by a request about data; until then it stays, and the plan says
so. Sessions are only memory and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Q

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Found, Person, Trace
from gdpr.data_map.table_holder import Family, Rule, Table
from memory.models import Invitation, Membership, User


def _members(workspace_id: str) -> Q:
    return Q(memberships__workspace_id=workspace_id)


def _addresses(workspace_id: str) -> Q:
    return Q(user__memberships__workspace_id=workspace_id)


_KEEP_REASON: Final = (
    "It is a login of this workspace. An admin takes the member away on the members"
    " page; the audit trail needs it until then."
)
LOGINS: Final = Family(
    "logins",
    "Accounts of people who sign in",
    Table(
        model=User,
        keeps=("id", "email", "name"),
        within=_members,
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
        why="The invitation waits for the person; it can be made again.",
    ),
    Table(
        model=EmailAddress,
        keeps=("email",),
        within=_addresses,
        keep_reason=_KEEP_REASON,
    ),
)


class Sessions:
    """Browser sessions. What one holds is packed: it is read, not searched as bytes.

    A row has no workspace, and its key opens the door: the id here is a hash of it, and
    only sessions of this workspace's members, or of nobody, are looked at.
    """

    name, title, derived = "sessions", "Browser sessions", False
    tables = ("sessions.Session",)
    files: tuple[str, ...] = ()

    def _rows(self, person: Person) -> Iterator[tuple[str, Session, str]]:
        rows = User.objects.filter(memberships__workspace_id=person.workspace_id)
        members = set(rows.values_list("pk", flat=True))
        sessions = Session.objects.order_by("pk")
        last = ""
        while True:
            chunk = list(sessions.filter(pk__gt=last)[: row_text.CHUNK])
            for row in chunk:
                data = row.get_decoded()
                user = data.get(SESSION_KEY)
                if user is None or user in members:
                    row_id = sha256(row.pk.encode()).hexdigest()[:32]
                    yield row_id, row, row_text.plain(data)
            if len(chunk) < row_text.CHUNK:
                return
            last = chunk[-1].pk

    def find(self, person: Person) -> Iterator[Found]:
        """Return the sessions that name the person."""
        for row_id, row, text in self._rows(person):
            if person.matcher.sure(text):
                reason = "The browser has to sign in again."
                yield Found(row_id, Fate.DELETE, reason, "", row.expire_date)

    def export(self, person: Person, rows: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Return when sessions end; what they hold opens doors and stays out."""
        requested_ids = {match.row_id for match in rows}
        for row_id, row, _ in self._rows(person):
            if row_id in requested_ids:
                ends = row.expire_date.isoformat()
                yield {"place": self.name, "id": row_id, "expires_at": ends}

    def tokens(
        self,
        person: Person,  # noqa: ARG002
        row_ids: Sequence[str],  # noqa: ARG002
    ) -> Iterator[bytes]:
        """Return nothing: a session's words are packed."""
        return iter(())

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete sessions."""
        requested_ids = set(row_ids)
        keys = [
            row.pk for row_id, row, _ in self._rows(person) if row_id in requested_ids
        ]
        return Session.objects.filter(pk__in=keys).delete()[0]

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete them: a session cannot be edited."""
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Read every session again."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, "session")

    def stays(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Nothing is kept."""
        return iter(())
