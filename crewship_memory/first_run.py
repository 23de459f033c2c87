"""The first run of a workspace: an agent, its key, its first entry, what comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from gdpr.cases import overview as case_overview
from memory import workspace_tree
from memory.accounts import api_keys, workspaces
from memory.journal import queries
from memory.models import Agent, AgentKey, JournalEntry
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor, Role

# With a journal this long an agent that came in is no news.
WELL_BEGUN: Final = 200
# So long after its first entry an agent is introduced, and what comes next offered.
INTRODUCED: Final = timedelta(days=1)
ADMINS_NAMED: Final = 3


class Stage(IntEnum):
    """What a workspace has come to; each stage waits for the next."""

    AGENT = 0
    KEY = 1
    ENTRY = 2
    CONNECTED = 3


@dataclass(frozen=True, slots=True)
class FirstRun:
    """How far a new workspace is.

    ``agent`` is the newest one in need of a key, the one whose key is the newest, or
    the writer of ``entry``. ``admins`` are e-mail addresses of people who may go on, to
    a reader who may not.
    """

    stage: Stage
    agent: Agent | None = None
    entry: JournalEntry | None = None
    admins: tuple[str, ...] = ()

    @property
    def needs_key(self) -> bool:
        return self.stage is Stage.KEY

    @property
    def awaits_entry(self) -> bool:
        return self.stage is Stage.ENTRY

    def with_key_of(self, issued: api_keys.Issued) -> FirstRun:
        """Return the stage after a key was issued."""
        if self.entry is not None or not isinstance(issued.key, AgentKey):
            return self
        return replace(self, stage=Stage.ENTRY, agent=issued.key.agent)


def read(actor: Actor, entry_count: int) -> FirstRun | None:
    """Return how far a new workspace is, None for one that is well under way."""
    if entry_count >= WELL_BEGUN:
        return None if _is_in_use(actor) else _before_writing(actor)
    entry = first_entry(actor)
    if entry is not None:
        is_recent = entry.recorded_at > timezone.now() - INTRODUCED
        return introduction(entry) if is_recent else None
    # What was erased or restricted was written all the same.
    rows = JournalEntry.objects.filter(workspace_id=actor.workspace_id)
    has_written = rows.filter(actor_type=ActorType.AGENT.value).exists()
    return None if has_written else _before_writing(actor)


def introduction(entry: JournalEntry) -> FirstRun:
    """Return the stage after the first entry."""
    rows = Agent.objects.filter(workspace_id=entry.workspace_id)
    return FirstRun(Stage.CONNECTED, rows.get(pk=entry.agent_id), entry)


def first_entry(actor: Actor) -> JournalEntry | None:
    """Return the first entry that an agent wrote itself, if it can be read.

    No index leads to it: the journal is short, or no agent has written in it.
    """
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    rows = queries.visible_entries(actor).filter(
        actor_type=ActorType.AGENT.value,
        agent_id__in=agents.values("pk"),
        erased_at__isnull=True,
    )
    return rows.order_by("seq").first()


def _is_in_use(actor: Actor) -> bool:
    """Whether an agent came in with a key, or its entries were brought along."""
    keys = AgentKey.objects.filter(workspace_id=actor.workspace_id)
    if keys.filter(last_used_at__isnull=False).exists():
        return True
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    rows = JournalEntry.objects.filter(
        workspace_id=actor.workspace_id,
        agent_id__in=agents.values("pk"),
        actor_type=ActorType.AGENT.value,
    )
    return rows.exists()


def _before_writing(actor: Actor) -> FirstRun:
    admins = () if actor.can("keys.manage") else _admins(actor)
    now = timezone.now()
    keys = AgentKey.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now),
        workspace_id=actor.workspace_id,
        revoked_at__isnull=True,
        end_user="",
    )
    key = keys.select_related("agent__crew").order_by("-created_at").first()
    if key is not None:
        return FirstRun(Stage.ENTRY, key.agent, admins=admins)
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    agent = agents.select_related("crew").order_by("-created_at", "-id").first()
    return FirstRun(Stage.KEY if agent else Stage.AGENT, agent, admins=admins)


def _admins(actor: Actor) -> tuple[str, ...]:
    if not actor.can("members.read"):
        return ()
    members = workspace_tree.members(actor)
    emails = [row.user.email for row in members if row.role == Role.ADMIN.value]
    return tuple(emails[:ADMINS_NAMED])


def lacks_subjects(actor: Actor, entry_count: int) -> bool:
    """Whether the actor answers for personal data and nobody is registered yet."""
    if entry_count >= WELL_BEGUN or not actor.can("gdpr.manage"):
        return False
    return case_overview.is_untouched(actor)


# ── Acts ─────────────────────────────────────────────────────────────────────
def add_agent(crew: str, agent: str, *, by: Actor) -> Agent:
    """Return the agent of a crew; what does not exist is created, in one step."""
    by.require("agents.manage")
    with transaction.atomic():
        crew_row, _ = workspaces.ensure_crew(crew, by=by)
        row, _ = workspaces.ensure_agent(agent, crew_row, by=by)
    return row


def issue_key(agent_id: str, *, by: Actor) -> api_keys.Issued:
    """Issue a key for an agent, with all that its role may do and without an end."""
    by.require("keys.manage")
    return api_keys.issue_agent_key(workspace_tree.agent(by, agent_id), by=by)
