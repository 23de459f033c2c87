"""The owner behind a binding, and what each actor may write."""

from __future__ import annotations

from memory.files import paths
from memory.files.paths import Owner
from memory.models import Agent, Crew
from memory.providers.base import Binding, ScopeMismatch
from memory.rules import errors, tiers
from memory.rules.permissions import Actor, AgentRole
from memory.rules.tiers import Place, Tier, WriteMode


def bind(
    by: Actor, *, workspace_id: str, agent_id: str = "", crew_id: str = ""
) -> Binding:
    """Return the binding of a request; an agent is itself, a person names one."""
    if workspace_id != by.workspace_id:
        raise ScopeMismatch(what="workspace")
    if by.is_agent:
        return _own_binding(by, agent_id, crew_id)
    if agent_id:
        agent = Agent.objects.filter(pk=agent_id, workspace_id=workspace_id).first()
        if agent is None or crew_id not in ("", agent.crew_id):
            raise ScopeMismatch(what="agent")
        crew_id = agent.crew_id
    elif crew_id:
        crews = Crew.objects.filter(pk=crew_id, workspace_id=workspace_id)
        if not crews.exists():
            raise ScopeMismatch(what="crew")
    return Binding(by=by, workspace_id=workspace_id, agent_id=agent_id, crew_id=crew_id)


def _own_binding(by: Actor, agent_id: str, crew_id: str) -> Binding:
    """Return an agent's own binding; it may name no other agent or crew."""
    if agent_id not in ("", by.id):
        raise ScopeMismatch(what="agent")
    if crew_id not in ("", by.crew_id):
        raise ScopeMismatch(what="crew")
    own = by.crew_id or ""
    return Binding(by=by, workspace_id=by.workspace_id, agent_id=by.id, crew_id=own)


def owner(binding: Binding) -> Owner:
    """Return the agent or crew of a binding; NotFound or Invalid without one."""
    if binding.agent_id:
        return paths.agent_owner(binding.workspace_id, binding.agent_id)
    crews = Crew.objects.select_related("workspace")
    crew = crews.filter(pk=binding.crew_id, workspace_id=binding.workspace_id).first()
    if crew is None:
        detail = "Name the agent or the crew whose memory this is."
        raise errors.Invalid(detail, code="agent_required")
    return Owner(crew)


def mode(text: str) -> WriteMode:
    """Return a write mode; there is no default."""
    try:
        return WriteMode(text)
    except ValueError:
        detail = "mode is replace or append; there is no default."
        raise errors.Invalid(detail, code="bad_mode") from None


def tier(text: str) -> Tier | None:
    """Return the tier of a recall, None for all."""
    return tiers.tier_named(text) if text else None


def writable(place: Place, owner: Owner, by: Actor) -> Place:
    """Refuse a place that the actor may not write: providers write what tools may.

    An agent's own tiers need an agent; the crew's is written by the lead.
    """
    if place.tier in tiers.SYSTEM_TIERS or (by.is_agent and not place.rule.by_tools):
        detail = f"{place.tier.value} is read-only here."
        raise errors.Forbidden(detail, code="read_only_tier")
    if not place.rule.shared and owner.agent is None:
        detail = f"{place.tier.value} belongs to an agent: name one."
        raise errors.Invalid(detail, code="agent_required")
    lead = by.agent_role is AgentRole.LEAD
    if place.rule.shared and by.is_agent and not lead:
        detail = "CREW is written by the crew's lead only."
        raise errors.Forbidden(detail, code="lead_only")
    return place


def place_of(label: str) -> Place:
    """Return the place that an id names; Invalid when the id is no label."""
    place = tiers.split(label)
    if place is None:
        detail = "forget: resolve: the id names no item of this provider."
        raise errors.Invalid(detail, code="unknown_id")
    return place
