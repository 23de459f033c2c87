"""Access to records: who may write, who may read, and the selection by criteria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left
from django.db.models.lookups import Exact
from django.utils import timezone

from memory import lookup, workspace_tree
from memory.files.paths import Owner
from memory.models import Agent, Crew, Record, RecordStatus
from memory.records import sql_filters
from memory.records.types import Criteria, Match
from memory.rules import entries, errors, scopes
from memory.rules.permissions import Actor, AgentRole
from memory.rules.scopes import Scope

# Ids of records, or a subquery for them.
Among = Sequence[str] | QuerySet[Record, Any]


# ── Permission ───────────────────────────────────────────────────────────────
def permit(owner: Owner | None, workspace_id: str, by: Actor) -> None:
    """Raise unless ``by`` may write for an owner: itself, or as a lead its crew."""
    by.require("records.write", workspace_id)
    if owner is not None and owner.workspace_id != workspace_id:
        raise errors.NotFound
    if not by.is_agent:
        return
    if owner is None or owner.crew.id != by.crew_id:
        raise errors.NotFound
    if owner.agent_id is None and by.agent_role is not AgentRole.LEAD:
        detail = "The crew's records are written by its lead only."
        raise errors.Forbidden(detail, code="lead_only")
    if owner.agent_id not in (None, by.id):
        raise errors.NotFound


def owner_of(record: Record) -> Owner | None:
    """Return a record's owner; None is the workspace."""
    return Owner(record.crew, record.agent) if record.crew else None


def scope_of(record: Record) -> Scope:
    """Return a record's scope map as it was given."""
    parts = {name: getattr(record, f"scope_{name}") for name in scopes.NAMES}
    return Scope(**parts, extra=dict(record.scope_extra or {}))


def owner_for(
    by: Actor,
    *,
    crew_id: str | None = None,
    agent_id: str | None = None,
    is_shared: bool = False,
) -> Owner | None:
    """Return the owner of the given ids; NotFound for one the caller may not name.

    An agent means itself, with ``is_shared`` its crew. A person names an agent or a
    crew; with neither it is the workspace (None).
    """
    if by.is_agent:
        if agent_id not in (None, by.id) or crew_id not in (None, by.crew_id):
            raise errors.NotFound
        agent_id = by.id
    if agent_id is not None:
        agents = Agent.objects.filter(workspace_id=by.workspace_id)
        agent = lookup.required(agents.select_related("crew__workspace"), pk=agent_id)
        if crew_id not in (None, agent.crew_id):
            raise errors.NotFound
        return Owner(agent.crew, None if is_shared else agent)
    if crew_id is None:
        return None
    crews = Crew.objects.filter(workspace_id=by.workspace_id)
    return Owner(lookup.required(crews.select_related("workspace"), pk=crew_id))


# ── Reading ──────────────────────────────────────────────────────────────────
def equal(column: str, value: str, *, by_id: bool) -> Q:
    """Return an equality; with ``by_id`` one for which no index of the column is used.

    A database without statistics would use that index and read a whole workspace
    instead of the few rows named by id.
    """
    plain = Cast(column, TextField())
    return Q(Exact(plain, Value(value))) if by_id else Q(**{column: value})


def reach(
    owner: Owner | None, *, by: Actor, among: Among | None = None
) -> QuerySet[Record]:
    """Return every record an owner may read: its own, and its crew's shared ones.

    Without an owner a person reads the workspace; an agent always has an owner.
    Restricted records are left out for everybody. ``among`` limits the result to ids.
    """
    by.require("records.read")
    by_id = among is not None
    rows = Record.objects.select_related("crew__workspace", "agent")
    rows = rows.filter(equal("workspace_id", by.workspace_id, by_id=by_id))
    if among is not None:
        rows = rows.filter(pk__in=among)
    rows = rows.filter(Q(current_entry=None) | Q(current_entry__restricted_at=None))
    if owner is None:
        if by.is_agent:
            raise errors.NotFound
        return rows
    if owner.workspace_id != by.workspace_id:
        raise errors.NotFound
    if by.is_agent and (
        owner.crew.id != by.crew_id or owner.agent_id not in (None, by.id)
    ):
        raise errors.NotFound
    own = Q(agent=None)
    if owner.agent_id is not None:
        own |= equal("agent_id", owner.agent_id, by_id=by_id)
    return rows.filter(own, equal("crew_id", owner.crew.id, by_id=by_id))


