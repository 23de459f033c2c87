"""Rows by their id. A foreign id, a forbidden and an absent one are the same: none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from crewship_memory.find.hits import Hit
from episodic.models import ConsolidationProposal, RecallCheck
from gdpr.models import Case, Certificate, Export, GdprAction, Hold, Subject
from memory.accounts.api_keys import PREFIX_CHARS
from memory.models import (
    Agent,
    AgentKey,
    ArchivedEntry,
    Crew,
    GatewayKey,
    HeldFile,
    Invitation,
    JournalEntry,
    Membership,
    MemoryFile,
    OperatorKey,
    Record,
    Webhook,
)
from memory.rules.permissions import Actor

ROW_ID: Final = re.compile(r"([a-z]{1,5})_[0-9a-f]{4,32}")
SECRET: Final = re.compile(r"(?:cmk|uk)_[\w-]{4,}")
TITLE_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of row: its tables, who may read it, where it opens, what it is called."""

    noun: str
    permission: str
    models: tuple[type[Model], ...]
    url: Callable[[Any], str]
    title: Callable[[Any], str] = lambda row: str(row.pk)


def _below(route: str) -> Callable[[Any], str]:
    """Return a function that makes the address of a row's own page."""
    return lambda row: reverse(route, args=[row.pk])


def _list(route: str) -> Callable[[Any], str]:
    """Return a function that makes the address of the list that shows a row."""
    return lambda _row: reverse(route)


def _file_url(row: MemoryFile) -> str:
    return reverse("files:file", args=[row.agent_id or row.crew_id, row.label])


# Titles name no text that a restriction may hide: such a row opens under its id.
KINDS: Final[dict[str, Kind]] = {
    "j": Kind(
        gettext_noop("Entry"),
        "journal.read",
        (JournalEntry, ArchivedEntry),
        _below("memory:entry"),
    ),
    "q": Kind(
        gettext_noop("Held text"),
        "quarantine.read",
        (HeldFile,),
        _below("quarantine:case"),
        lambda row: row.label,
    ),
    "rec": Kind(
        gettext_noop("Record"), "records.read", (Record,), _below("records:detail")
    ),
    "mf": Kind(
        gettext_noop("File"),
        "files.read",
        (MemoryFile,),
        _file_url,
        lambda row: row.path,
    ),
    "mp": Kind(
        gettext_noop("Proposal"),
        "proposals.read",
        (ConsolidationProposal,),
        _below("proposals:detail"),
    ),
    "rc": Kind(
        gettext_noop("Saved check"),
        "recall.ask",
        (RecallCheck,),
        _list("episodic:checks"),
    ),
    "agent": Kind(
        gettext_noop("Agent"),
        "agents.read",
        (Agent,),
        _below("workspace:agent"),
        lambda row: row.slug,
    ),
    "crew": Kind(
        gettext_noop("Crew"),
        "agents.read",
        (Crew,),
        _below("workspace:crew"),
        lambda row: row.slug,
    ),
    "key": Kind(
        gettext_noop("Key"),
        "keys.read",
        (AgentKey, OperatorKey),
        _list("workspace:keys"),
        lambda row: f"{row.prefix}…",
    ),
    "gwk": Kind(
        gettext_noop("Gateway key"),
        "keys.manage",
        (GatewayKey,),
        _list("workspace:gateway"),
        lambda row: f"{row.prefix}…",
    ),
    "m": Kind(
        gettext_noop("Member"),
        "members.read",
        (Membership,),
        _list("workspace:members"),
    ),
    "inv": Kind(
        gettext_noop("Invitation"),
        "members.manage",
        (Invitation,),
        _list("workspace:members"),
    ),
    "wh": Kind(
        gettext_noop("Webhook"),
        "workspace.manage",
        (Webhook,),
        _list("workspace:webhooks"),
    ),
    "c": Kind(
        gettext_noop("Case"),
        "gdpr.read",
        (Case,),
        _below("privacy:case"),
        lambda row: f"{row.get_kind_display()}, {row.pk}",
    ),
    "sub": Kind(
        gettext_noop("Subject"),
        "gdpr.read",
        (Subject,),
        _below("privacy:subject"),
        lambda row: row.display_name or row.pk,
    ),
    "hold": Kind(gettext_noop("Hold"), "gdpr.read", (Hold,), _list("privacy:holds")),
    "cert": Kind(
        gettext_noop("Certificate"),
        "gdpr.read",
        (Certificate,),
        _below("privacy:any_certificate"),
    ),
    "ga": Kind(
        gettext_noop("Act"), "gdpr.read", (GdprAction,), _list("privacy:ledger")
    ),
    "exp": Kind(
        gettext_noop("Export"), "gdpr.read", (Export,), _list("privacy:exports")
    ),
}


def _rows(actor: Actor, prefix: str, model: type[Model]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model._default_manager.filter(workspace_id=actor.workspace_id)
    if prefix == "j" and not actor.can("gdpr.read"):
        rows = rows.filter(restricted_at=None)
    return rows


def by_ids(actor: Actor, ids: Iterable[str]) -> dict[str, Hit]:
    """Return what the actor may open of some ids, in their order; a query per table."""
    ordered = list(dict.fromkeys(ids))
    by_prefix: dict[str, list[str]] = {}
    for row_id in ordered:
        if match := ROW_ID.fullmatch(row_id):
            by_prefix.setdefault(match[1], []).append(row_id)
    hits: dict[str, Hit] = {}
    for prefix, some in by_prefix.items():
        kind = KINDS.get(prefix)
        if kind is None or not actor.can(kind.permission):
            continue
        for model in kind.models:
            for row in _rows(actor, prefix, model).filter(pk__in=some):
                title = kind.title(row)[:TITLE_CHARS]
                hits[row.pk] = Hit(title, gettext(kind.noun), kind.url(row))
    return {row_id: hits[row_id] for row_id in ordered if row_id in hits}


def key_of(actor: Actor, text: str) -> Hit | None:
    """Return the key that a pasted secret begins like; only its start is read."""
    if not SECRET.fullmatch(text) or not actor.can("keys.read"):
        return None
    for model in (AgentKey, OperatorKey):
        row = _rows(actor, "key", model).filter(prefix=text[:PREFIX_CHARS]).first()
        if row is not None:
            return Hit(f"{row.prefix}…", gettext("Key"), reverse("workspace:keys"))
    return None
