"""The actor of a request, and what each role may do.

The permission table is one dict. A row names an action, the roles that may do it, and
the key scope it needs: a key limited to ``read`` can never write, whatever its role.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop


class Role(StrEnum):
    """A membership role of a person, or what a key stands for."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    COMPLIANCE = "compliance"
    ADMIN = "admin"
    AGENT = "agent"
    SYSTEM = "system"


class AgentRole(StrEnum):
    """An agent's role in its crew; the lead recalls for the crew."""

    AGENT = "AGENT"
    LEAD = "LEAD"


class KeyScope(StrEnum):
    """What a key may be limited to; a key without scopes has both."""

    READ = "read"
    WRITE = "write"


# What pages call a role; programs get its value.
ROLE_NAMES: Final[dict[str, str]] = {
    Role.VIEWER: gettext_noop("viewer"),
    Role.OPERATOR: gettext_noop("operator"),
    Role.COMPLIANCE: gettext_noop("compliance"),
    Role.ADMIN: gettext_noop("admin"),
    Role.AGENT: gettext_noop("agent"),
    Role.SYSTEM: gettext_noop("system"),
}
PERSON_ROLES: Final = (Role.VIEWER, Role.OPERATOR, Role.COMPLIANCE, Role.ADMIN)
_PEOPLE_AND_AGENTS: Final = frozenset({*PERSON_ROLES, Role.AGENT})
_PEOPLE: Final = frozenset(PERSON_ROLES)
_OPERATORS: Final = frozenset({Role.OPERATOR, Role.ADMIN})
_ADMINS: Final = frozenset({Role.ADMIN})
_AGENTS: Final = frozenset({Role.AGENT})
_PRIVACY: Final = frozenset({Role.COMPLIANCE, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Permission:
    """The roles that may act, and the key scope that is needed."""

    roles: frozenset[Role]
    scope: KeyScope


def _read(roles: frozenset[Role]) -> Permission:
    return Permission(roles, KeyScope.READ)


def _write(roles: frozenset[Role]) -> Permission:
    return Permission(roles, KeyScope.WRITE)


PERMISSIONS: Final[dict[str, Permission]] = {
    "journal.read": _read(_PEOPLE_AND_AGENTS),
    "journal.append": _write(_AGENTS),
    "journal.import": _write(_ADMINS),
    "journal.prioritise": _write(_OPERATORS),
    "journal.verify": _read(_OPERATORS),
    "recall.ask": _read(_PEOPLE_AND_AGENTS),
    "recall.ask_as_agent": _read(_PEOPLE),
    "index.read": _read(_PEOPLE_AND_AGENTS),
    "index.run": _write(_OPERATORS),
    "health.read": _read(_PEOPLE_AND_AGENTS),
    "health.recompute": _write(_OPERATORS),
    "proposals.read": _read(_PEOPLE),
    "proposals.decide": _write(_OPERATORS),
    "consolidate.run": _write(_OPERATORS),
    "files.read": _read(_PEOPLE_AND_AGENTS),
    "files.write": _write(frozenset({*_OPERATORS, *_AGENTS})),
    "files.restore": _write(_OPERATORS),
    "records.read": _read(_PEOPLE_AND_AGENTS),
    "records.write": _write(frozenset({*_OPERATORS, *_AGENTS})),
    "tools.call": _read(_AGENTS),
    "memories.read": _read(_AGENTS),
    "memories.write": _write(_AGENTS),
    "turns.recall": _read(_AGENTS),
    "turns.persist": _write(_AGENTS),
    "files.import": _write(_ADMINS),
    "quarantine.read": _read(_OPERATORS),
    "quarantine.decide": _write(_OPERATORS),
    "scanner.read": _read(_OPERATORS),
    "scanner.manage": _write(_ADMINS),
    "providers.read": _read(_PEOPLE),
    "providers.manage": _write(_ADMINS),
    "provider.use": _write(_AGENTS | _OPERATORS),
    "provider.forget_subject": _write(_AGENTS | _PRIVACY),
    "jobs.read": _read(_OPERATORS),
    "jobs.run": _write(_OPERATORS),
    "gdpr.read": _read(_PRIVACY),
    "gdpr.manage": _write(_PRIVACY),
    "gdpr.settings": _write(_ADMINS),
    "agents.read": _read(_PEOPLE),
    "agents.manage": _write(_ADMINS),
    "keys.read": _read(_ADMINS),
    "keys.manage": _write(_ADMINS),
    "members.read": _read(_PEOPLE),
    "members.manage": _write(_ADMINS),
    "workspace.manage": _write(_ADMINS),
    "settings.read": _read(_ADMINS),
    "settings.manage": _write(_ADMINS),
}


# What a key that was issued for one end user may do.
OF_END_USERS: Final = frozenset({"tools.call", "memories.read", "memories.write"})


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, in which workspace.

    ``id`` is the agent's, the user's or ``system``; ``label`` is what people read.
    ``scopes`` limits a key further; empty means everything the role may do.
    ``end_user`` is whom an agent speaks to, "" for no particular user; with
    ``only_end_user`` its key was issued for that user and allows nothing but the tools
    over that user's memories.
    """

    role: Role
    workspace_id: str
    id: str
    label: str
    crew_id: str | None = None
    agent_role: AgentRole | None = None
    walk_depth: int = 0
    key_id: str | None = None
    scopes: frozenset[KeyScope] = frozenset()
    end_user: str = ""
    only_end_user: bool = False

    @property
    def is_agent(self) -> bool:
        """Whether this is an agent, not a person or the system."""
        return self.role is Role.AGENT

    @property
    def type(self) -> str:
        """The journal's actor type for this actor."""
        if self.role in (Role.AGENT, Role.SYSTEM):
            return self.role.value
        return "user"

    def can(self, action: str) -> bool:
        """Whether the table allows ``action``; an unknown action is a bug, KeyError."""
        permission = PERMISSIONS[action]
        if self.role is Role.SYSTEM:
            return True
        if self.role not in permission.roles:
            return False
        if self.only_end_user and action not in OF_END_USERS:
            return False
        return not self.scopes or permission.scope in self.scopes

    def require(self, action: str, workspace_id: str | None = None) -> None:
        """Raise NotFound for another workspace, Forbidden for an insufficient role."""
        if workspace_id is not None and workspace_id != self.workspace_id:
            raise errors.NotFound
        if not self.can(action):
            detail = gettext(errors.Forbidden.sentence).format(
                role=role_name(self.role), action=action
            )
            raise errors.Forbidden(detail, role=self.role.value, action=action)


def role_name(role: str) -> str:
    """Return what the reader calls a role."""
    return gettext(ROLE_NAMES[role]) if role in ROLE_NAMES else role


def system(workspace_id: str, name: str = "system") -> Actor:
    """Return the system as an actor: a scheduled job, a command, an import."""
    return Actor(role=Role.SYSTEM, workspace_id=workspace_id, id=name, label=name)
