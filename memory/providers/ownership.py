"""From the ids a provider is bound to, to the crew and the agent behind them."""

from __future__ import annotations

from memory.files.paths import Owner
from memory.models import Agent, Crew
from memory.providers.base import Bound, ScopeMismatch
from memory.rules import errors, tiers
from memory.rules.permissions import Actor, AgentRole
from memory.rules.tiers import Place, Tier, WriteMode


def bind(
    by: Actor, *, workspace_id: str, agent_id: str = "", crew_id: str = ""
) -> Bound:
    """Return a binding for a request; an agent acts as itself, a person names one."""
    if workspace_id != by.workspace_id:
        raise ScopeMismatch(what="workspace")
    if by.is_agent:
        return _itself(by, agent_id, crew_id)
    if agent_id:
        found = Agent.objects.filter(pk=agent_id, workspace_id=workspace_id).first()
        if found is None or crew_id not in ("", found.crew_id):
            raise ScopeMismatch(what="agent")
        crew_id = found.crew_id
    elif crew_id:
        crews = Crew.objects.filter(pk=crew_id, workspace_id=workspace_id)
        if not crews.exists():
            raise ScopeMismatch(what="crew")
    return Bound(by=by, workspace_id=workspace_id, agent_id=agent_id, crew_id=crew_id)


def _itself(by: Actor, agent_id: str, crew_id: str) -> Bound:
    """Return an agent's own binding; it may name nobody but itself."""
    if agent_id not in ("", by.id):
        raise ScopeMismatch(what="agent")
    if crew_id not in ("", by.crew_id):
        raise ScopeMismatch(what="crew")
    own = by.crew_id or ""
    return Bound(by=by, workspace_id=by.workspace_id, agent_id=by.id, crew_id=own)


def owner(bound: Bound) -> Owner:
    """Return whose memory a bound provider keeps."""
    if bound.agent_id:
        rows = Agent.objects.select_related("crew__workspace")
        agent = rows.filter(pk=bound.agent_id, workspace_id=bound.workspace_id).first()
        if agent is None:
            raise errors.NotFound
        return Owner(agent.crew, agent)
    crews = Crew.objects.select_related("workspace")
    crew = crews.filter(pk=bound.crew_id, workspace_id=bound.workspace_id).first()
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
    """Return the tier a recall names, None for all."""
    if not text:
        return None
    return tiers.tier_named(text)


def writable(place: Place, whose: Owner, by: Actor) -> Place:
    """Refuse what no provider may change: a provider writes what tools may write.

    An agent's own tiers need an agent; the crew's is written by the lead.
    """
    if place.tier in tiers.WRITTEN_BY_US or (by.is_agent and not place.rule.by_tools):
        detail = f"{place.tier.value} is read-only here."
        raise errors.Forbidden(detail, code="read_only_tier")
    if not place.rule.shared and whose.agent is None:
        detail = f"{place.tier.value} belongs to an agent: name one."
        raise errors.Invalid(detail, code="agent_required")
    lead = by.agent_role is AgentRole.LEAD
    if place.rule.shared and by.is_agent and not lead:
        detail = "CREW is written by the crew's lead only."
        raise errors.Forbidden(detail, code="lead_only")
    return place


def place_of(label: str) -> Place:
    """Return the place an id names; anything that is no label is refused."""
    found = tiers.split(label)
    if found is None:
        detail = "forget: resolve: the id names no item of this provider."
        raise errors.Invalid(detail, code="unknown_id")
    return found
