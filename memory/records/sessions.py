"""Conversations: the trace id of their entries, and which record came before which.

A conversation is what a caller names by a session id or a thread, within one agent's
(or crew's) memory and one scope: two agents, two end users or two workspaces that use
the same name have two conversations. Its records' entries share a trace id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from memory.files.paths import Owner
from memory.journal import append as journal
from memory.models import ids
from memory.rules import entries, hashing
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope

PREFIX: Final = "t_"
# As many as in any other id.
DIGITS: Final = 16


# ── Traces ───────────────────────────────────────────────────────────────────
def trace_id(
    owner: Owner | None, scope: Scope, session_id: str, *, by: Actor
) -> str | None:
    """Return the trace id of a conversation; None when the caller names none.

    It is a digest with the installation's key: trace ids are shown, and a session id or
    a scope can name a person, whom nobody may confirm by hashing guesses. The agent is
    the one that speaks, so that what it shares with its crew is of its conversation.
    """
    if not session_id and not scope.thread:
        return None
    speaker = by.id if by.is_agent else ""
    if not speaker and owner is not None:
        speaker = owner.agent_id or owner.crew.id
    identity = ["trace", by.workspace_id, speaker, scope.as_map(), session_id]
    digest = hashing.keyed_digest(journal.key(), entries.canonical(identity))
    return PREFIX + digest[:DIGITS]


def call_trace() -> str:
    """Return a trace id for what arrives in one call that names no session."""
    return ids.trace()


# ── The order of its records ──────────────────────────────────────────────────
class SessionRow(NamedTuple):
    """The columns of a record that say which conversation it is of, and where in it."""

    id: str
    crew_id: str | None
    agent_id: str | None
    scope_key: str | None
    scope_user: str
    scope_thread: str
    session_id: str
    turn_range: list[int] | None
    # As text where many are read: it has the same order.
    created_at: datetime | str

    @property
    def conversation(self) -> tuple[str | None, ...] | None:
        """What records of one conversation have in common; None without one."""
        if not self.session_id and not self.scope_thread:
            return None
        owner = (self.crew_id, self.agent_id)
        scope = (self.scope_key, self.scope_user, self.scope_thread)
        return (*owner, *scope, self.session_id)


def _in_order(rows: Sequence[SessionRow]) -> list[SessionRow]:
    """Return a conversation in order: by turn if all name theirs, else as created."""
    by_turn = all(row.turn_range for row in rows)

    def position(row: SessionRow) -> tuple[Any, ...]:
        turn = row.turn_range[0] if by_turn and row.turn_range else 0
        return turn, row.created_at, row.id

    return sorted(rows, key=position)


def conversations(rows: Iterable[SessionRow]) -> list[list[str]]:
    """Return the ids of each conversation of some records, in their order.

    Only these records are in them: who may not read a record does not get it as
    another's context.
    """
    members: dict[tuple[str | None, ...], list[SessionRow]] = {}
    for row in rows:
        if (conversation := row.conversation) is not None:
            members.setdefault(conversation, []).append(row)
    return [[row.id for row in _in_order(part)] for part in members.values()]
