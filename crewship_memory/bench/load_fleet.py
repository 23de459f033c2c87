"""The agents of a load test, their keys, and what was acknowledged to them."""

from __future__ import annotations

import secrets
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from django.conf import settings
from django.test import Client as Browser

from crewship_memory.bench import dataset
from crewship_memory.bench.dataset import Writer
from gdpr.cases import privacy_settings
from gdpr.cases.privacy_settings import Change
from memory.accounts import api_keys, workspaces
from memory.journal import append as journal
from memory.rules.entries import NewEntry
from memory.rules.permissions import Role, system

AGENTS: Final = 20
# What the workspace holds before the first request.
ENTRIES: Final = 300
_BACKEND: Final = "django.contrib.auth.backends.ModelBackend"


@dataclass(frozen=True, slots=True)
class Fleet:
    """A workspace, a key of each of its agents, and an admin's key and session."""

    workspace_id: str
    agents: tuple[str, ...]
    admin: str
    cookie: str

    def mail(self, number: int) -> str:
        """Return the address of one of the people who are erased one by one."""
        return _mail(self.workspace_id, number)


def _mail(workspace_id: str, number: int) -> str:
    return f"person{number}-{workspace_id[-6:].lower()}@bench.example"


def make() -> Fleet:
    """Make a workspace with a few entries, where one person alone may erase."""
    slug = f"bench-load-{secrets.token_hex(4)}"
    workspace = dataset.open_workspace(slug)
    by = system(workspace.workspace_id, "bench")
    for entries in _batches(ENTRIES):
        journal.write(entries, by=workspace.actor)
    mail = _mail(workspace.workspace_id, 0)
    about = NewEntry(
        entry_type="memory.recorded", summary=f"Asked by {mail}", subjects=(mail,)
    )
    journal.write([about] * 5, by=workspace.actor)
    agents = dataset.open_agents(workspace, AGENTS)
    keys = tuple(api_keys.issue_agent_key(agent, by=by).token for agent in agents)
    user, _ = workspaces.ensure_user(f"{slug}@bench.example")
    workspaces.set_member(user, Role.ADMIN, by=by)
    admin = api_keys.issue_operator_key(user, Role.ADMIN, by=by).token
    change = Change(two_person=False, require_identity=False, reason="Measured")
    privacy_settings.change(change, by=by)
    browser = Browser()
    browser.force_login(user, backend=_BACKEND)
    cookie = browser.cookies[settings.SESSION_COOKIE_NAME].value
    return Fleet(workspace.workspace_id, keys, admin, cookie)


def _batches(count: int) -> Any:
    entries = Writer(5).entries(count)
    while batch := list(islice(entries, 500)):
        yield batch


@dataclass(slots=True)
class FileState:
    """The version of a memory file that was acknowledged last, and those unanswered."""

    acknowledged: str = ""
    unanswered: list[str] = field(default_factory=list)


class Ledger:
    """What the server acknowledged, and what it left unanswered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the number of the entry: its id.
        self.entries: dict[int, str] = {}
        self.unanswered: set[int] = set()
        self.records: list[str] = []
        self.cases: list[str] = []
        # By the number of the agent.
        self.files: defaultdict[int, FileState] = defaultdict(FileState)

    def note_entries(self, ids: dict[int, str]) -> None:
        with self._lock:
            self.entries |= ids

    def note_unanswered(self, numbers: list[int]) -> None:
        with self._lock:
            self.unanswered |= set(numbers)

    def note_record(self, record_id: str) -> None:
        with self._lock:
            self.records.append(record_id)

    def note_case(self, case_id: str) -> None:
        with self._lock:
            self.cases.append(case_id)