def alive() -> Q:
    """Return the condition that a record has not expired."""
    return Q(expires_at=None) | Q(expires_at__gt=timezone.now())


def is_expired(record: Record) -> bool:
    return record.expires_at is not None and record.expires_at <= timezone.now()


def current_records(owner: Owner | None, *, by: Actor) -> QuerySet[Record]:
    """Return the current records an owner may read, without expired ones."""
    return reach(owner, by=by).filter(alive(), status=RecordStatus.CURRENT)


# ── Criteria ─────────────────────────────────────────────────────────────────
def _check(criteria: Criteria) -> None:
    """Raise Invalid for criteria that a database does not take."""
    scopes.check(criteria.scope)
    texts = (criteria.under, criteria.text, criteria.session_id, criteria.external_id)
    entries.check_storable(*texts, *criteria.kinds)


def _scoped(rows: QuerySet[Record], criteria: Criteria) -> QuerySet[Record]:
    scope = criteria.scope
    if criteria.match is Match.EXACT:
        return rows.filter(scope_key=scope.key)
    for name in scopes.NAMES:
        if value := getattr(scope, name):
            rows = rows.filter(**{f"scope_{name}": value})
    for number, (key, value) in enumerate(sorted(scope.extra.items())):
        extra_value = Cast(KeyTextTransform(key, "scope_extra"), TextField())
        alias = {f"scope_at_{number}": extra_value}
        rows = rows.alias(**alias).filter(**{f"scope_at_{number}": value})
    if criteria.under:
        prefix = criteria.under + "."
        # LIKE ignores case on SQLite; the comparison of a prefix does not.
        rows = rows.alias(begins=Left("scope_namespace", len(prefix)))
        rows = rows.filter(Q(scope_namespace=criteria.under) | Q(begins=prefix))
    return rows


def in_scope(
    criteria: Criteria, *, by: Actor, among: Among | None = None
) -> QuerySet[Record]:
    """Return the rows in the owner, scope and ids of the criteria, in any state.

    An agent that names no owner means itself.
    """
    _check(criteria)
    owner = criteria.owner
    if owner is None and by.is_agent:
        owner = owner_for(by)
    rows = _scoped(reach(owner, by=by, among=among), criteria)
    if criteria.crew_id is not None:
        rows = rows.filter(crew_id=workspace_tree.crew(by, criteria.crew_id).id)
    if criteria.agent_id is not None:
        rows = rows.filter(agent_id=workspace_tree.agent(by, criteria.agent_id).id)
    for name in ("session_id", "external_id"):
        if value := getattr(criteria, name):
            rows = rows.filter(**{name: value})
    return rows


def select(
    criteria: Criteria, *, by: Actor, among: Among | None = None
) -> QuerySet[Record]:
    """Return the present rows that match; the filter must still be tested in Python."""
    rows = in_scope(criteria, by=by, among=among)
    expired = False if by.is_agent else criteria.expired
    if expired is not None:
        is_over = Q(expires_at__lte=timezone.now())
        rows = rows.filter(is_over if expired else alive())
    statuses = criteria.statuses if not by.is_agent else ("current",)
    return matching(rows.filter(status__in=statuses), criteria)


def matching(rows: QuerySet[Record], criteria: Criteria) -> QuerySet[Record]:
    """Return the rows whose content and fields match, as far as SQL can decide.

    The filter must still be applied in Python: SQL only drops rows that surely fail.
    """
    if criteria.kinds:
        rows = rows.filter(kind__in=criteria.kinds)
    if criteria.provenances:
        rows = rows.filter(provenance__in=criteria.provenances)
    if criteria.min_confidence > 0:
        rows = rows.filter(confidence__gte=criteria.min_confidence)
    if criteria.text:
        rows = rows.filter(content__icontains=criteria.text)
    if criteria.filter is not None:
        rows = rows.filter(sql_filters.conditions(criteria.filter))
    return rows
